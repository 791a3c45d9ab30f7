package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ottla/ottla/internal/itest"
)

// Last is the log directory of a node that may be a file system of its own
// (Layout.Small), and that Break and Mend are about.
func (n *Node) Last() string { return n.Dirs[len(n.Dirs)-1] }

// mount makes the node's last log directory a file system of its own.
func (n *Node) mount(bytes int) {
	n.c.t.Helper()
	dir := n.Last()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		n.c.t.Fatal(err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		n.c.t.Fatalf("mounting a file system takes root: %v", err)
	}
	n.c.t.Cleanup(func() {
		_ = unix.Unmount(dir, unix.MNT_DETACH) // a test that failed may have left it broken
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	})
}

// filler is the file that takes all space that is left.
const filler = "filler"

// Break has all that is written to the node's last log directory fail, until Mend: what
// goes to open files finds no space, and no file can be made or opened for writing.
// What is there can be read. Java then says so in lines of trouble, which are excused.
func (n *Node) Break() {
	n.c.t.Helper()
	dir := n.Last()
	itest.Eventually(n.c.t, func() error { return indexed(dir) })
	if err := fill(filepath.Join(dir, filler)); err != nil {
		n.c.t.Fatal(err)
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		n.c.t.Fatal(err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		n.c.t.Fatal(err)
	}
	n.c.Excuse(regexp.QuoteMeta(dir))
	n.c.Excuse("KafkaStorageException|No space left on device")
}

// indexed tells which index of the directory has no page yet. A process that has mapped
// it and writes the first entry when there is no space ends, or sees a fault that is not
// one of files.
func indexed(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*index"))
	for _, name := range files {
		var s unix.Stat_t
		if err := unix.Stat(name, &s); err == nil && s.Size > 0 && s.Blocks == 0 {
			return fmt.Errorf("%s is empty", name)
		}
	}
	return err
}

// fill writes a file until the file system has no space for another byte.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for size := len(chunk); size >= 1; size /= 16 {
		for err = nil; err == nil; {
			_, err = f.Write(chunk[:size])
		}
	}
	return nil
}

// Mend ends what Break began, of a node that does not run: a directory that failed
// stays offline for as long as the process lives.
func (n *Node) Mend() {
	n.c.t.Helper()
	if n.Running() {
		n.c.t.Fatalf("%s runs", n)
	}
	if err := unix.Unmount(n.Last(), unix.MNT_DETACH); err != nil {
		n.c.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(n.Last(), filler)); err != nil {
		n.c.t.Fatal(err)
	}
}

// Holds are the partitions of a topic whose replicas are in the node's last log
// directory.
func (n *Node) Holds(topic string) (partitions []int32) {
	n.c.t.Helper()
	entries, err := os.ReadDir(n.Last())
	if err != nil {
		n.c.t.Fatal(err)
	}
	for _, e := range entries {
		var p int32
		name, ok := strings.CutPrefix(e.Name(), topic+"-")
		if read, _ := fmt.Sscan(name, &p); ok && read == 1 && e.IsDir() {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

// Lost waits until every other broker that can be asked shows that the node's replicas
// of these partitions are offline, and neither lead nor are in sync, and that all its
// others are in sync.
func (n *Node) Lost(topic string, lost []int32) {
	n.c.t.Helper()
	id := int32(n.ID)
	itest.Eventually(n.c.t, func() error {
		for _, o := range n.c.pick(func(o *Node) bool { return o != n && o.Roles.Serves() && o.reachable() }) {
			partitions, err := o.Partitions(topic)
			if err != nil {
				return err
			}
			for _, p := range partitions {
				gone := slices.Contains(lost, p.Partition)
				if gone != slices.Contains(p.OfflineReplicas, id) || gone == slices.Contains(p.ISR, id) || gone && p.Leader == id {
					return fmt.Errorf("%s shows %s-%d led by %d, in sync %v, offline %v; %s has lost %v", o, topic, p.Partition, p.Leader, p.ISR, p.OfflineReplicas, n, lost)
				}
			}
		}
		return nil
	})
}
