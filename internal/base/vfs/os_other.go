//go:build !linux

package vfs

import (
	"errors"
	"math"
	"os"
	"sync"
	"syscall"
)

// bootID differs in every process where the system tells no id of its start:
// then nothing unsynced is trusted after a restart.
var bootID = sync.OnceValue(processBootID)

// mountID knows no mounts: the id of the start differs in every process anyway.
func mountID(string) (string, error) { return "", nil }

// openFileLimit is how many files this process may have open.
func openFileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}

func space(string) (total, usable int64, err error) { return -1, -1, errors.ErrUnsupported }

func lockFile(f *os.File) error {
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return ErrLocked
	}
	return err
}
