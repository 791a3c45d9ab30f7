package sim

import (
	"os"
	"testing"

	"github.com/ottla/ottla/internal/planted"
)

const root = "../.."

// Every planted bug changes a line that is there, once.
func TestPlantedBugsFitTheCode(t *testing.T) {
	all, places := readMutants(t), map[string]bool{}
	for _, b := range all {
		places[b.File] = true
	}
	if len(places) < 10 {
		t.Errorf("planted bugs in %d places only: %v", len(places), places)
	}
	for _, b := range all {
		if _, err := b.Text(root); err != nil {
			t.Error(err)
		}
	}
}

func readMutants(t *testing.T) []planted.Bug {
	t.Helper()
	raw, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := planted.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
