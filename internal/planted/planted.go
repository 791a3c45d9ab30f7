// Package planted builds the tree with one line changed, to see whether the
// tests notice. The compiler's overlay puts the changed file in the place of the
// original, so the tree stays as it is and production code knows nothing of it.
package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bug is a line that somebody changed.
type Bug struct {
	Name string
	What string // what goes wrong, one sentence
	File string // from the root of the tree
	Was  string // the whole line, which stands in the file once
	Is   string
	// Layer is what has to find it, as the list says.
	Layer string
}

// Parse reads a list of bugs. Blocks of six lines are separated by an empty
// one: the name, what goes wrong, the file, the line as it is after "-" and as it
// is planted after "+", and what has to find it after "found by: ". The last one
// may be missing: a statement's bug is found by its statement. The first block is
// a heading.
func Parse(text string) ([]Bug, error) {
	var all []Bug
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n")[1:] {
		lines := strings.Split(block, "\n")
		if len(lines) == 5 {
			lines = append(lines, "found by: statement "+lines[0])
		}
		if len(lines) != 6 || !strings.HasPrefix(lines[3], "-") || !strings.HasPrefix(lines[4], "+") || !strings.HasPrefix(lines[5], layerMark) {
			return nil, fmt.Errorf("not a planted bug:\n%s", block)
		}
		all = append(all, Bug{lines[0], lines[1], lines[2], lines[3][1:], lines[4][1:], lines[5][len(layerMark):]})
	}
	return all, nil
}

const layerMark = "found by: "

// Text is the file with the bug in it. It fails when the line does not stand
// there exactly once.
func (b Bug) Text(root string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, b.File))
	if err != nil {
		return "", fmt.Errorf("planting %s: %w", b.Name, err)
	}
	if n := strings.Count(string(raw), "\n"+b.Was+"\n"); n != 1 {
		return "", fmt.Errorf("planting %s: %s has %d lines %q", b.Name, b.File, n, b.Was)
	}
	return strings.Replace(string(raw), "\n"+b.Was+"\n", "\n"+b.Is+"\n", 1), nil
}

// Overlay writes the changed file and the plan for go build -overlay into a
// folder, and returns the name of the plan.
func (b Bug) Overlay(root, dir string) (string, error) {
	text, err := b.Text(root)
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, b.File))
	if err != nil {
		return "", fmt.Errorf("planting %s: %w", b.Name, err)
	}
	changed, plan := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err == nil {
		err = os.WriteFile(changed, []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(plan, replace, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("planting %s: %w", b.Name, err)
	}
	return plan, nil
}
