package dirs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/vfs"
)

// Each look is a word: the time in ms, then for each disk + (it has answered since the
// last look), - (it is still at the same write), x (that, and it is spared). Limit 100,
// looks every 10.
func TestWhichDisksHang(t *testing.T) {
	f := func(looks, want string) {
		t.Helper()
		w := &hangWatch{limit: 100 * time.Millisecond, every: 10 * time.Millisecond}
		answers := map[int]uint64{}
		var got []string
		for look := range strings.FieldsSeq(looks) {
			at, disks, _ := strings.Cut(look, ":")
			var ms int
			if _, err := fmt.Sscan(at, &ms); err != nil {
				t.Fatal(err)
			}
			var seen []seenDisk
			for i, c := range disks {
				if c == '+' {
					answers[i]++
				}
				seen = append(seen, seenDisk{waiting: c != '+', answers: answers[i], spared: c == 'x'})
			}
			for _, i := range w.look(time.Duration(ms)*time.Millisecond, seen) {
				got = append(got, fmt.Sprintf("%d@%d", i, ms))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: hung are %q, want %q", looks, s, want)
		}
	}
	f("0:++ 10:+- 20:+- 30:+- 40:+- 50:+- 60:+- 70:+- 80:+- 90:+- 100:+-", "1@100")
	f("0:++ 20:+- 40:+- 60:+- 80:+- 100:+-", "1@100")
	// It answers in time.
	f("0:++ 20:+- 40:+- 60:+- 80:++ 100:+- 120:+- 140:+-", "")
	// The process was paused: that time counts for nobody.
	f("0:++ 10:+- 1000:+- 1020:+- 1040:+- 1060:+-", "")
	f("0:++ 20:+- 1000:+- 1020:+- 1040:+- 1060:+- 1080:+-", "1@1080")
	// Nobody answers meanwhile, so it is not the disk; then one does.
	f("0:++ 20:-- 40:-- 60:-- 80:-- 100:-- 120:-- 140:--", "")
	f("0:++ 20:-- 40:-- 60:-- 80:-- 100:-- 120:+-", "1@120")
	f("0:+++ 20:+-- 40:+-- 60:+-- 80:+-- 100:+--", "1@100 2@100")
	// The last one, and one that is spared.
	f("0:+ 20:- 40:- 60:- 80:- 100:- 120:-", "")
	f("0:++ 20:+x 40:+x 60:+x 80:+x 100:+x 120:+x", "")
	f("0:++ 20:x- 40:+- 60:x- 80:x- 100:x-", "1@100")
}

// A directory that hangs fails, the stop does not wait for it, and its lock stays.
func TestADirectoryThatHangsFailsAndIsNotWaitedFor(t *testing.T) {
	n := formatted(t)
	n.grace = 100 * time.Millisecond
	must(t, n.claim())
	n.hangLimit = 300 * time.Millisecond
	must(t, n.load())
	l := n.create("a", 0, ids[1])
	n.append(l, "1")
	n.append(n.create("b", 0, ids[2]), "1")
	running := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(running)
		n.Run(ctx, n)
	}()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	n.fault.Inject(vfs.Rule{Ops: vfs.OpChange, Path: "/d2", Hang: hang})
	go func() { _, _ = l.Sync() }()
	if id := <-n.failed; id != ids[1] {
		t.Errorf("%s has failed", id)
	}
	if a := n.Absent(); len(a) != 1 || !errors.Is(a[0].Err, ErrHung) || a[0].Idle {
		t.Errorf("%+v", a)
	}
	if _, err := n.Return("/d2"); err == nil || !strings.Contains(err.Error(), "has not returned") {
		t.Errorf("it returned: %v", err)
	}
	stop()
	<-running
	n.Close(true, 1, n)
	if _, err := n.disk.Lock("/d2/.lock"); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("its lock was given up: %v", err)
	}
	if clean, _, _ := readMarker(n.disk, "/d3"); !clean {
		t.Error("the other directory is not marked as clean")
	}
	if clean, _, _ := readMarker(n.disk, "/d2"); clean {
		t.Error("a directory that hangs is marked as clean")
	}
	if there, _ := vfs.Exists(n.disk, "/d3/"+probeFile); there {
		t.Error("a probe is left")
	}
}
