package planted

import (
	"path"
	"slices"
	"testing"
)

const root = "../.."

// design is a text that the tree was built for, statement by statement. Its page is
// docs/kip-N.md, its planted bugs are in testdata/kipN.txt.
type design struct {
	name       string // tests of statements begin with Test and it
	page, list string
	statements int
	letter     string // statements are this and a number
	// files hold the tests, one or more a statement.
	files []string
}

var (
	preVote = design{
		name: "KIP996", page: "kip-996.md", list: "kip996.txt", statements: 12, letter: "P",
		files: []string{"internal/core/raft/kip996_test.go", "internal/core/raft/explore_test.go", "internal/drive/raftnode/kip996_test.go"},
	}
	manyDisks = design{
		name: "KIP858", page: "kip-858.md", list: "kip858.txt", statements: 9, letter: "S",
		files: []string{
			"internal/core/image/kip858_test.go", "internal/core/controller/kip858_test.go", "internal/drive/ctrlnode/kip858_test.go",
			"internal/drive/brokernode/lifecycle/kip858_test.go", "internal/drive/brokernode/partitions/kip858_test.go",
		},
	}
	designs = []design{preVote, manyDisks}
)

// bugs has one for each statement, whose name it bears.
func (d design) bugs(t *testing.T) []Bug {
	t.Helper()
	return listed(t, d.list)
}

// packages are those that hold the tests.
func (d design) packages() (all []string) {
	for _, f := range d.files {
		all = append(all, "./"+path.Dir(f))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The line that each bug changes is there, once.
func TestStatementBugsFitTheCode(t *testing.T) {
	for _, d := range designs {
		for _, b := range d.bugs(t) {
			if _, err := b.Text(root); err != nil {
				t.Error(err)
			}
		}
	}
}
