package main

import (
	"strings"
	"testing"
)

// Rule: the status reads as that of Kafka's tool: voters by id, and the lag of
// the voter whose log is shortest.
func TestTheStatusOfAQuorum(t *testing.T) {
	quorum := func(replicas ...quorumReplica) *quorumState {
		return &quorumState{ClusterID: "4L6g3nShT-eMCtK--X86sw", Leader: 2, Epoch: 7, HighWatermark: 140, Replicas: replicas}
	}
	const noDir = "AAAAAAAAAAAAAAAAAAAAAA"
	leader := quorumReplica{ID: 2, Dir: noDir, End: 141, CaughtUp: 5000, Status: "Leader", Endpoints: []string{"CONTROLLER://127.0.0.1:27103"}}
	near := quorumReplica{ID: 1, Dir: noDir, End: 141, CaughtUp: 4990, Status: "Follower"}
	far := quorumReplica{ID: 3, Dir: noDir, End: 124, Lag: 17, CaughtUp: 1000, Status: "Follower"}
	never := far
	never.CaughtUp = -1

	f := func(q *quorumState, want string) {
		t.Helper()
		var got strings.Builder
		if err := q.printStatus(&got); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(got.String(), want) {
			t.Errorf("printed\n%s\nwhich does not end in\n%s", &got, want)
		}
	}
	f(quorum(leader, near, far), `ClusterId:              4L6g3nShT-eMCtK--X86sw
LeaderId:               2
LeaderEpoch:            7
HighWatermark:          140
MaxFollowerLag:         17
MaxFollowerLagTimeMs:   4000
CurrentVoters:          [{"id": 1}, {"id": 2, "endpoints": ["CONTROLLER://127.0.0.1:27103"]}, {"id": 3}]
CurrentObservers:       []
`)
	f(quorum(leader, near), `MaxFollowerLag:         0
MaxFollowerLagTimeMs:   0
CurrentVoters:          [{"id": 1}, {"id": 2, "endpoints": ["CONTROLLER://127.0.0.1:27103"]}]
CurrentObservers:       []
`)
	observer := quorumReplica{ID: 9, Dir: "2UrEZABATSKWQ0KuYIyJsA", Status: "Observer"}
	f(quorum(leader, never, observer), `MaxFollowerLag:         17
MaxFollowerLagTimeMs:   -1
CurrentVoters:          [{"id": 2, "endpoints": ["CONTROLLER://127.0.0.1:27103"]}, {"id": 3}]
CurrentObservers:       [{"id": 9, "directoryId": "2UrEZABATSKWQ0KuYIyJsA"}]
`)
}
