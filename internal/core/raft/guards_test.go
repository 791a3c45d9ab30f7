package raft

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// guarded is node 3 of three static voters, talked to by hand.
type guarded struct {
	t    *testing.T
	core *Core
	now  kafka.Instant
	last Effects
	in   Call      // last request of a peer
	open []Message // what it has asked since the last answers
	told map[string]int
}

// newGuarded starts it with a log of epoch 1 that ends at end.
func newGuarded(t *testing.T, end kafka.Offset) *guarded {
	t.Helper()
	var set Voters
	for id := kafka.NodeID(1); id <= 3; id++ {
		set = set.With(Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpointsOf(id)})
	}
	st := Stored{Election: Election{Epoch: 1, Leader: kafka.NoNode, Voted: NoVote}, LogEnd: end}
	if end > 0 {
		st.Epochs = []EpochStart{{1, 0}}
	}
	core, e, err := New(0, Config{
		Self: kafka.ReplicaKey{Node: 3, Dir: dirOf(3)}, Controller: true, Endpoints: endpointsOf(3), Listener: "CONTROLLER",
		Static: set, Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 2)),
	}, st)
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{t: t, core: core, told: map[string]int{}}
	g.note(e)
	return g
}

func (g *guarded) step(ev Event) Effects {
	g.now = g.now.Add(time.Millisecond)
	g.note(g.core.Step(g.now, ev))
	return g.last
}

func (g *guarded) note(e Effects) {
	g.last, g.open = e, append(g.open, e.Send...)
	for _, t := range e.Trace {
		g.told[t.What]++
	}
}

// hears hands it a request of a peer.
func (g *guarded) hears(body Body) Effects {
	g.in++
	return g.step(Received{Call: g.in, Body: body})
}

// follows makes it follow node 1 in an epoch.
func (g *guarded) follows(epoch kafka.Epoch) {
	g.t.Helper()
	g.hears(BeginRequest{Voter: kafka.ReplicaKey{Node: 3}, Leader: 1, Epoch: epoch, Endpoints: endpointsOf(1)})
	if s := g.core.State(); s.Role != RoleFollower || s.Election.Epoch != epoch {
		g.t.Fatalf("it is %s in epoch %d", s.Role, s.Election.Epoch)
	}
}

// asks is what it asks somebody in the last step.
func (g *guarded) asks(to kafka.NodeID) (Call, Body) {
	g.t.Helper()
	for _, m := range g.last.Send {
		if m.To == to {
			return m.Call, m.Body
		}
	}
	g.t.Fatalf("nothing is sent to %d: %+v", to, g.last.Send)
	return 0, nil
}

func hintOf(leader kafka.NodeID, epoch kafka.Epoch) Hint {
	return Hint{Epoch: epoch, Leader: leader, Endpoints: endpointsOf(leader)}
}

// B3: proof that a leader's process is gone is about one epoch. It comes 22 ms
// after the connection broke, and the process may lead again by then.
func TestProofOfDeathIsOfOneEpoch(t *testing.T) {
	g := newGuarded(t, 1)
	g.follows(2)
	if g.step(Dead{Leader: 1, Epoch: 1}); g.told["leader died"] != 0 {
		t.Error("proof of epoch 1 counts in epoch 2")
	}
	if g.step(Dead{Leader: 1, Epoch: 2}); g.told["leader died"] != 1 {
		t.Error("proof of epoch 2 does not count")
	}
}

// A piece of a snapshot counts when it is the next one.
func TestPiecesOfASnapshotComeInOrder(t *testing.T) {
	g := newGuarded(t, 0)
	g.follows(1)
	id := SnapshotID{EndOffset: 10, Epoch: 1}
	call, _ := g.asks(1)
	g.step(Answered{Call: call, Body: FetchAnswer{Hint: hintOf(1, 1), HighWatermark: 10, LogStart: 10, Snapshot: &id}})
	call, _ = g.asks(1)
	e := g.step(Answered{Call: call, Body: SnapshotAnswer{Hint: hintOf(1, 1), ID: id, Size: 300, Position: 100, Bytes: 100}})
	if e.Chunk != nil {
		t.Errorf("bytes from 100 on are taken for the first ones: %+v", *e.Chunk)
	}
}

// "One that is not beyond what we know as committed brings nothing."
func TestASnapshotOfWhatIsCommittedIsNotLoaded(t *testing.T) {
	g := newGuarded(t, 20)
	g.follows(1)
	call, _ := g.asks(1)
	g.step(Answered{Call: call, Body: FetchAnswer{Hint: hintOf(1, 1), HighWatermark: 20}})
	call, _ = g.asks(1)
	id := SnapshotID{EndOffset: 10, Epoch: 1}
	g.step(Answered{Call: call, Body: FetchAnswer{Hint: hintOf(1, 1), HighWatermark: 20, Snapshot: &id}})
	if g.told["snapshot refused"] != 1 || g.told["downloading"] != 0 {
		t.Errorf("it loads a snapshot that ends at 10, and 20 is committed: %v", g.told)
	}
}

// refusedRound lets it stand for election, and both others refuse. It ends soon
// after.
func (g *guarded) refusedRound() {
	g.t.Helper()
	for g.core.State().Role != RoleProspective {
		g.now = max(g.now, g.last.Deadline)
		g.step(Passed{})
	}
	g.refused()
	if role := g.core.State().Role; role == RoleProspective {
		g.t.Fatal("the round is not lost")
	}
}

// refused answers all it has asked: nobody leads, nobody grants.
func (g *guarded) refused() {
	for len(g.open) > 0 {
		m := g.open[0]
		g.open = g.open[1:]
		nobody := Hint{Epoch: 1, Leader: kafka.NoNode}
		switch m.Body.(type) {
		case FetchRequest:
			g.step(Answered{Call: m.Call, Body: FetchAnswer{Err: kerr.NotLeaderOrFollower, Hint: nobody}})
		case VoteRequest:
			g.step(Answered{Call: m.Call, Body: VoteAnswer{Hint: nobody}})
		}
	}
}

// rounds counts the rounds of the longer log within 200 ms after a voter whose log
// is shorter has asked.
func (g *guarded) rounds(asker kafka.NodeID) int {
	before, end := g.told["longer log stands"], g.now.Add(200*time.Millisecond)
	g.hears(VoteRequest{
		Voter: kafka.ReplicaKey{Node: 3}, Candidate: kafka.ReplicaKey{Node: asker}, Epoch: 1, LastEpoch: 1, End: 2, PreVote: true,
	})
	for g.now < end {
		g.refused()
		g.now = min(max(g.now, g.last.Deadline), end)
		g.step(Passed{})
	}
	return g.told["longer log stands"] - before
}

// B6: a voter whose round is lost, and which refuses another one only because its
// own log is longer, stands at once, once for each asker. Nodes that are no voters, of
// which there may be any number, have it stand for nobody.
func TestTheLongerLogStandsOnceForEachAsker(t *testing.T) {
	g := newGuarded(t, 5)
	g.refusedRound()
	for _, want := range []struct {
		asker  kafka.NodeID
		rounds int
	}{{9, 0}, {2, 1}, {2, 0}, {8, 0}, {1, 1}} {
		if rounds := g.rounds(want.asker); rounds != want.rounds {
			t.Errorf("%d rounds after %d has asked, want %d", rounds, want.asker, want.rounds)
		}
	}
}

// B6: who asks in vain while a round of the voter is under way grants the next one,
// so that one begins when the round is lost.
func TestTheLongerLogStandsAfterTheRoundInWhichItRefused(t *testing.T) {
	g := newGuarded(t, 5)
	for g.core.State().Role != RoleProspective {
		g.now = max(g.now, g.last.Deadline)
		g.step(Passed{})
	}
	before := g.told["longer log stands"]
	g.hears(VoteRequest{
		Voter: kafka.ReplicaKey{Node: 3}, Candidate: kafka.ReplicaKey{Node: 2}, Epoch: 1, LastEpoch: 1, End: 2, PreVote: true,
	})
	g.refused()
	for end := g.now.Add(200 * time.Millisecond); g.now < end; g.step(Passed{}) {
		g.refused()
		g.now = min(max(g.now, g.last.Deadline), end)
	}
	if rounds := g.told["longer log stands"] - before; rounds != 1 {
		t.Errorf("%d rounds after the one in which it refused, want 1", rounds)
	}
}

// "The caller names the epoch it believes it leads": what was proposed in an
// earlier one may rest on what was lost since.
func TestAProposalIsForOneEpoch(t *testing.T) {
	set := NewVoters(Voter{Key: kafka.ReplicaKey{Node: 3}, Endpoints: endpointsOf(3)})
	core, _, err := New(0, Config{
		Self: kafka.ReplicaKey{Node: 3, Dir: dirOf(3)}, Controller: true, Endpoints: endpointsOf(3), Listener: "CONTROLLER",
		Static: set, Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 2)),
	}, Stored{Election: NoElection()})
	if err != nil {
		t.Fatal(err)
	}
	epoch := core.State().Election.Epoch
	for _, other := range []kafka.Epoch{epoch - 1, epoch + 1} {
		if e := core.Step(1, Propose{Ticket: 1, Epoch: other, Count: 1}); len(e.Append) != 0 || len(e.Refused) != 1 {
			t.Errorf("the leader of epoch %d appends what was proposed in %d", epoch, other)
		}
	}
	if e := core.Step(2, Propose{Ticket: 2, Epoch: epoch, Count: 1}); len(e.Append) != 1 {
		t.Errorf("it does not append what was proposed in its epoch: %+v", e)
	}
}

// A node does not stand for election while a snapshot takes the place of its log:
// it would append to a log that goes away.
func TestWhoInstallsASnapshotDoesNotStand(t *testing.T) {
	g := newGuarded(t, 0)
	g.follows(1)
	id := SnapshotID{EndOffset: 10, Epoch: 1}
	call, _ := g.asks(1)
	g.step(Answered{Call: call, Body: FetchAnswer{Hint: hintOf(1, 1), HighWatermark: 10, LogStart: 10, Snapshot: &id}})
	call, _ = g.asks(1)
	e := g.step(Answered{Call: call, Body: SnapshotAnswer{Hint: hintOf(1, 1), ID: id, Size: 300, Bytes: 300}})
	if e.Chunk == nil || !e.Chunk.Last {
		t.Fatalf("the snapshot is not complete: %+v", e.Chunk)
	}
	for range 10 {
		g.now = g.now.Add(time.Second)
		g.step(Passed{})
	}
	if g.told[string(RoleProspective)] != 0 {
		t.Error("it stands for election while the snapshot is installed")
	}
}

// A round that is insisted on begins also where the leader's address is not known any
// more: with it in mind nobody may go on.
func TestWhoFollowsNobodyMayInsist(t *testing.T) {
	g := newGuarded(t, 5)
	c := g.core
	p := &prospective{known: 1, tally: newTally(c.quorum.voters(), c.cfg.Self), expires: g.now.Add(time.Second)}
	p.tally.record(2, false)
	c.role, c.mourned = p, mourning{epoch: 1}
	e := g.hears(VoteRequest{
		Voter: kafka.ReplicaKey{Node: 3}, Candidate: kafka.ReplicaKey{Node: 2}, Epoch: 1, LastEpoch: 1, End: 5, PreVote: true,
	})
	if c.role == role(p) || c.role.name() != RoleProspective || g.told["insists on its round"] != 1 {
		t.Errorf("it is %s after %d rounds that it insisted on: %+v", c.role.name(), g.told["insists on its round"], e.Trace)
	}
}
