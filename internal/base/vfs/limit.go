package vfs

import (
	"errors"
	"syscall"
)

// TooManyFiles tells an error that says nothing about the disk: this process, or
// the whole system, has as many files open as it may.
func TooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// OpenFileLimit is how many files and connections together this process may
// have open (RLIMIT_NOFILE).
func OpenFileLimit() int { return openFileLimit() }
