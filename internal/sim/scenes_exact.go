package sim

import (
	"fmt"
	"time"
)

// exactScenes are B4: with delays of up to 10 ms the loss of a leader costs exactly
// one epoch, however many of the other voters are away, as long as a majority is
// left. Followers whose fetches were parked at different times give the leader up at
// different times, some of them at nearly the same one.
func exactScenes() []Scene {
	var all []Scene
	for _, voters := range []int{3, 5, 7} {
		for away := range (voters+1)/2 - 1 {
			for _, l := range losses() {
				all = append(all, Scene{
					Name: fmt.Sprintf("B4-%s-%d-of-%d", l.name, away+1, voters), Voters: voters, Least: 1, Most: 1,
					What: fmt.Sprintf("the leader %s while %d others are away", l.what, away),
					Play: func(s *Stage) {
						leader := s.leader()
						rest := s.without(leader)
						for _, i := range s.w.rng.Perm(len(rest))[:away] {
							s.cut(rest[i], s.w.nodes...)
							rest[i] = nil
						}
						s.live(s.upTo(5 * time.Second))
						l.happens(s, leader)
						s.awaitLeaderOf(rest)
						s.live(3 * time.Second)
					},
				})
			}
		}
	}
	return all
}

// awaitLeaderOf waits until these, without the nil ones, follow one of them.
func (s *Stage) awaitLeaderOf(rest []*node) {
	var alive []*node
	for _, n := range rest {
		if n != nil {
			alive = append(alive, n)
		}
	}
	s.agree(alive)
}

// loss is how a leader can be lost.
type loss struct {
	name, what string
	happens    func(s *Stage, leader *node)
}

func losses() []loss {
	return []loss{
		{"killed", "is killed", func(s *Stage, l *node) { s.kill(l) }},
		{"cut", "is cut off", func(s *Stage, l *node) { s.cut(l, s.w.nodes...) }},
		{"hung", "stands still", func(s *Stage, l *node) { s.pause(l, time.Hour) }},
		{"ended", "ends in good order", func(s *Stage, l *node) { s.stop(l) }},
	}
}
