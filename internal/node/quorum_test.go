package node

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/raftnode"
)

// "While one is known by its id only, as after it has stopped, nobody but itself
// can reach it."
func TestALeaderWithoutAnAddressIsNotKnown(t *testing.T) {
	f := func(leader kafka.NodeID, at raft.Endpoints, want toctrl.Leader) {
		t.Helper()
		if got := leaderIn(raftnode.View{Leader: leader, Epoch: 3, LeaderEndpoints: at}, 1); got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
	unknown := toctrl.Leader{Node: kafka.NoNode, Epoch: 3}
	f(kafka.NoNode, nil, unknown)
	f(2, nil, unknown)
	f(2, raft.Endpoints{{}}, unknown)
	f(2, raft.Endpoints{{Name: "CONTROLLER", Host: "a", Port: 9093}}, toctrl.Leader{Node: 2, Epoch: 3, Addr: "a:9093"})
	f(1, nil, toctrl.Leader{Node: 1, Epoch: 3})
}
