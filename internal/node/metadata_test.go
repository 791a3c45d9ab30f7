package node

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// writingSnapshot is an only voter whose snapshot is being written and hangs
// until release is closed.
func writingSnapshot(t *testing.T) (m *metadata, disk *vfs.Fault, release chan struct{}) {
	t.Helper()
	disk, release = vfs.NewFault(vfs.NewMem()), make(chan struct{})
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
	log := slog.New(slog.DiscardHandler)
	m = &metadata{env: &env{log: log}, peers: transport.NewPool(transport.ClientConfig{}), quorum: quorum{q}}
	m.view = metaview.New(metaview.Config{
		Quorum: m.quorum, Fault: func(err error) { t.Error(err) }, Log: log,
		Leader:    func(kafka.NodeID, kafka.Epoch, *image.Image) {},
		Snapshots: metaview.SnapshotPolicy{Bytes: 1},
	})
	q.Subscribe(listener{m.view})
	level, err := metarec.AppendMetadata(nil, &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)}, 0)
	if err == nil {
		_, err = q.Append(q.View().Epoch, [][]byte{level})
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return m, disk, release
}

// unchanged checks that nothing writes to a disk any more.
func unchanged(t *testing.T, disk *vfs.Fault) {
	t.Helper()
	before := disk.Changes()
	synctest.Wait()
	if after := disk.Changes(); after != before {
		t.Errorf("%d changes of the disk after leaving", after-before)
	}
}

// "a snapshot that the view has begun is finished or dropped."
func TestClosingTheMetadataWaitsForTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, disk, release := writingSnapshot(t)
		closed := make(chan (<-chan struct{}), 1)
		go func() { closed <- m.close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("closed while a snapshot is being written")
		default:
		}
		close(release)
		if writing := <-closed; writing != nil {
			t.Error("something still writes")
		}
		unchanged(t, disk)
	})
}

// "Only where the disk hangs, so that this takes too long, it gives a channel
// that is closed when it is true at last."
func TestADiskThatHangsDoesNotHoldTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, disk, release := writingSnapshot(t)
		began := time.Now()
		writing := m.close()
		if took := time.Since(began); writing == nil || took != stopGrace+diskPatience {
			t.Fatalf("closed after %v, something writes: %v", took, writing != nil)
		}
		synctest.Wait()
		select {
		case <-writing:
			t.Error("the disk hangs, and yet nothing writes any more")
		default:
		}
		close(release)
		<-writing
		unchanged(t, disk)
	})
}
