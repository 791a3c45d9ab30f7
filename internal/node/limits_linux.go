package node

import "syscall"

// manyFiles stands for limits so high that they are none.
const manyFiles = 1 << 30

// openFiles is how many files the process may have open, 0 when the system does
// not tell. It raises the soft limit to the hard one first, which shells and
// services leave at 1024.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	if limit.Cur < limit.Max {
		raised := syscall.Rlimit{Cur: limit.Max, Max: limit.Max}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			limit = raised // refused: the soft limit is what there is
		}
	}
	return int(min(limit.Cur, manyFiles))
}
