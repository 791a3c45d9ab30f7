package vfs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return processBootID()
	}
	return strings.TrimSpace(string(b))
})

// mountID tells the device below a name and its mount. From Linux 6.8 on the
// kernel numbers mounts so that none is used again before the next boot; older
// ones may give a number anew.
func mountID(name string) (string, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_MNT_ID_UNIQUE, &st); err != nil {
		return "", &os.PathError{Op: "statx", Path: name, Err: err}
	}
	if st.Mask&unix.STATX_MNT_ID_UNIQUE == 0 {
		if err := unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_MNT_ID, &st); err != nil {
			return "", &os.PathError{Op: "statx", Path: name, Err: err}
		}
	}
	return fmt.Sprintf("%d:%d/%d", st.Dev_major, st.Dev_minor, st.Mnt_id), nil
}

func space(name string) (total, usable int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	return int64(st.Blocks) * st.Bsize, int64(st.Bavail) * st.Bsize, nil
}

// openFileLimit is how many files this process may have open.
func openFileLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return int(min(limit.Cur, math.MaxInt32))
}

func lockFile(f *os.File) error {
	err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
}
