package raft

import (
	"math/rand/v2"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// "endOffsetForEpoch(e): the latest epoch ends with the log; between known
// epochs the largest known one at or below; below all known (e, start of the
// first); above all known the last epoch and the log's end."
func TestWhereAnEpochEnds(t *testing.T) {
	l := logState{end: 20, epochs: epochTable{[]EpochStart{{2, 0}, {4, 10}, {7, 15}}}}
	f := func(epoch kafka.Epoch, want EpochEnd) {
		t.Helper()
		if got := l.endOf(epoch); got != want {
			t.Errorf("epoch %d ends at %v, want %v", epoch, got, want)
		}
	}
	f(1, EpochEnd{1, 0})
	f(2, EpochEnd{2, 10})
	f(3, EpochEnd{2, 10})
	f(4, EpochEnd{4, 15})
	f(6, EpochEnd{4, 15})
	f(7, EpochEnd{7, 20})
	f(9, EpochEnd{7, 20})
}

// "If the result is exactly (e, oldest snapshot's offset), replace it by the
// oldest snapshot's (offset, epoch)."
func TestAnEpochThatEndsWithTheOldestSnapshotIsTheSnapshots(t *testing.T) {
	l := logState{start: 10, end: 20, epochs: epochTable{[]EpochStart{{4, 10}}}, snapshots: []Snapshot{{SnapshotID{10, 3}, 1}}}
	if got := l.endOf(2); got != (EpochEnd{3, 10}) {
		t.Errorf("got %v", got)
	}
}

// Validation of (offset, epoch) on the leader, 6.6.
func TestValidationOfAReplicasPosition(t *testing.T) {
	l := logState{
		start: 10, end: 30, epochs: epochTable{[]EpochStart{{3, 10}, {5, 20}}},
		snapshots: []Snapshot{{SnapshotID{10, 3}, 1}, {SnapshotID{25, 5}, 1}},
	}
	f := func(offset kafka.Offset, epoch kafka.Epoch, want verdict, end EpochEnd) {
		t.Helper()
		if got, at := l.validate(offset, epoch); got != want || at != end {
			t.Errorf("(%d, %d): %v %v, want %v %v", offset, epoch, got, at, want, end)
		}
	}
	f(10, 3, valid, EpochEnd{})
	f(10, 2, needSnapshot, EpochEnd{})
	f(10, 5, needSnapshot, EpochEnd{})
	f(9, 3, needSnapshot, EpochEnd{})
	f(15, 2, needSnapshot, EpochEnd{})
	f(20, 3, valid, EpochEnd{})
	f(21, 3, diverging, EpochEnd{3, 20})
	f(25, 4, diverging, EpochEnd{3, 20})
	f(30, 5, valid, EpochEnd{})
	f(31, 5, diverging, EpochEnd{5, 30})
	f(30, 8, diverging, EpochEnd{5, 30})
	if got, _ := (&logState{end: 30}).validate(0, 9); got != valid {
		t.Errorf("an empty replica of a log that starts at 0: %v", got)
	}
}

// "lastFetchedEpoch: last epoch in cache; empty log: snapshot epoch; else 0."
func TestTheLastEpochOfALog(t *testing.T) {
	f := func(l logState, want kafka.Epoch) {
		t.Helper()
		if got := l.lastEpoch(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	f(logState{}, 0)
	f(logState{start: 5, end: 5, snapshots: []Snapshot{{SnapshotID{5, 3}, 1}}}, 3)
	f(logState{start: 5, end: 9, epochs: epochTable{[]EpochStart{{4, 5}}}, snapshots: []Snapshot{{SnapshotID{5, 3}, 1}}}, 4)
}

// What a crash leaves ends where the last sync did, with the epoch of the record
// before that place, or of the snapshot that ends there.
func TestThePositionThatACrashLeaves(t *testing.T) {
	epochs := epochTable{[]EpochStart{{4, 5}, {6, 8}}}
	f := func(synced kafka.Offset, want Position) {
		t.Helper()
		l := logState{start: 5, end: 10, written: 10, synced: synced, epochs: epochs, snapshots: []Snapshot{{SnapshotID{5, 3}, 1}}}
		if got := l.durablePosition(); got != want {
			t.Errorf("synced to %d: got %v, want %v", synced, got, want)
		}
	}
	f(10, Position{6, 10})
	f(9, Position{6, 9})
	f(8, Position{4, 8})
	f(6, Position{4, 6})
	f(5, Position{3, 5})
	if got := (&logState{end: 4, epochs: epochTable{[]EpochStart{{1, 0}}}}).durablePosition(); got != (Position{}) {
		t.Errorf("nothing synced: got %v", got)
	}
}

// A report of a write older than a truncation says nothing about the end.
func TestALateReportDoesNotUndoATruncation(t *testing.T) {
	var l logState
	l.end = 10
	first := l.next()
	cut := l.truncate(4)
	l.end = 12 // appended again
	l.reported(first, 10, true)
	if l.written != 0 || l.synced != 0 || l.durable() {
		t.Errorf("written %d, synced %d", l.written, l.synced)
	}
	l.reported(cut, 4, true)
	if l.written != 4 || l.synced != 4 || !l.durable() {
		t.Errorf("written %d, synced %d", l.written, l.synced)
	}
}

// V-01: "The directory does not decide": what the checkpoint of format time says
// of the quorum holds until there is a record of a leader.
func TestFormattedQuorumGivesWayToTheLog(t *testing.T) {
	cfg := Config{Self: kafka.ReplicaKey{Node: 4}, Controller: true, Static: Voters{{Key: kafka.ReplicaKey{Node: 1}}}, Rand: rand.New(rand.NewPCG(1, 1)), Timing: DefaultTiming()}
	set := func(id kafka.NodeID) Voters { return Voters{{Key: kafka.ReplicaKey{Node: id, Dir: kafka.DirID{1}}}} }
	f := func(what string, st Stored, level int16, voter kafka.NodeID) {
		t.Helper()
		st.Election, st.Snapshots = NoElection(), append([]Snapshot{{}}, st.Snapshots...)
		st.Levels = append([]At[int16]{{-1, 1}}, st.Levels...)
		st.Voters = append([]At[Voters]{{-1, set(2)}}, st.Voters...)
		if st.LogEnd > 0 {
			st.Epochs = []EpochStart{{1, 0}}
		}
		c, _, err := New(0, cfg, st)
		if err != nil {
			t.Fatal(err)
		}
		if s := c.State(); s.Level != level || s.Voters[0].Key.Node != voter {
			t.Errorf("%s: level %d and voters %v, want %d and node %d", what, s.Level, s.Voters, level, voter)
		}
		if shape, shaped := c.Shape(st.LogEnd); shaped != level || shape == nil != (voter == 1) {
			t.Errorf("%s: a snapshot would say level %d and voters %v", what, shaped, shape)
		}
	}
	f("an empty log", Stored{}, 1, 2)
	f("a log of a quorum of static voters", Stored{LogEnd: 5}, 0, 1)
	f("a log of a dynamic quorum", Stored{LogEnd: 5, Levels: []At[int16]{{1, 1}}, Voters: []At[Voters]{{2, set(3)}}}, 1, 3)
	f("a log whose level was raised", Stored{LogEnd: 5, Levels: []At[int16]{{3, 1}}, Voters: []At[Voters]{{4, set(3)}}}, 1, 3)
	f("a snapshot of static voters", Stored{LogStart: 3, LogEnd: 5, Snapshots: []Snapshot{{ID: SnapshotID{3, 1}}}}, 0, 1)
}

// "Truncation removes entries at or above the new end; compaction keeps the
// last entry at or below the new start."
func TestHistoriesFollowTheLog(t *testing.T) {
	h := history[int]{}
	for _, e := range []At[int]{{-1, 0}, {5, 1}, {9, 2}} {
		h.add(e)
	}
	f := func(offset kafka.Offset, want int) {
		t.Helper()
		if got, ok := h.at(offset); !ok || got.Value != want {
			t.Errorf("at %d: %v %v, want %d", offset, got, ok, want)
		}
	}
	f(-1, 0)
	f(5, 1)
	f(8, 1)
	f(20, 2)
	h.trim(6)
	if len(h.entries) != 2 || h.entries[0].Value != 1 {
		t.Errorf("after compaction: %v", h.entries)
	}
	h.truncate(9)
	f(20, 1)
	h.truncate(0)
	if _, ok := h.at(20); ok {
		t.Errorf("after truncation: %v", h.entries)
	}
}

func TestMovingTheStartForgetsWhatIsBelow(t *testing.T) {
	l := logState{
		end: 30, epochs: epochTable{[]EpochStart{{1, 0}, {3, 10}, {5, 20}}},
		snapshots: []Snapshot{{SnapshotID{}, 1}, {SnapshotID{10, 1}, 1}, {SnapshotID{15, 3}, 1}},
		voters:    history[Voters]{[]At[Voters]{{-1, nil}, {3, nil}, {22, nil}}},
	}
	l.moveStart(15)
	if l.start != 15 || len(l.snapshots) != 1 || l.epochs.entries[0] != (EpochStart{3, 15}) || len(l.voters.entries) != 2 {
		t.Errorf("%+v", l)
	}
	l.moveStart(40)
	l.moveStart(2)
	if l.start != 15 {
		t.Errorf("start is %d", l.start)
	}
}
