package sim

import (
	"fmt"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// Scenes are the scenes of docs/kip-996.md, and those that say how many epochs
// an event costs. P1 and so on are its statements.
func Scenes() []Scene {
	var all []Scene
	all = append(all, cutOffScenes()...)
	all = append(all, leaderScenes()...)
	all = append(all, userErrorScenes()...)
	all = append(all, restartScenes()...)
	all = append(all, memberScenes()...)
	all = append(all, stuckScenes()...)
	all = append(all, clockScenes()...)
	all = append(all, exactScenes()...)
	all = append(all, delayScenes()...)
	all = append(all, keptScenes()...)
	all = append(all, forgetfulScenes()...)
	for _, m := range Mixes() {
		all = append(all, m.Scene())
	}
	return all
}

// away is how a follower can be cut off.
type away struct {
	name string
	cut  func(s *Stage, n *node)
	back func(s *Stage, n *node)
}

func aways() []away {
	heal := func(s *Stage, _ *node) { s.heal() }
	return []away{
		{"links", func(s *Stage, n *node) { s.cut(n, s.w.nodes...) }, heal},
		{"mute", func(s *Stage, n *node) { s.mute(n, s.w.nodes...) }, heal},
		{"deaf", func(s *Stage, n *node) { s.deaf(n, s.w.nodes...) }, heal},
		{"stopped", func(s *Stage, n *node) { s.pause(n, 20*time.Second) }, func(*Stage, *node) {}},
		{"killed", func(s *Stage, n *node) { s.kill(n) }, func(_ *Stage, n *node) { n.boot() }},
		{"refused", func(s *Stage, n *node) { // connections break again and again
			s.cut(n, s.w.nodes...)
			s.every(500*time.Millisecond, 5*time.Second, func() { s.w.dropConns(n) })
		}, heal},
	}
}

// cutOffScenes are P1: a follower is away and comes back.
func cutOffScenes() []Scene {
	var all []Scene
	for _, voters := range []int{3, 5, 7} {
		for _, a := range aways() {
			all = append(all, Scene{
				Name: fmt.Sprintf("P1-%s-%d", a.name, voters), Voters: voters, Dynamic: voters == 5,
				What: "a follower is cut off from all and comes back",
				Play: func(s *Stage) {
					n := s.other(s.leader())
					a.cut(s, n)
					s.live(20 * time.Second)
					a.back(s, n)
					s.calm()
				},
			})
		}
	}
	return append(all, Scene{
		Name: "P1-leader-only", Voters: 3, What: "a follower does not reach the leader, but another voter",
		Play: func(s *Stage) {
			l := s.leader()
			s.cut(s.other(l), l)
			s.live(30 * time.Second)
			s.heal()
			s.calm()
		},
	}, Scene{
		Name: "P1-lagging", Voters: 3, What: "what the leader says to a follower comes up to 0.9 s late",
		Play: func(s *Stage) {
			n := s.other(s.leader())
			s.every(time.Second, 20*time.Second, func() { s.w.link(s.leader(), n).clogged = s.w.now.Add(900 * time.Millisecond) })
			s.calm()
		},
	})
}

// calm waits for an agreement and then for a while in which everything could
// still go wrong.
func (s *Stage) calm() {
	s.agree(s.w.nodes[:s.w.plan.Voters])
	s.live(6 * time.Second)
	s.agree(s.w.nodes[:s.w.plan.Voters])
}

// leaderScenes are P2, P3, P4 and what becomes of a leader that is cut off.
func leaderScenes() []Scene {
	isolated := func(away time.Duration, cut func(s *Stage, l *node)) func(s *Stage) {
		return func(s *Stage) {
			l := s.leader()
			cut(s, l)
			s.live(away)
			s.heal()
			s.calm()
		}
	}
	all := func(s *Stage, l *node) { s.cut(l, s.w.nodes...) }
	return []Scene{
		{Name: "P2-leader-isolated", Voters: 3, Least: 1, Most: 1, What: "a leader is cut off for long, and comes back", Play: isolated(20*time.Second, all)},
		{Name: "P2-leader-isolated-5", Voters: 5, Least: 1, Most: 1, What: "a leader is cut off for long, and comes back", Play: isolated(20*time.Second, all)},
		{Name: "P2-leader-stays-in-its-epoch", Voters: 3, What: "a leader is cut off while nobody else stands", Least: 0, Most: 0, Play: aloneInItsEpoch},
		{Name: "P3-leader-unaware", Voters: 3, Least: 1, Most: 1, What: "a leader is back before it notices", Play: isolated(2600*time.Millisecond, all)},
		{Name: "P3-replies-lost", Voters: 3, Least: 1, Most: 1, What: "what a leader says gets lost",
			Play: isolated(20*time.Second, func(s *Stage, l *node) { s.mute(l, s.w.nodes...) })},
		{Name: "P4-example", Voters: 5, What: "three epochs meet, link by link",
			Alone: 4, Play: threeEpochs},
		{Name: "majority-lost", Voters: 3, Least: 0, Most: 1, What: "no two voters reach each other, and then all do",
			Play: func(s *Stage) {
				for _, n := range s.w.nodes {
					s.cut(n, s.w.nodes...)
				}
				before := s.highest()
				s.live(30 * time.Second)
				if s.highest() != before {
					s.w.fail(Costs, "without a majority the epoch went from %d to %d", before, s.highest())
				}
				s.heal()
				s.calm()
			}},
	}
}

// aloneInItsEpoch cuts everybody off: the leader steps down, and its epoch stays.
func aloneInItsEpoch(s *Stage) {
	l := s.leader()
	for _, n := range s.w.nodes {
		s.cut(n, s.w.nodes...)
	}
	s.wait("the leader to step down", func() bool { return l.role != raft.RoleLeader })
	s.live(20 * time.Second)
}

// threeEpochs is P4. The seed is the order of the links.
func threeEpochs(s *Stage) {
	a, d := s.leader(), s.w.node(4)
	s.cut(a, s.w.nodes...)
	s.live(50 * time.Millisecond)
	s.wait("a second leader", func() bool { n := s.leads(); return n != nil && n != a })
	b, epoch := s.leader(), s.highest()
	s.begun = epoch // what it took to elect B is not counted
	var links [][2]*node
	for _, n := range s.w.nodes {
		if n != a {
			links = append(links, [2]*node{a, n})
		}
		if n != a && n != d {
			links = append(links, [2]*node{d, n})
		}
	}
	apart := pick(s.w.rng, 5*time.Millisecond, 100*time.Millisecond, 2*time.Second)
	for n := int(s.w.plan.Seed % 5040); len(links) > 0; n /= len(links) + 1 {
		i := n % len(links)
		s.join(links[i][0], links[i][1])
		links = append(links[:i], links[i+1:]...)
		s.live(s.upTo(apart))
	}
	s.calm()
	if s.leader() != b || s.highest() != epoch {
		s.w.fail(P4, "node %d leads epoch %d, not node %d epoch %d", s.leader().id, s.highest(), b.id, epoch)
	}
}

// userErrorScenes are P5: what looks like a partition and is none.
func userErrorScenes() []Scene {
	short := func(which func(id kafka.NodeID) bool) func(s *Stage) {
		return func(s *Stage) {
			for _, n := range s.w.nodes {
				if which(n.id) {
					n.cfg.Timing.Fetch = 300 * time.Millisecond
				}
			}
		}
	}
	first := func(s *Stage) { s.makeLeader(s.w.node(1)) }
	rest := func(s *Stage) {
		s.live(40 * time.Second)
		s.calm()
	}
	return []Scene{
		{Name: "P5-short-follower", Voters: 3, What: "a follower has a fetch timeout of 300 ms",
			Prepare: short(func(id kafka.NodeID) bool { return id == 2 }), Play: func(s *Stage) { first(s); rest(s) }},
		{Name: "P5-short-leader", Voters: 3, What: "the leader has a fetch timeout of 300 ms",
			Prepare: short(func(id kafka.NodeID) bool { return id == 1 }), Play: func(s *Stage) { first(s); rest(s) }},
		{Name: "P5-short-followers", Voters: 3, What: "both followers have a fetch timeout of 300 ms",
			Prepare: short(func(id kafka.NodeID) bool { return id != 1 }), Play: func(s *Stage) { first(s); rest(s) }},
		{Name: "P5-short-all", Voters: 3, What: "all have a fetch timeout of 300 ms",
			Prepare: short(func(kafka.NodeID) bool { return true }), Play: rest},
		{Name: "P5-late-answers", Voters: 3, What: "every fifth fetch is answered 1.5 s late", Play: func(s *Stage) {
			count := 0
			s.late = func(_ *node, body raft.Body) time.Duration {
				if _, fetch := body.(raft.FetchAnswer); fetch {
					if count++; count%5 == 0 {
						return 1500 * time.Millisecond
					}
				}
				return 0
			}
			rest(s)
		}},
		{Name: "P5-one-way-to-leader", Voters: 3, What: "the leader does not hear one follower",
			Play: func(s *Stage) { l := s.leader(); s.mute(s.other(l), l); rest2(s) }},
		{Name: "P5-one-way-from-leader", Voters: 3, What: "one follower does not hear the leader",
			Play: func(s *Stage) { l := s.leader(); s.mute(l, s.other(l)); rest2(s) }},
		{Name: "P5-one-way-between-followers", Voters: 3, What: "one follower does not hear another",
			Play: func(s *Stage) { l := s.leader(); n := s.other(l); s.mute(n, s.other(l, n)); rest2(s) }},
		{Name: "P5-pauses-of-leader", Voters: 3, What: "the leader stands still for 1.5 s every 5 s",
			Play: func(s *Stage) { s.pauses(s.leader()) }},
		{Name: "P5-pauses-of-follower", Voters: 3, What: "a follower stands still for 1.5 s every 5 s",
			Play: func(s *Stage) { s.pauses(s.other(s.leader())) }},
	}
}

// rest2 lets a broken link be for a while, and heals it.
func rest2(s *Stage) {
	s.live(30 * time.Second)
	s.heal()
	s.calm()
}

func (s *Stage) pauses(n *node) {
	s.every(5*time.Second, 40*time.Second, func() { s.pause(n, 1500*time.Millisecond) })
	s.calm()
}

// makeLeader lets others resign until a node leads; what that costs is not
// counted.
func (s *Stage) makeLeader(n *node) {
	for range 200 {
		if s.leader() == n || s.w.failure != nil {
			break
		}
		l := s.leader()
		l.step(raft.Resign{Epoch: l.state.Election.Epoch})
		s.live(10 * time.Millisecond)
		s.agree(s.w.nodes[:s.w.plan.Voters])
	}
	s.agree(s.w.nodes[:s.w.plan.Voters])
	s.begun = s.highest()
}
