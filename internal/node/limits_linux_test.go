package node

import (
	"syscall"
	"testing"
)

// A soft limit below the hard one is raised: shells and services leave it low.
func TestTheSoftLimitIsRaised(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := syscall.Rlimit{Cur: limit.Max / 2, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	if got := openFiles(); got != int(min(limit.Max, manyFiles)) {
		t.Errorf("limit %d, the hard one is %d", got, limit.Max)
	}
}
