package raft

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
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
