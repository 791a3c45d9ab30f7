package sim

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// What a script can do to nodes and links.

// mute stops what one node sends to others.
func (s *Stage) mute(from *node, to ...*node) {
	for _, o := range to {
		if o != from {
			s.w.cut(from, o, kafka.Never)
		}
	}
}

// deaf stops what others send to a node.
func (s *Stage) deaf(n *node, others ...*node) {
	for _, o := range others {
		s.mute(o, n)
	}
}

// cut stops both directions between a node and others.
func (s *Stage) cut(n *node, others ...*node) {
	s.mute(n, others...)
	s.deaf(n, others...)
}

// join lets both directions between two nodes pass again.
func (s *Stage) join(a, b *node) {
	*s.w.link(a, b), *s.w.link(b, a) = link{}, link{}
}

// heal lets everything pass again.
func (s *Stage) heal() {
	for _, a := range s.w.nodes {
		for _, b := range s.w.nodes {
			*s.w.link(a, b) = link{}
		}
	}
}

// pause lets a process stand still.
func (s *Stage) pause(n *node, d time.Duration) {
	n.until = max(n.until, s.w.now.Add(d))
	s.w.note("-- %d stands still for %v", n.id, d)
}

// kill ends a process; what was not synced may be lost.
func (s *Stage) kill(n *node) { n.crash("by kill") }

// stop asks a process to leave in good order and ends it when it has.
func (s *Stage) stop(n *node) {
	n.step(raft.Shutdown{Until: n.local().Add(5 * time.Second)})
	s.wait("the end of a stop", n.core.Finished)
	s.kill(n)
}

// silence ends what clients propose, and waits until these nodes have all that the
// leader took from them.
func (s *Stage) silence(l *node, nodes ...*node) {
	s.w.work.stopped = true
	s.wait("what a leader has taken", func() bool {
		return !slices.ContainsFunc(nodes, func(n *node) bool { return n.disk.durable.end(0) < l.state.Log.End })
	})
}

// change hands a request about the voters to a node, as its controller would.
func (s *Stage) change(n *node, body raft.Body) {
	n.lastAsked++
	n.step(raft.Received{Call: n.lastAsked, Body: body})
}

// every does something again and again for a while.
func (s *Stage) every(d, total time.Duration, act func()) {
	for passed := time.Duration(0); passed < total; passed += d {
		act()
		s.live(d)
	}
}

// leaderless counts for how long nobody leads whom a majority follows.
func (s *Stage) leaderless(total time.Duration, counts func(n *node) bool) time.Duration {
	const step = 5 * time.Millisecond
	gap := time.Duration(0)
	for passed := time.Duration(0); passed < total && s.w.failure == nil; passed += step {
		leads := false
		for _, n := range s.w.nodes {
			leads = leads || n.up && counts(n) && n.role == raft.RoleLeader && n.state.HighWatermark >= 0
		}
		if !leads {
			gap += step
		}
		s.live(step)
	}
	return gap
}
