package node

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/drive/raftnode"
)

// "a snapshot that the view has begun is finished or dropped before the
// directories are given up."
func TestLeavingTheQuorumWaitsForTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewFault(vfs.NewMem())
		release := make(chan struct{})
		disk.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: ".checkpoint.part", Only: 1, Hang: release})
		voter := raft.Endpoints{{Name: "CONTROLLER", Host: "localhost", Port: 9093}}
		q, err := raftnode.Start(t.Context(), raftnode.Config{
			FS: disk, Dir: "/d/__cluster_metadata-0", ClusterID: testCluster, Controller: true, Listener: "CONTROLLER",
			Self: kafka.ReplicaKey{Node: 1, Dir: kafka.DirID{9}}, Endpoints: voter,
			Voters: raft.NewVoters(raft.Voter{Key: kafka.ReplicaKey{Node: 1}, Endpoints: voter}),
		})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{log: slog.New(slog.DiscardHandler), quorum: quorum{q, 1}}
		n.view = metaview.New(metaview.Config{
			Quorum: n.quorum, Fault: func(err error) { t.Error(err) }, Log: n.log,
			Leader:    func(kafka.NodeID, kafka.Epoch, *image.Image) {},
			Snapshots: metaview.SnapshotPolicy{Bytes: 1},
		})
		q.Subscribe(listener{n.view})
		level, err := metarec.AppendMetadata(nil, &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)}, 0)
		if err == nil {
			_, err = q.Append(q.View().Epoch, [][]byte{level})
		}
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the snapshot is being written and hangs
		left := make(chan struct{})
		go func() {
			n.leaveQuorum()
			close(left)
		}()
		synctest.Wait()
		select {
		case <-left:
			t.Error("left while a snapshot is being written")
		default:
		}
		close(release)
		<-left
		before := disk.Changes()
		synctest.Wait()
		if after := disk.Changes(); after != before {
			t.Errorf("%d changes of the disk after leaving", after-before)
		}
	})
}

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
