package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
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

// Operations on the metadata directory that may hang.
var (
	snapshotWrite = vfs.Rule{Ops: vfs.OpWrite, Path: ".checkpoint.part", Only: 1}
	logSync       = vfs.Rule{Ops: vfs.OpSync, Path: ".log", Only: 1}
)

// hangingAt is an only voter in which a record was appended, and its log or its
// snapshot is being written. There it hangs until release is closed.
func hangingAt(t *testing.T, rule vfs.Rule, log *slog.Logger) (m *metadata, disk *vfs.Fault, release chan struct{}) {
	t.Helper()
	disk, release = vfs.NewFault(vfs.NewMem()), make(chan struct{})
	voter := raft.Endpoints{{Name: "CONTROLLER", Host: "localhost", Port: 9093}}
	q, err := raftnode.Start(t.Context(), raftnode.Config{
		FS: disk, Dir: "/d/__cluster_metadata-0", ClusterID: testCluster, Controller: true, Listener: "CONTROLLER",
		Self: kafka.ReplicaKey{Node: 1, Dir: kafka.DirID{9}}, Endpoints: voter,
		Voters: raft.NewVoters(raft.Voter{Key: kafka.ReplicaKey{Node: 1}, Endpoints: voter}),
	})
	if err != nil {
		t.Fatal(err)
	}
	m = &metadata{env: &env{log: log}, peers: transport.NewPool(transport.ClientConfig{}), quorum: quorum{q}}
	m.view = metaview.New(metaview.Config{
		Quorum: m.quorum, Fault: func(err error) { t.Error(err) }, Log: log,
		Leader:    func(kafka.NodeID, kafka.Epoch, *image.Image) {},
		Snapshots: metaview.SnapshotPolicy{Bytes: 1},
	})
	m.neighbours = &neighbours{self: 1, voters: m.voters, image: m.view.Image, gone: func(context.Context, kafka.NodeID) bool { return false }}
	q.Subscribe(listener{m.view})
	synctest.Wait()
	rule.Hang = release
	disk.Inject(rule)
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

// "a snapshot that the view has begun is finished or dropped." Nobody is asked to act.
func TestClosingTheMetadataWaitsForTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		m, disk, release := hangingAt(t, snapshotWrite, slog.New(slog.NewTextHandler(&said, nil)))
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
		if said.Len() > 0 {
			t.Error("said", said.String())
		}
		if _, err := m.quorum.CreateSnapshot(2, 1, 0); !errors.Is(err, metaview.ErrQuorumStopped) {
			t.Error("a snapshot after that:", err)
		}
	})
}

// "Only where the disk hangs, so that this takes too long, it gives a channel
// that is closed when it is true at last."
func TestADiskThatHangsDoesNotHoldTheStop(t *testing.T) {
	f := func(what string, rule vfs.Rule) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			m, disk, release := hangingAt(t, rule, slog.New(slog.DiscardHandler))
			began := time.Now()
			writing := m.close()
			if took := time.Since(began); writing == nil || took != stopGrace+diskPatience {
				t.Fatalf("%s: closed after %v, something writes: %v", what, took, writing != nil)
			}
			synctest.Wait()
			select {
			case <-writing:
				t.Errorf("%s hangs, and yet nothing writes any more", what)
			default:
			}
			close(release)
			<-writing
			unchanged(t, disk)
		})
	}
	f("a write of the snapshot", snapshotWrite)
	f("a sync of the log", logSync)
}
