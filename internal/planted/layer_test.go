package planted

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// arguments are those of the go command that runs the layer which has to find a
// bug, and nothing else.
func (b Bug) arguments() ([]string, error) {
	words := strings.Fields(b.Layer)
	scope, explored := strings.CutPrefix(b.Layer, "explorer ")
	raft := func(run string) []string { return []string{"-run", run, "./internal/core/raft"} }
	hunt := func(rule string) []string {
		return []string{"-tags", "hunt", "-run", "^TestUntilABugIsFound$", "./internal/sim", "-rule", rule}
	}
	switch {
	case len(words) == 2 && words[0] == "scenario":
		return raft("^TestScenarios$/^" + words[1] + "$"), nil
	case len(words) == 2 && words[0] == "statement":
		return append([]string{"-run", "^TestKIP996_" + words[1] + "($|[^0-9])"}, preVote.packages()...), nil
	case len(words) == 2 && words[0] == "simulator":
		return hunt(words[1]), nil
	case explored:
		return append(raft("^TestExploreTheCore$"), "-explore", "60s", "-only", scope), nil
	case b.Layer == "trace":
		return hunt("protocol"), nil
	case b.Layer == "persist":
		return []string{"-short", "-run", "^TestACrashAtEvery", "./internal/drive/raftnode"}, nil
	case len(words) == 3 && words[0] == "unit":
		return []string{"-run", "^" + words[2] + "$", "./internal/" + words[1]}, nil
	}
	return nil, fmt.Errorf("%s: no layer %q", b.Name, b.Layer)
}

// mutants are the bugs of the quorum.
func mutants(t *testing.T) []Bug { return append(listed(t, "mutants.txt"), preVote.bugs(t)...) }

// mistakes are those of the abstract model, by which the quorum is judged.
func mistakes(t *testing.T) []Bug { return listed(t, "model.txt") }

// listed reads a list.
func listed(t *testing.T, name string) []Bug {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// There are enough of them, each with a name of its own and a layer that there is,
// and the line that each changes is there, once. Every rule of the quorum is broken
// by one.
func TestMutantsFitTheCode(t *testing.T) {
	all, names, layers := mutants(t), map[string]bool{}, map[string]bool{}
	model := mistakes(t)
	for _, b := range append(model, all...) {
		if _, err := b.Text(root); err != nil {
			t.Error(err)
		}
		if _, err := b.arguments(); err != nil {
			t.Error(err)
		}
		if names[b.Name] {
			t.Errorf("two bugs %s", b.Name)
		}
		names[b.Name], layers[b.Layer] = true, true
	}
	if len(all) < 52 || len(model) < 40 {
		t.Errorf("only %d planted bugs, and %d mistakes of the model", len(all), len(model))
	}
	for _, rule := range []string{
		"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "R16",
		"L1", "L2", "L3", "L4", "L7", "L8",
	} {
		if !layers["simulator "+rule] {
			t.Errorf("no bug breaks %s", rule)
		}
	}
}

// shuffled gives an order that differs from commit to commit, so that every bug
// has its turn, and is the same for everybody who tests a commit.
func shuffled(all []Bug, commit string) []Bug {
	key := func(b Bug) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(commit + " " + b.Name))
		return h.Sum64()
	}
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b Bug) int {
		if key(a) < key(b) {
			return -1
		}
		return 1
	})
	return order
}

// Each bug is among the first of some commit.
func TestEveryMutantHasItsTurn(t *testing.T) {
	all, seen := mutants(t), map[string]bool{}
	for n := range 200 {
		for _, b := range shuffled(all, fmt.Sprint(n))[:sampleFloor] {
			seen[b.Name] = true
		}
	}
	for _, b := range all {
		if !seen[b.Name] {
			t.Errorf("%s never has its turn", b.Name)
		}
	}
}

// sampleFloor is how many bugs a sample has at least.
const sampleFloor = 12
