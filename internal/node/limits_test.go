package node

import "testing"

// Logs and connections together never need all files that the process may have.
func TestSharesOfFiles(t *testing.T) {
	f := func(limit int, want fileShares) {
		t.Helper()
		got := sharesOf(limit)
		if got != want {
			t.Errorf("of %d: %+v, want %+v", limit, got, want)
		}
		if sum := got.logs + got.clients + got.peers; limit > 2 && sum >= limit {
			t.Errorf("%d of %d are given away", sum, limit)
		}
	}
	f(1024, fileShares{logs: 256, clients: 512, peers: 128})
	f(100_000, fileShares{logs: 4096, clients: 50_000, peers: 12_500})
	f(1, fileShares{1, 1, 1})
	if got := sharesOf(0); got != (fileShares{logs: 4096}) {
		t.Errorf("of a limit that is not known: %+v", got)
	}
}
