package raftnode

import (
	"context"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// looks has a loop look for a process, until it is told what came of it.
type looks struct{ at term }

func (x looks) run(l *loop) { l.examined = x.at }

// proposedEpoch has a loop hear of a candidate of a later epoch, and its timer for what it
// holds never end.
type proposedEpoch struct{ epoch kafka.Epoch }

func (x proposedEpoch) run(l *loop) {
	l.held.limit.Stop()
	candidate := kafka.ReplicaKey{Node: l.n.cfg.Self.Node%3 + 1}
	vote := raft.VoteRequest{Voter: l.n.cfg.Self, Candidate: candidate, Epoch: x.epoch, LastEpoch: x.epoch - 1, End: 1000}
	received{vote, func(raft.Body, []byte) {}}.run(l)
}

// askedWhileLooking has a follower of a leader that lives look for that one's process,
// asks it for a pre-vote of a longer log, and tells it then what the look came to. It
// gives the answer.
func askedWhileLooking(t *testing.T, outcome func(at term) []item) bool {
	t.Helper()
	q := newQuorum(t, 1, 2, 3)
	q.start(1, 2, 3)
	defer q.stopAll()
	leader := q.leader().View()
	at := term{leader.Leader, leader.Epoch}
	var followers []*Node
	for id, n := range q.nodes {
		if id != at.leader {
			followers = append(followers, n)
		}
	}
	n, asks := followers[0], followers[1].cfg.Self
	q.ears[n.cfg.Self.Node].awaitEnd(t, leader.LogEnd) // it has fetched, so it grants nothing
	if err := n.put(looks{at}); err != nil {
		t.Fatal(err)
	}
	req := n.wire.askVote(raft.VoteRequest{
		Voter: n.cfg.Self, Candidate: asks, Epoch: at.epoch, LastEpoch: at.epoch, End: 1000, PreVote: true,
	})
	granted := make(chan bool, 1)
	n.Handle(context.Background(), RequestInfo{Listener: "CONTROLLER"}, again(req, 2), func(r kmsg.Response) {
		granted <- r.(*kmsg.VoteResponse).Topics[0].Partitions[0].VoteGranted
	})
	for _, it := range outcome(at) {
		if err := n.put(it); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case g := <-granted:
		return g
	case <-time.After(patience):
		t.Fatal("no answer")
	}
	return false
}

// B3: who is looking whether its leader's process is gone answers a pre-vote when it
// has looked. Of two voters one always is the first to have proof; if the other refused
// it for the moment that is left, both rounds would cost more.
func TestAPreVoteWaitsForTheProofOfDeath(t *testing.T) {
	if !askedWhileLooking(t, func(at term) []item {
		return []item{gone{at}}
	}) {
		t.Error("refused, although the leader was proven dead meanwhile")
	}
}

func TestAPreVoteIsRefusedWhenTheProcessIsThere(t *testing.T) {
	if askedWhileLooking(t, func(at term) []item { return []item{cleared{at}} }) {
		t.Error("granted, although the leader lives")
	}
}

// A process that hangs may be looked for a second long. Who asks is not to wait for that.
func TestAPreVoteDoesNotWaitForALongLook(t *testing.T) {
	if askedWhileLooking(t, func(term) []item { return nil }) {
		t.Error("granted, although nothing is known of the leader's process")
	}
}

// Answers to one peer keep their order: what is held when the epoch ends would hold up
// the answers of the next leader.
func TestAPreVoteIsHeldNoLongerThanItsEpoch(t *testing.T) {
	if askedWhileLooking(t, func(at term) []item {
		return []item{proposedEpoch{at.epoch + 1}}
	}) {
		t.Error("granted in an epoch that is over")
	}
}

// What is held is bounded, only pre-votes of the epoch are, and whoever still waits at
// the end is answered.
func TestWhatIsHeldIsBounded(t *testing.T) {
	n := &Node{inbox: make(chan item, 1), done: make(chan struct{})}
	n.view.Store(&View{Epoch: 5})
	close(n.done)
	l := &loop{n: n, examined: term{2, 5}}
	answered := 0
	ask := func(body raft.Body) received { return received{body, func(raft.Body, []byte) { answered++ }} }
	for what, body := range map[string]raft.Body{
		"a vote":                        raft.VoteRequest{Epoch: 5},
		"a pre-vote of an epoch before": raft.VoteRequest{Epoch: 4, PreVote: true},
		"a fetch":                       raft.FetchRequest{Epoch: 5},
	} {
		if l.holds(ask(body)) {
			t.Errorf("%s is held", what)
		}
	}
	held := 0
	for range 2 * maxHeld {
		if l.holds(ask(raft.VoteRequest{Epoch: 5, PreVote: true})) {
			held++
		}
	}
	l.abandonHeld()
	l.held.limit.Stop()
	if held != maxHeld || answered != maxHeld {
		t.Errorf("held %d and answered %d, not %d", held, answered, maxHeld)
	}
	f := func(what string, examined, proven term, epoch kafka.Epoch) {
		t.Helper()
		l.examined, l.proven, l.held = examined, proven, heldPreVotes{}
		n.view.Store(&View{Epoch: epoch})
		if l.holds(ask(raft.VoteRequest{Epoch: examined.epoch, PreVote: true})) {
			t.Error(what)
		}
	}
	f("held although nobody looks", term{}, term{}, 0)
	f("held although there is proof", term{2, 5}, term{2, 5}, 5)
	f("held although this node is in a later epoch", term{2, 5}, term{}, 6)
	n.view.Store(&View{Epoch: 5, Role: raft.RoleProspective})
	if l.holds(ask(raft.VoteRequest{Epoch: 5, PreVote: true})) {
		t.Error("held although this node asks, too")
	}
}
