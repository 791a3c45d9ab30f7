package raft

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Q-09, on a second listener: who has learned the leader from an answer, which names
// one address, tells of the others from the voter set in its log.
func TestAnAnswerNamesEveryListenerOfTheLeader(t *testing.T) {
	c := follows(t)
	second := Endpoint{Name: "SECOND", Host: "h2", Port: 7002}
	voters := c.quorum.voters()
	listed := voters[1]
	listed.Endpoints = append(Endpoints{{Name: "CONTROLLER", Host: "as listed", Port: 1}}, second)
	c.quorum.static = voters.With(listed)
	c.becomeFollower(2, 2, Endpoints{{Name: "CONTROLLER", Host: "as told", Port: 9002}})
	e := c.Step(c.now, Received{Call: 9, Body: FetchRequest{Replica: kafka.ReplicaKey{Node: 7}, Epoch: 2}})
	for _, m := range e.Send {
		if m.Call != 9 || m.To != kafka.NoNode {
			continue
		}
		at := m.Body.(FetchAnswer).Hint.Endpoints
		if got, ok := at.Named("SECOND"); !ok || got != second {
			t.Errorf("the second listener: %v of %v", got, at)
		}
		if got, _ := at.Named("CONTROLLER"); got.Host != "as told" {
			t.Errorf("the first listener: %v", got)
		}
		return
	}
	t.Fatal("no answer")
}

// A leader whose only snapshot was damaged, and whose log does not go back to the
// beginning, has nothing to send: neither a place to cut at nor a snapshot.
func TestALostSnapshotIsNotOffered(t *testing.T) {
	c := crowded(t)
	c.log.start, c.log.snapshots = 1, []Snapshot{{ID: SnapshotID{EndOffset: 1, Epoch: 1}, Size: 9}}
	got := func() FetchAnswer {
		t.Helper()
		for _, m := range ask(c, 77, 50, 0, 0) {
			if m.Call == 77 && m.To == kafka.NoNode {
				return m.Body.(FetchAnswer)
			}
		}
		t.Fatal("no answer")
		return FetchAnswer{}
	}
	if a := got(); a.Err != kerr.None || a.Snapshot == nil {
		t.Fatalf("%+v", a)
	}
	c.Step(c.now, SnapshotDamaged{ID: SnapshotID{EndOffset: 1, Epoch: 1}})
	if a := got(); a.Err != kerr.KafkaStorageError || a.Snapshot != nil || a.Diverging != nil {
		t.Errorf("%+v", a)
	}
}
