package node

import (
	"log/slog"
	"syscall"
)

// fewFiles is a limit of open files below which a broker with many partitions
// and clients runs out of them.
const fewFiles = 10_000

// warnOpenFiles raises the limit of open files as far as it may, and warns when
// that is not far.
func warnOpenFiles(log *slog.Logger) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return // a machine that does not tell needs no advice
	}
	if limit.Max < fewFiles {
		log.Warn("the limit of open files is low: a broker needs one for each connection and segment in use; raise it with ulimit -n", "limit", limit.Max, "advised", fewFiles)
	}
}
