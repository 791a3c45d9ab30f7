package interop

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

var (
	every  = flag.Bool("every", false, "play every cell of the matrix, not only those that continuous integration plays")
	report = flag.String("report", "", "bring this report, a path below the tree's root, up to date")
)

func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	if *report != "" {
		commit, err := itest.Run("", exec.Command("git", "rev-parse", "--short", "HEAD"))
		if err == nil {
			err = peer.WriteReport(itest.Root()+"/"+*report, strings.TrimSpace(commit), matrix())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
	}
	os.Exit(status)
}

// matrix is all cells, row by row.
func matrix() []peer.Cell {
	return slices.Concat(quorums(), voterCells(), preVotes(), brokers(), throttledMoves(), failingDirectories(), elections(), levels(), carried(), transactions(), replacement(), folders(), older(), mixtureTools(), guardedTools())
}

// TestMatrix plays nodes of both kinds in one cluster; docs/interop.md tells what
// each cell asserts.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, cell := range matrix() {
		if cell.Quick || *every {
			cell.Run(t)
		}
	}
}
