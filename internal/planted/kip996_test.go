package planted

import (
	"os"
	"testing"
)

const root = "../.."

// statementTests are the packages that hold the tests of the statements.
var statementTests = []string{"./internal/core/raft", "./internal/drive/raftnode"}

func statementBugs(t *testing.T) []Bug {
	t.Helper()
	text, err := os.ReadFile("testdata/kip996.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The line that each bug changes is there, once.
func TestStatementBugsFitTheCode(t *testing.T) {
	for _, b := range statementBugs(t) {
		if _, err := b.Text(root); err != nil {
			t.Error(err)
		}
	}
}
