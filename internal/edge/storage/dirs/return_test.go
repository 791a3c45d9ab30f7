package dirs

import (
	"os"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// broken has a-0 with two records in d2, whose disk has failed with an error and works
// again.
func broken(t *testing.T, ops vfs.Op) *node {
	n := formatted(t)
	n.start()
	l := n.create("a", 0, ids[1])
	n.append(l, "1", "2")
	_, err := l.Sync()
	must(t, err)
	n.upkeep().recoveryPoints()
	n.upkeep().highWatermarks()
	n.fault.Inject(vfs.Rule{Ops: ops, Path: "/d2", Err: vfs.ErrIO})
	n.Fail("/d2", func() error {
		if ops == vfs.OpSync {
			n.append(l, "3")
			_, err := l.Sync()
			return err
		}
		return vfs.ErrIO
	}())
	<-n.failed
	<-n.directories()[1].retired
	n.fault.Heal()
	return n
}

func TestADirectoryReturnsWithItsLogs(t *testing.T) {
	n := broken(t, vfs.OpWrite)
	r, err := n.Return("/d2")
	must(t, err)
	if logs := r.Logs(); len(logs) != 1 || logs[0].Log.End() != 2 || logs[0].HighWatermark != 2 || len(r.Short()) != 0 {
		t.Errorf("%+v, short are %v", logs, r.Short())
	}
	if n.Online(ids[1]) {
		t.Error("online before it is admitted")
	}
	r.Admit()
	if !n.Online(ids[1]) || n.AnyOffline() {
		t.Error("it is not online")
	}
	n.append(n.create("b", 0, ids[1]), "1")
	n.wants("a-0@d2:2/2 b-0@d2:1/0")
	n.Close(true, 1, n)
	n.start()
	n.wants("a-0@d2:2/2 b-0@d2:1/1")
}

// Its records are validated although a checkpoint calls them synced.
func TestALogThatWasDamagedMeanwhileReturnsShort(t *testing.T) {
	n := broken(t, vfs.OpWrite)
	f, err := n.disk.OpenFile("/d2/a-0/"+storage.FileName(0, ".log"), os.O_RDWR, 0)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	_, err = f.WriteAt([]byte{0xff}, size-1)
	must(t, err)
	must(t, f.Close())
	r, err := n.Return("/d2")
	must(t, err)
	if logs := r.Logs(); len(logs) != 1 || logs[0].Log.End() != 1 || len(r.Short()) != 1 || r.Short()[0] != tp("a", 0) {
		t.Errorf("%+v, short are %v", logs, r.Short())
	}
	r.Abandon()
	if n.Online(ids[1]) {
		t.Error("online although it was abandoned")
	}
	again, err := n.Return("/d2")
	must(t, err)
	again.Abandon()
}

func TestAFailedSyncIsTold(t *testing.T) {
	f := func(ops vfs.Op, want bool) {
		t.Helper()
		n := broken(t, ops)
		if a := n.Absent(); len(a) != 1 || a[0].Path != "/d2" || a[0].ID != ids[1] || a[0].SyncFailed != want || !a[0].Idle {
			t.Errorf("%+v", a)
		}
	}
	f(vfs.OpSync, true)
	f(vfs.OpWrite, false)
}

func TestOnlyTheSameDirectoryReturns(t *testing.T) {
	f := func(change func(*node), words ...string) {
		t.Helper()
		n := broken(t, vfs.OpWrite)
		change(n)
		r, err := n.Return("/d2")
		if err == nil {
			r.Abandon()
			t.Errorf("returned, want an error with %q", words)
			return
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q lacks %q", err, w)
			}
		}
		if n.Online(ids[1]) || len(n.OnlineIDs()) != 2 {
			t.Errorf("online are %v", n.OnlineIDs())
		}
	}
	props := func(p metaprops.Properties) func(*node) { return func(n *node) { n.format("/d2", p) } }
	f(func(n *node) { must(t, n.disk.RemoveAll("/d2")) }, "/d2", "not formatted")
	f(props(metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: kafka.DirID{9}}), "/d2", ids[1].String(), "another disk")
	f(props(metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: ids[2]}), "/d2", "/d3", "same directory.id")
	f(props(metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 7, DirID: ids[1]}), "/d2", "node.id 7")
	f(props(metaprops.Properties{Version: 1, ClusterID: "x", NodeID: 1, DirID: ids[1]}), "/d2", `"x"`, `"c"`)
	f(func(n *node) { n.fault.Inject(vfs.Rule{Ops: vfs.OpCreate, Path: "/d2", Err: vfs.ErrIO}) }, "write to /d2")
	f(func(n *node) { n.fault.Inject(vfs.Rule{Ops: vfs.OpRead, Path: "/d2/a-0", Err: vfs.ErrIO}) }, "/d2/a-0")
	f(func(n *node) {
		_, err := n.disk.Lock("/d2/.lock")
		must(t, err)
	}, "/d2/.lock", "another process")
}

// Rule: a directory that was full comes back when there is room again, and not for the
// little that closing its logs has freed; to others free space says nothing.
func TestAFullDirectoryReturnsWithRoom(t *testing.T) {
	f := func(why error, returns bool) {
		t.Helper()
		n := formatted(t)
		n.start()
		n.Fail("/d2", why)
		<-n.failed
		<-n.directories()[1].retired
		n.fault.Full("/d2")
		r, err := n.Return("/d2")
		if (err == nil) != returns {
			t.Errorf("after %v without room: %v", why, err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "/d2 is full") {
				t.Error(err)
			}
			n.fault.Full("nowhere")
			r, err = n.Return("/d2")
			must(t, err)
		}
		r.Abandon()
	}
	f(vfs.ErrNoSpace, false)
	f(vfs.ErrIO, true)
}

func TestADirectoryThatWasMissingAtTheStartComes(t *testing.T) {
	n := formatted(t)
	n.start()
	n.append(n.create("a", 0, ids[1]), "1", "2")
	n.Close(true, 1, n)
	must(t, n.disk.Rename("/d2", "/away"))
	n.start()
	<-n.directories()[1].retired
	if _, err := n.Return("/d2"); err == nil {
		t.Error("returned while it is missing")
	}
	must(t, n.disk.Rename("/away", "/d2"))
	r, err := n.Return("/d2")
	must(t, err)
	r.Admit()
	n.wants("a-0@d2:2/2")
	if len(n.OnlineIDs()) != 3 {
		t.Errorf("online are %v", n.OnlineIDs())
	}
}

func TestAWorkingDirectoryCannotReturn(t *testing.T) {
	n := formatted(t)
	n.start()
	for path, want := range map[string]string{"/d2": "online", "/d9": "log.dirs"} {
		if _, err := n.Return(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
