package raftnode

import (
	"context"
	"errors"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// "A node that is the only voter becomes leader immediately at start."
func TestAnOnlyVoterLeadsWhenStartReturns(t *testing.T) {
	n := start(t, lone(vfs.OS{}, t.TempDir()+"/__cluster_metadata-0"))
	defer stop(t, n)
	v := n.View()
	if v.Role != raft.RoleLeader || v.Epoch != 1 || v.Leader != 1 {
		t.Fatalf("after the start: %+v", v)
	}
	e := listen(n)
	e.awaitLeader(t, LeaderAndEpoch{Leader: 1, Epoch: 1})
	if e.atLeader[len(e.atLeader)-1] < 1 {
		t.Error("leadership was told before the change of leader was committed")
	}
}

func TestWhatIsAppendedIsCommittedInOrderAndSurvivesARestart(t *testing.T) {
	dir := t.TempDir() + "/__cluster_metadata-0"
	var want []string
	for life := range 3 {
		n := start(t, lone(vfs.OS{}, dir))
		e := listen(n)
		var end kafka.Offset
		for i := range 20 {
			r := record(t, life*100+i)
			want = append(want, string(r), string(r))
			end = mustAppend(t, n, r, r)
		}
		e.awaitEnd(t, end)
		got := e.heard()
		if len(got) != len(want) {
			t.Fatalf("life %d: heard %d records, want %d", life, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("life %d: record %d differs", life, i)
			}
		}
		if epoch := n.View().Epoch; epoch != kafka.Epoch(life+1) {
			t.Errorf("life %d leads epoch %d: a restarted leader takes the next one", life, epoch)
		}
		stop(t, n)
	}
}

// "Append with epoch check."
func TestAppendOfAnotherEpochIsRefused(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	defer stop(t, n)
	for _, epoch := range []kafka.Epoch{0, 2, -1} {
		if _, err := n.Append(epoch, [][]byte{record(t, 1)}); !errors.Is(err, ErrNotLeader) {
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
	if _, err := n.Append(1, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an empty batch: %v", err)
	}
	if _, err := n.Append(1, [][]byte{make([]byte, maxBatch)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a batch above 8 MiB: %v", err)
	}
}

// Whoever stops a node may do so again; the end of its context is no obstacle.
func TestStoppingTwiceIsStopping(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n, err := Start(ctx, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	stop(t, n)
	stop(t, n)
}

func TestAppendAfterStopIsRefused(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	stop(t, n)
	if _, err := n.Append(1, [][]byte{record(t, 1)}); !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
}
