package processes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// againWith starts a node that does not run with other log directories, of which those that
// are new are formatted.
func againWith(t *testing.T, n *itest.Node, dirs ...string) {
	t.Helper()
	text, err := os.ReadFile(n.File())
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\nlog.dirs="+strings.Join(dirs, ",")+"\n"...) // the last line counts
	if err := os.WriteFile(n.File(), text, 0o644); err != nil {
		t.Fatal(err)
	}
	itest.Ottla(t, "", "storage", "format", "-c", n.File(), "-t", "4L6g3nShT-eMCtK--X86sw", "-g")
	n.Again(t)
	n.AwaitReady(t)
}

// A broker under load gets a second directory, replicas come to lie there, and then
// that one is taken away for good: each time all replicas are in sync again, and nothing
// acknowledged is lost.
func TestOneDirectoryBecomesTwoAndOneAgain(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	n, second := c.Nodes[0], filepath.Join(itest.Folder(t), "d2")
	createReplicated(t, c.Addrs(), "t", 4)
	l := startLedger(t, c.Addrs(), "t")
	l.grows(t)
	n.Stop(t)
	againWith(t, n, n.Data, second)
	allInSync(t, c.Addrs(), "t")
	if got := folders(t, second); len(got) > 0 {
		t.Errorf("replicas moved to the new directory: %v", got)
	}
	createReplicated(t, c.Addrs(), "t-new", 4)
	if len(folders(t, second)) == 0 {
		t.Error("no new replica lies in the new directory")
	}
	l.grows(t)
	n.Stop(t)
	againWith(t, n, n.Data)
	for _, topic := range []string{"t", "t-new"} {
		allInSync(t, c.Addrs(), topic)
	}
	if got := folders(t, n.Data); len(got) != 8 {
		t.Errorf("the directory that is left holds %v", got)
	}
	l.grows(t)
	l.wants(t, c.Addrs(), "t")
}

// Two brokers that got each other's disk refuse to start, and say whose it is. With
// the disks swapped back they serve.
func TestSwappedDisksAreRefused(t *testing.T) {
	t.Parallel()
	seconds := map[int]string{}
	c := itest.StartClusterOf(t, 3, func(id int) string {
		folder := itest.Folder(t)
		seconds[id] = filepath.Join(folder, "d2")
		return quick + "log.dirs=" + filepath.Join(folder, "d1") + "," + seconds[id]
	}, nil)
	createReplicated(t, c.Addrs(), "t", 6)
	one, two := c.Nodes[0], c.Nodes[1]
	swap := func() {
		t.Helper()
		aside := seconds[1] + ".aside"
		if err := errors.Join(os.Rename(seconds[1], aside), os.Rename(seconds[2], seconds[1]), os.Rename(aside, seconds[2])); err != nil {
			t.Fatal(err)
		}
	}
	itest.StopAll(t, []*itest.Proc{one.Proc, two.Proc})
	swap()
	for _, n := range []*itest.Node{one, two} {
		n.Again(t)
		if code := n.Wait(t); code == 0 {
			t.Errorf("node %d ended as if nothing were wrong", n.ID)
		}
		for _, word := range []string{seconds[n.ID], "node.id"} {
			if !strings.Contains(n.Output(), word) {
				t.Errorf("node %d does not name %q", n.ID, word)
			}
		}
	}
	swap()
	for _, n := range []*itest.Node{one, two} {
		n.Again(t)
	}
	for _, n := range []*itest.Node{one, two} {
		n.AwaitReady(t)
	}
	allInSync(t, c.Addrs(), "t")
}
