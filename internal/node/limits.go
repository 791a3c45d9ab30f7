package node

import "log/slog"

// fewFiles is a limit of open files below which a broker with many partitions
// and clients runs out of them.
const fewFiles = 10_000

// maxLogFiles bounds the files of logs that are open at one time; others are
// opened again when they are read.
const maxLogFiles = 4096

// fileShares are how many of the files that the process may have open go where.
// What is left is for the metadata log, our own connections and odd moments: a
// node that runs out of files takes a healthy disk for a broken one.
type fileShares struct {
	logs    int // files of logs
	clients int // connections of clients; 0: no bound
	peers   int // connections to the controller; 0: no bound
}

// sharesOf divides a limit of open files; 0 is a limit that is not known.
func sharesOf(limit int) fileShares {
	if limit == 0 {
		return fileShares{logs: maxLogFiles}
	}
	return fileShares{
		logs:    min(max(limit/4, 1), maxLogFiles),
		clients: max(limit/2, 1),
		peers:   max(limit/8, 1),
	}
}

// shareFiles divides the files that the process may have open, and warns when
// there are few.
func shareFiles(log *slog.Logger) fileShares {
	limit := openFiles()
	if limit != 0 && limit < fewFiles {
		log.Warn("the limit of open files is low: a broker needs one for each connection and segment in use; raise the hard limit, as with ulimit -Hn", "limit", limit, "advised", fewFiles)
	}
	return sharesOf(limit)
}
