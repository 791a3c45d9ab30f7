package itest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// The requests with which Linux stops all writes to a file system, and lets them go on
// (linux/fs.h).
const (
	fsFreeze = 0xC0045877
	fsThaw   = 0xC0045878
)

// Disk is a small file system of its own, which can hang as a dead disk does: who
// writes to it waits, and cannot be interrupted or killed until it answers again.
type Disk struct {
	Dir   string // where it is mounted
	mib   int64
	mu    sync.Mutex
	hangs bool
}

// NewDisk makes a disk of so many MiB. It needs root, and a loop device. What uses it
// is to be started afterwards, so that it ends before the disk goes.
func NewDisk(t testing.TB, mib int64) *Disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test mounts a file system and needs root")
	}
	d := &Disk{Dir: filepath.Join(Folder(t), "disk"), mib: mib}
	if err := os.Mkdir(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d.Mount(t)
	t.Cleanup(func() { d.Unmount(t) })
	return d
}

// Mount mounts a new, empty disk where none is.
func (d *Disk) Mount(t testing.TB) {
	t.Helper()
	image, err := os.CreateTemp(filepath.Dir(d.Dir), "image")
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := image.Truncate(d.mib << 20); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{
		exec.Command("mkfs.ext4", "-q", "-F", image.Name()),
		exec.Command("mount", "-o", "loop", image.Name(), d.Dir),
	} {
		if out, err := Run("", cmd); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
}

// Unmount takes the disk away; nobody may use it any more.
func (d *Disk) Unmount(t testing.TB) {
	t.Helper()
	if out, err := Run("", exec.Command("umount", d.Dir)); err != nil {
		t.Errorf("umount %s: %v\n%s", d.Dir, err, out)
	}
}

// Fill writes a file that takes all of the free space, and gives its path.
func (d *Disk) Fill(t testing.TB) string {
	t.Helper()
	hog, err := os.CreateTemp(d.Dir, "hog")
	if err != nil {
		t.Fatal(err)
	}
	defer hog.Close()
	for size := 1 << 20; size > 0; {
		n, err := hog.Write(make([]byte, size))
		if err != nil && n == 0 {
			size /= 2
		}
	}
	return hog.Name()
}

// Hang lets the disk answer no write any more, at the longest until the test is over.
func (d *Disk) Hang(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { d.Answer(t) }) // before the processes that use it are ended
	d.turn(t, true)
}

// Answer ends a Hang.
func (d *Disk) Answer(t testing.TB) {
	t.Helper()
	d.turn(t, false)
}

func (d *Disk) turn(t testing.TB, hangs bool) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hangs == hangs {
		return
	}
	request := uintptr(fsThaw)
	if hangs {
		request = fsFreeze
	}
	f, err := os.Open(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, 0); errno != 0 {
		t.Fatalf("%s: let it hang: %v: %v", d.Dir, hangs, errno)
	}
	d.hangs = hangs
}
