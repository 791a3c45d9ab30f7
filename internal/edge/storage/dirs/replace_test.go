package dirs

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
)

// emptied has a failed d2, in whose place a new disk was mounted.
func emptied(t *testing.T) *node {
	n := broken(t, vfs.OpSync)
	must(t, n.disk.RemoveAll("/d2"))
	must(t, n.disk.Mkdir("/d2", 0o755))
	must(t, n.disk.Mkdir("/d2/lost+found", 0o755))
	return n
}

func TestANewDiskIsFormattedAndTakesTheOldOnesPlace(t *testing.T) {
	n := emptied(t)
	r, err := n.Replace("/d2", true)
	must(t, err)
	p, err := read(n.disk, "/d2")
	must(t, err)
	if p.NodeID != 1 || p.ClusterID != "c" || p.DirID != r.ID() || p.DirID == ids[1] || p.DirID.Reserved() || len(r.Logs()) != 0 {
		t.Errorf("%+v, %v, %v", p, r.ID(), r.Logs())
	}
	r.Admit()
	if !n.Online(p.DirID) || n.Known(ids[1]) || n.AnyOffline() {
		t.Errorf("online are %v", n.OnlineIDs())
	}
	n.append(n.create("b", 0, p.DirID), "1")
	n.Close(true, 1, n)
	n.start()
	if l := n.Loaded(); len(l) != 1 || l[0].Dir != p.DirID || l[0].Log.End() != 1 {
		t.Errorf("%+v", l)
	}
}

func TestWhatIsNoNewDiskIsNotFormatted(t *testing.T) {
	f := func(sameDevice bool, path string, change func(*node), words ...string) {
		t.Helper()
		n := emptied(t)
		change(n)
		before, _ := n.disk.ReadDir("/d2")
		r, err := n.Replace(path, sameDevice)
		if err == nil {
			r.Abandon()
			t.Errorf("formatted, want an error with %q", words)
			return
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q lacks %q", err, w)
			}
		}
		if after, _ := n.disk.ReadDir("/d2"); len(after) != len(before) {
			t.Errorf("%v has become %v", before, after)
		}
	}
	props := func(id kafka.DirID) func(*node) {
		return func(n *node) { n.format("/d2", metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: id}) }
	}
	f(false, "/d2", func(*node) {}, "same device", "--same-device")
	f(true, "/d2", func(n *node) { must(t, n.disk.Mkdir("/d2/a-0", 0o755)) }, "not empty", "a-0")
	f(true, "/d2", props(ids[1]), "comes back by itself", "readmit")
	f(true, "/d2", props(kafka.DirID{9}), "holds the directory of a node", "another disk")
	f(true, "/d2", func(n *node) { must(t, n.disk.RemoveAll("/d2")) }, "does not exist")
	f(true, "/d2", func(n *node) { n.fault.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: "/d2", Err: vfs.ErrIO}) }, "write to /d2")
	f(true, "/d3", func(*node) {}, "/d3", "online")
	f(true, "/d9", func(*node) {}, "/d9", "log.dirs")
}

func TestAnOrderIsTakenOnceAndAnswered(t *testing.T) {
	disk := vfs.NewMem()
	must(t, disk.Mkdir("/m", 0o755))
	want := Order{Verb: Replace, Dir: "/d2", SameDevice: true}
	if _, there, err := TakeOrder(disk, "/m"); there || err != nil {
		t.Error(there, err)
	}
	id, err := Give(disk, "/m", want)
	must(t, err)
	if _, err := Give(disk, "/m", want); !errors.Is(err, ErrOrdered) {
		t.Errorf("a second one: %v", err)
	}
	if taken, err := Taken(disk, "/m"); taken || err != nil {
		t.Error(taken, err)
	}
	got, there, err := TakeOrder(disk, "/m")
	if want.ID = id; got != want || !there || err != nil {
		t.Errorf("%+v %v %v", got, there, err)
	}
	if taken, err := Taken(disk, "/m"); !taken || err != nil {
		t.Error(taken, err)
	}
	if _, there, err := TakeOrder(disk, "/m"); there || err != nil {
		t.Error("it is taken twice", err)
	}
	if _, there, err := Heard(disk, "/m", id); there || err != nil {
		t.Error(there, err)
	}
	answer := Answer{ID: id, Steps: []string{"a", "b"}, Done: true, Error: "e"}
	must(t, AnswerOrder(disk, "/m", answer))
	if got, there, err := Heard(disk, "/m", id); !there || err != nil || !reflect.DeepEqual(got, answer) {
		t.Errorf("%+v %v %v", got, there, err)
	}
	if _, there, err := Heard(disk, "/m", "other"); there || err != nil {
		t.Error("an answer to somebody else", err)
	}
	must(t, vfs.WriteFileAtomic(disk, "/m/"+orderFile, []byte("{")))
	if _, there, err := TakeOrder(disk, "/m"); there || err == nil {
		t.Error("half an order was taken")
	}
	if _, there, err := TakeOrder(disk, "/m"); there || err != nil {
		t.Error("half an order stays", err)
	}
}
