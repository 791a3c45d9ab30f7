package sim

import (
	"time"
)

// clockScenes say what it costs that clocks are wrong. Dates may be anything: a
// core is told one at its start only, and times by the clock of its process. That
// clock goes ahead when a machine wakes up: a follower then gives its leader up
// and is refused, and a leader leads on. A clock that goes back lets the core stand
// still for a while.
func clockScenes() []Scene {
	return []Scene{
		{Name: "clock-jumps", Voters: 3, What: "dates are wrong, and clocks jump ahead and back", Prepare: wrongDates, Play: func(s *Stage) {
			s.every(2*time.Second, 40*time.Second, func() {
				l := s.leader()
				switch n := s.other(l); s.w.rng.IntN(4) {
				case 0:
					n.jump(s.upTo(time.Minute))
				case 1:
					n.jump(-s.upTo(time.Second))
				case 2:
					l.jump(s.upTo(time.Minute))
				case 3:
					l.jump(-s.upTo(time.Second))
				}
			})
			s.calm()
		}},
		{Name: "clocks-drift", Voters: 5, What: "clocks are up to 15 % too fast or too slow", Prepare: func(s *Stage) {
			for _, n := range s.w.nodes {
				n.speed = 850 + s.w.rng.Int64N(300)
			}
		}, Play: func(s *Stage) {
			s.live(40 * time.Second)
			s.calm()
		}},
	}
}

// wrongDates gives each node another date to start with, years apart.
func wrongDates(s *Stage) {
	for _, n := range s.w.nodes {
		n.wrong = pick[int64](s.w.rng, -50, -1, 0, 1, 10) * 365 * 24 * 3600
	}
}
