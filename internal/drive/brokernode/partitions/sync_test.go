package partitions_test

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// The high watermark of a leader never falls.
//
//  1. With flush.messages=8, [0,5) is not due for a sync and is committed.
//  2. [5,11) is due; its sync hangs.
//  3. We lead in another epoch. Nothing of the log is known to be on disk, and
//     still consumers have seen [0,5).
func TestANewEpochDuringASyncTakesNothingBack(t *testing.T) {
	disk := vfs.NewFault(vfs.NewMem())
	b := testbed.New(t, disk, "/data", 1).Start()
	id := b.Topic("t", 1, "flush.messages", "8")
	p := b.Find("t", 0)
	release := make(chan struct{})
	disk.Inject(vfs.Rule{Ops: vfs.OpSync, Path: ".log", Hang: release})
	f := func(rule string, wantHW kafka.Offset) {
		t.Helper()
		if s := p.Status(); s.HighWatermark != wantHW {
			t.Errorf("%s: high watermark %d, want %d", rule, s.HighWatermark, wantHW)
		}
	}
	if _, err := p.Append(records(5), true); err != nil {
		t.Fatal(err)
	}
	f("not due", 5)
	last, err := p.Append(records(6), true)
	if err != nil || !last.Sync {
		t.Fatalf("%+v, %v", last, err)
	}
	f("due", 5)
	elect(b, id, testbed.Self)
	f("in the next epoch", 5)
	close(release)
	last.Epoch = p.Status().LeaderEpoch
	await1(t, b, p, last)
	f("synced", 11)
}

// Records whose sync has failed show to nobody, whatever metadata says before
// the directory is offline.
func TestAFailedSyncShowsNothing(t *testing.T) {
	disk := vfs.NewFault(vfs.NewMem())
	b := testbed.New(t, disk, "/data", 2).Start()
	failed, heard := make(chan struct{}), make(chan struct{})
	b.Dirs.Failed = func(dir kafka.DirID) {
		close(failed)
		<-heard
		b.Manager.DirFailed(dir)
	}
	id := b.Topic("t", 1, "flush.messages", "1")
	p := b.Find("t", 0)
	disk.Inject(vfs.Rule{Ops: vfs.OpSync, Path: ".log", Err: vfs.ErrIO})
	if _, err := p.Append(records(5), true); err != nil {
		t.Fatal(err)
	}
	<-failed
	b.Manager.Close() // the sync has ended
	elect(b, id, testbed.Self)
	if s := p.Status(); s.HighWatermark != 0 || count(t, p, partitions.Consumer, 0) != 0 {
		t.Errorf("high watermark %d after the failed sync", s.HighWatermark)
	}
	close(heard)
}
