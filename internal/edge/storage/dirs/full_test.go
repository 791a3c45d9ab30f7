package dirs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/vfs"
)

func TestSpaceIsLookedAtBeforeItCanBeGone(t *testing.T) {
	f := func(usable int64, busy bool, want time.Duration) {
		t.Helper()
		if got := nextLook(usable, busy); got != want {
			t.Errorf("with %d bytes, busy %v: in %v, not %v", usable, busy, got, want)
		}
	}
	f(1<<50, true, 5*time.Second)
	f(20<<30, true, 5*time.Second)
	f(4<<30, true, time.Second)
	f(1<<30, false, 250*time.Millisecond)
	f(256<<20, true, 62500*time.Microsecond)
	f(0, true, 10*time.Millisecond)
	f(0, false, 250*time.Millisecond)
}

// A full directory that is written to goes offline before a record is refused. One to
// which nobody writes, and one that takes writes all the same, stay.
func TestAFullDirectoryGoesOfflineWhileItIsWrittenTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := formatted(t)
		n.start()
		l := n.create("a", 0, ids[1])
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go n.watchSpace(ctx, 1)
		passes := func(what string, offline bool) {
			t.Helper()
			time.Sleep(6 * time.Second)
			synctest.Wait()
			if now := n.directories()[1].offline() != nil; now != offline {
				t.Errorf("%s: offline is %v", what, now)
			}
		}
		n.append(l, "1")
		passes("room is left", false)
		n.fault.Full("/d2")
		passes("it takes writes all the same", false)
		n.fault.Inject(vfs.Rule{Ops: vfs.OpChange, Path: probeFile, Err: vfs.ErrNoSpace})
		n.upkeep().tick()
		passes("nobody writes", false)
		n.append(l, "2")
		passes("it is written to", true)
		if id := <-n.failed; id != ids[1] {
			t.Errorf("told of %s, want d2", id)
		}
	})
}
