package sim

import (
	"time"

	"github.com/ottla/ottla/internal/core/raft"
)

// restartScenes say what it costs that processes end.
func restartScenes() []Scene {
	return []Scene{
		{Name: "cold-start", Voters: 3, Least: 1, Most: 1, What: "all end, and all start", Play: func(s *Stage) {
			for _, n := range s.w.nodes {
				s.kill(n)
			}
			s.live(time.Second)
			for _, n := range s.w.nodes {
				n.boot()
			}
			s.calm()
		}},
		{Name: "leader-killed", Voters: 3, Least: 1, Most: 1, What: "a leader is killed, and comes back", Play: func(s *Stage) {
			l := s.leader()
			s.kill(l)
			s.agree(s.without(l))
			l.boot()
			s.calm()
		}},
		{Name: "leader-stopped", Voters: 3, Least: 1, Most: 1, What: "a leader ends in good order, and comes back", Play: func(s *Stage) {
			l := s.leader()
			s.stop(l)
			s.agree(s.without(l))
			l.boot()
			s.calm()
		}},
		{Name: "rolling-restart", Voters: 3, Least: 1, Most: 1, What: "all restart one by one, the leader last", Play: func(s *Stage) {
			l := s.leader()
			for _, n := range append(s.without(l), l) {
				s.stop(n)
				s.live(s.upTo(2 * time.Second))
				n.boot()
				s.calm()
			}
		}},
		{Name: "short-pause", Voters: 3, What: "a leader stands still for less than F", Play: func(s *Stage) {
			s.pause(s.leader(), 1950*time.Millisecond-s.upTo(500*time.Millisecond))
			s.calm()
		}},
		{Name: "new-observer", Voters: 3, Others: 1, What: "an observer comes", Play: func(s *Stage) {
			s.w.node(4).boot()
			s.wait("the observer", func() bool { return s.agreed(s.w.nodes) })
			s.calm()
		}},
	}
}

// memberScenes say what it costs that the voters change (KIP-853).
func memberScenes() []Scene {
	return []Scene{
		{Name: "voter-added", Voters: 3, Others: 1, Dynamic: true, What: "an observer becomes a voter", Play: func(s *Stage) {
			n := s.w.node(4)
			n.cfg.Controller = true
			n.boot()
			s.wait("the observer", func() bool { return s.agreed(s.w.nodes) })
			s.live(time.Second)
			s.change(s.leader(), raft.AddVoterRequest{Voter: n.cfg.Self, Endpoints: n.cfg.Endpoints})
			s.wait("four voters", func() bool { return n.state.Voter && len(n.state.Voters) == 4 })
			s.calm()
		}},
		{Name: "voter-removed", Voters: 3, Dynamic: true, What: "a voter is removed and runs on", Play: func(s *Stage) {
			n := s.other(s.leader())
			s.change(s.leader(), raft.RemoveVoterRequest{Voter: n.cfg.Self})
			s.wait("two voters", func() bool { return !n.state.Voter })
			s.live(20 * time.Second)
			s.calm()
		}},
		{Name: "leader-removed", Voters: 3, Dynamic: true, Least: 1, Most: 1, What: "a leader removes itself and runs on", Play: func(s *Stage) {
			l := s.leader()
			s.change(l, raft.RemoveVoterRequest{Voter: l.cfg.Self})
			s.agree(s.without(l))
			s.live(20 * time.Second)
			s.calm()
		}},
	}
}

// stuckScenes are P11, with check quorum and, as the control, without.
func stuckScenes() []Scene {
	return []Scene{
		{Name: "P11-stuck", Voters: 5, Epochless: true, What: "a leader keeps one follower, which others need", Play: func(s *Stage) {
			s.beStuck(9 * time.Second) // 1.5 F + F + 4 E
			if s.stuck {
				s.w.fail(P11, "nobody leads after 1.5 F + F + 4 E")
			}
		}},
		{Name: "P11-control", Voters: 5, Epochless: true, What: "the same without check quorum: its leader's F is an hour",
			Prepare: func(s *Stage) {
				for _, n := range s.w.nodes {
					n.cfg.Timing.Fetch = time.Hour
				}
				for _, n := range s.w.nodes[1:] {
					n.cfg.Timing.Fetch = raft.DefaultTiming().Fetch
				}
			},
			Play: func(s *Stage) {
				s.makeLeader(s.w.node(1))
				s.beStuck(60 * time.Second)
				if !s.stuck {
					s.w.fail(P11, "without check quorum it is not stuck: the scene shows nothing")
				}
			}},
	}
}

// beStuck cuts the leader off from all but one follower, which of the others only
// one reaches; a third is dead. stuck tells that no other leader came in time.
//
// That follower needs the leader's vote, and the one that it reaches needs its own.
// So the clients fall silent, before the cut or soon after it: while the leader has
// records that nobody has copied, nobody can win at all.
func (s *Stage) beStuck(limit time.Duration) {
	l := s.leader()
	x1 := s.other(l)
	y1 := s.other(l, x1)
	y2 := s.other(l, x1, y1)
	y3 := s.other(l, x1, y1, y2)
	before := s.w.rng.IntN(2) == 0
	if before {
		s.silence(l, s.w.nodes...)
	}
	cut := s.w.now
	s.cut(l, y1, y2, y3)
	s.cut(y3, s.w.nodes...)
	s.cut(y2, x1)
	if !before {
		s.live(s.upTo(time.Second))
		s.silence(l, x1)
	}
	s.stuck = !s.until(limit-s.w.now.Sub(cut), func() bool {
		n := s.leads()
		return n != nil && n != l && n.state.HighWatermark >= 0
	})
}

// Mix is which voters of a mixed quorum are old ones (P10): those that know Vote
// up to version 1, which is what Apache Kafka 3.9 knows.
type Mix struct {
	Name      string
	Old       int // of five voters
	LeaderOld bool
}

// Mixes are all old, all new, and the four cases of the design.
func Mixes() []Mix {
	return []Mix{
		{"all-old", 5, true}, {"all-new", 0, false},
		{"leader-new-old-minority", 2, false}, {"leader-new-old-majority", 3, false},
		{"leader-old-old-minority", 2, true}, {"leader-old-old-majority", 3, true},
	}
}

// Scene is the mix as a scene: a voter loses the leader from sight, and some time
// later the leader is gone. It measures for how long nobody leads.
func (m Mix) Scene() Scene {
	return Scene{Name: "P10-" + m.Name, Voters: 5, Epochless: true, What: "one loses the leader, then all do", Play: func(s *Stage) {
		l := s.leader()
		l.old = m.LeaderOld
		old := m.Old
		if m.LeaderOld {
			old--
		}
		rest := s.without(l)
		for _, i := range s.w.rng.Perm(len(rest))[:old] {
			rest[i].old = true
		}
		d := s.other(l)
		s.cut(d, l)
		anybody := func(*node) bool { return true }
		s.measure = s.leaderless(s.upTo(4*time.Second), anybody)
		for s.leads() == nil && s.measure < patience {
			s.measure += s.leaderless(100*time.Millisecond, anybody)
		}
		l = s.leader()
		s.cut(l, s.w.nodes...)
		gone := l
		s.measure += s.leaderless(15*time.Second, func(n *node) bool { return n != gone })
		var alive []*node
		for _, n := range s.without(gone) {
			if s.reaches(n) {
				alive = append(alive, n)
			}
		}
		s.wait("a leader of those that are left", func() bool { return s.agreed(alive) })
	}}
}

// reaches tells whether a node is not cut off from more than one voter.
func (s *Stage) reaches(n *node) bool {
	cut := 0
	for _, o := range s.w.nodes {
		if o != n && s.w.link(n, o).cut {
			cut++
		}
	}
	return cut < 3
}
