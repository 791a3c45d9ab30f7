package raft

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// history of what a node has said, to hold it to.
type promises struct {
	epoch map[kafka.NodeID]kafka.Epoch
	hw    map[kafka.NodeID]kafka.Offset
	votes map[kafka.NodeID]map[kafka.Epoch]kafka.ReplicaKey
	ended map[kafka.Epoch]kafka.NodeID // leaders
}

func newPromises() *promises {
	return &promises{
		epoch: map[kafka.NodeID]kafka.Epoch{}, hw: map[kafka.NodeID]kafka.Offset{},
		votes: map[kafka.NodeID]map[kafka.Epoch]kafka.ReplicaKey{}, ended: map[kafka.Epoch]kafka.NodeID{},
	}
}

func (p *promises) check(t *testing.T, w *world) {
	w.check(t)
	for _, m := range w.nodes {
		e := m.core.election
		if e.Epoch < p.epoch[m.id] {
			t.Fatalf("epoch of %d falls from %d to %d", m.id, p.epoch[m.id], e.Epoch)
		}
		p.epoch[m.id] = e.Epoch
		hw := m.core.hw
		if old, known := p.hw[m.id]; known && hw < old {
			t.Fatalf("high watermark of %d falls from %d to %d", m.id, old, hw)
		}
		p.hw[m.id] = hw
		if p.votes[m.id] == nil {
			p.votes[m.id] = map[kafka.Epoch]kafka.ReplicaKey{}
		}
		if old, voted := p.votes[m.id][e.Epoch]; voted && e.Voted != old {
			t.Fatalf("%d voted for %v and %v in epoch %d", m.id, old, e.Voted, e.Epoch)
		}
		if e.hasVoted() {
			p.votes[m.id][e.Epoch] = e.Voted
		}
		if e.Leader >= 0 {
			if old, known := p.ended[e.Epoch]; known && old != e.Leader {
				t.Fatalf("leaders %d and %d in epoch %d", old, e.Leader, e.Epoch)
			}
			p.ended[e.Epoch] = e.Leader
		}
	}
}

// FuzzCluster lets random things happen to three voters and an observer: no
// panic, and the invariants hold after every event. Each two bytes are a choice.
// An execution has few of them, for a million executions; the seeds of
// TestClusterInAnyWeather and internal/sim go deep.
func FuzzCluster(f *testing.F) {
	for seed := range uint64(24) {
		f.Add(weather(seed, 48))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		stirred(t, choices[:min(len(choices), 2*48)])
	})
}

func TestClusterInAnyWeather(t *testing.T) {
	for seed := range uint64(24) {
		stirred(t, weather(seed, 300))
	}
}

// weather makes n choices.
func weather(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 2*n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func stirred(t *testing.T, choices []byte) {
	w := &world{quiet: true}
	if err := w.do("nodes 1,2,3,4 voters=1,2,3 brokers=4"); err != nil {
		t.Fatal(err)
	}
	p := newPromises()
	for len(choices) >= 2 {
		stir(w, p, choices[0], choices[1])
		choices = choices[2:]
		p.check(t, w)
	}
}

// stir does one thing: mostly it delivers messages and lets time pass.
func stir(w *world, p *promises, what, which byte) {
	m := w.nodes[int(which)%len(w.nodes)]
	switch {
	case what < 150:
		if len(w.net) > 0 {
			i := int(which) % min(len(w.net), 3)
			e := w.net[i]
			w.net = append(w.net[:i:i], w.net[i+1:]...)
			w.handOver(e)
		}
	case what < 180:
		w.pass(time.Duration(which) * 5 * time.Millisecond)
	case what < 190 && len(w.net) > 0: // lost, or answered by nobody
		e := w.net[0]
		w.net = w.net[1:]
		if !e.answer && which&1 == 0 {
			w.answerWith(e, kerr.BrokerNotAvailable)
		}
	case what < 215:
		m.step(Propose{Ticket: 1, Epoch: m.core.election.Epoch, Count: int32(which%5) + 1})
	case what < 225:
		m.slow = !m.slow
	case what < 235:
		m.drain()
	case what < 240: // killed, and back without what was not synced
		m.down = true
		if err := m.boot(); err != nil {
			panic(err)
		}
		p.hw[m.id] = kafka.NoOffset
	case what < 244:
		m.step(Resign{m.core.election.Epoch})
	case what < 248:
		if hw := m.core.hw; hw > 0 && which&1 == 0 {
			m.snapshotAt(hw)
		}
	case what < 250 && len(w.net) > 1: // twice, as an old connection may
		w.handOver(w.net[len(w.net)-1])
	}
}

// snapshotAt makes a snapshot of what is committed, if hw is the end of a batch
// on disk, and cleans the log up to it.
func (m *member) snapshotAt(hw kafka.Offset) {
	for _, b := range m.disk.log {
		id := SnapshotID{hw, b.epoch}
		if b.end == hw && hw <= m.disk.synced && m.core.CanSnapshot(id) {
			if m.core.State().LatestSnapshot.EndOffset >= hw {
				return
			}
			m.takeSnapshot(id)
			m.step(SnapshotCreated{Snapshot{id, snapshotSize}})
			return
		}
	}
}

// FuzzStep gives one node messages that make no sense: no panic, its epoch
// never falls, and it never votes twice in an epoch.
func FuzzStep(f *testing.F) {
	f.Add(uint64(1), uint8(30))
	f.Add(uint64(2), uint8(100))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		talkNonsense(t, seed, int(steps)%64)
	})
}

func TestStepSurvivesNonsense(t *testing.T) {
	for seed := range uint64(20) {
		talkNonsense(t, seed, 900)
	}
}

func talkNonsense(t *testing.T, seed uint64, steps int) {
	r := rand.New(rand.NewPCG(seed, 2))
	w := &world{quiet: true}
	nodes := "nodes 1,2,3"
	if seed%2 == 1 {
		nodes = "nodes 1,2,3 voters=1,2 dynamic autojoin"
	}
	if err := w.do(nodes); err != nil {
		t.Fatal(err)
	}
	m := w.nodes[int(seed/2)%len(w.nodes)]
	votes := map[kafka.Epoch]kafka.ReplicaKey{}
	for range steps {
		before := m.core.election.Epoch
		w.now += kafka.Instant(r.Int64N(int64(400 * time.Millisecond)))
		w.net = nil
		m.step(nonsense(r, m))
		e := m.core.election
		if e.Epoch < before {
			t.Fatalf("epoch falls from %d to %d", before, e.Epoch)
		}
		if old, voted := votes[e.Epoch]; voted && old != e.Voted {
			t.Fatalf("votes for %v and %v in epoch %d", old, e.Voted, e.Epoch)
		}
		if e.hasVoted() {
			votes[e.Epoch] = e.Voted
		}
	}
}

// nonsense makes an event of arbitrary numbers near those that matter.
func nonsense(r *rand.Rand, m *member) Event {
	near := func(n int64) int64 { return n + r.Int64N(7) - 3 }
	epoch := func() kafka.Epoch {
		if r.IntN(50) == 0 {
			return math.MaxInt32 - kafka.Epoch(r.IntN(2))
		}
		return kafka.Epoch(near(int64(m.core.election.Epoch)))
	}
	offset := func() kafka.Offset {
		if r.IntN(50) == 0 {
			return math.MaxInt64 - kafka.Offset(r.IntN(2))
		}
		return kafka.Offset(near(int64(m.core.log.end)))
	}
	id := func() kafka.NodeID { return kafka.NodeID(r.IntN(5) - 1) }
	key := func() kafka.ReplicaKey { n := id(); return kafka.ReplicaKey{Node: n, Dir: dirOf(n)} }
	code := kerr.None
	if r.IntN(4) == 0 {
		code = []kerr.Code{kerr.NotLeaderOrFollower, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.InvalidVoterKey,
			kerr.InvalidRequest, kerr.SnapshotNotFound, kerr.UnknownServerError}[r.IntN(7)]
	}
	hint := Hint{Epoch: epoch(), Leader: id()}
	if r.IntN(2) == 0 {
		hint.Endpoints = endpointsOf(max(hint.Leader, 0))
	}
	call := Call(near(int64(m.core.calls.last)))
	switch r.IntN(22) {
	case 0:
		return Received{1, VoteRequest{Voter: key(), Candidate: key(), Epoch: epoch(), LastEpoch: epoch(), End: offset(), PreVote: r.IntN(2) == 0}}
	case 1:
		return Received{1, BeginRequest{Voter: key(), Leader: id(), Epoch: epoch(), Endpoints: hint.Endpoints}}
	case 2:
		return Received{1, EndRequest{Leader: id(), Epoch: epoch(), Preferred: []kafka.ReplicaKey{key(), key()}}}
	case 3:
		return Received{1, FetchRequest{Replica: key(), Epoch: epoch(), Offset: offset(), LastEpoch: epoch(), MaxWait: time.Second}}
	case 4:
		return Received{1, SnapshotRequest{Replica: key(), Epoch: epoch(), ID: SnapshotID{offset(), epoch()}, Position: near(0)}}
	case 5, 6:
		return Answered{call, VoteAnswer{Err: code, Hint: hint, Granted: r.IntN(2) == 0}}
	case 7, 8:
		a := FetchAnswer{Err: code, Hint: hint, HighWatermark: offset(), Span: Span{Base: offset(), End: offset()}}
		if r.IntN(3) == 0 {
			a.Diverging = &EpochEnd{epoch(), offset()}
		}
		if r.IntN(6) == 0 {
			a.Snapshot = &SnapshotID{offset(), epoch()}
		}
		if a.Span.End > a.Span.Base {
			a.Span.Epochs = []EpochStart{{epoch(), a.Span.Base}}
		}
		return Answered{call, a}
	case 9:
		return Answered{call, SnapshotAnswer{Err: code, Hint: hint, ID: SnapshotID{offset(), epoch()}, Size: near(5), Position: near(0), Bytes: int32(near(3))}}
	case 10:
		return Unanswered{call, []kerr.Code{kerr.BrokerNotAvailable, kerr.UnsupportedVersion, kerr.InconsistentClusterId}[r.IntN(3)]}
	case 11:
		return Propose{1, epoch(), int32(near(2))}
	case 12:
		return Answered{call, EndAnswer{Err: code, Hint: hint}}
	case 13:
		return Resign{epoch()}
	case 14, 15, 16, 17, 18, 19:
		return nonsenseAboutVoters(r, m, call, hint, code)
	}
	return Passed{}
}

// nonsenseAboutVoters is about changes of the voters, and a leader's death.
func nonsenseAboutVoters(r *rand.Rand, m *member, call Call, hint Hint, code kerr.Code) Event {
	id := kafka.NodeID(r.IntN(5) - 1)
	key := kafka.ReplicaKey{Node: id, Dir: dirOf(id)}
	if r.IntN(5) == 0 {
		key.Dir = kafka.DirID{}
	}
	at := endpointsOf(max(id, 0))
	switch r.IntN(8) {
	case 0:
		return Received{1, AddVoterRequest{Voter: key, Endpoints: at, AtOnce: r.IntN(2) == 0}}
	case 1:
		return Received{1, RemoveVoterRequest{Voter: key}}
	case 2:
		return Received{1, UpdateVoterRequest{Epoch: hint.Epoch, Voter: key, Endpoints: at, MinLevel: int16(r.IntN(3) - 1), MaxLevel: int16(r.IntN(3) - 1)}}
	case 3:
		return Received{1, RaiseRequest{Epoch: hint.Epoch, Level: int16(r.IntN(4) - 1), Ask: r.IntN(2) == 0}}
	case 4:
		return Answered{call, ChangeAnswer{Err: code}}
	case 5:
		return Answered{call, UpdateVoterAnswer{Err: code, Hint: hint}}
	case 6:
		return Answered{call, VersionsAnswer{Err: code, MinLevel: int16(r.IntN(2)), MaxLevel: int16(r.IntN(3) - 1)}}
	}
	return Dead{Leader: hint.Leader, Epoch: hint.Epoch}
}
