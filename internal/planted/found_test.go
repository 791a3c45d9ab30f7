//go:build planted

package planted

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// found builds the tree with the bug in it and runs its layer. A layer that looks
// for a bug prints what it found and passes; tests turn red. red is what they say.
func (b Bug) found(t *testing.T) (red string, found bool) {
	t.Helper()
	plan, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args, err := b.arguments()
	if err != nil {
		t.Fatal(err)
	}
	// A bug that makes a test wait for ever is found when its time is over. A hunt
	// may take long without having found anything.
	limit := "90s"
	if slices.Contains(args, "hunt") {
		limit = "10m"
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-overlay", plan, "-count=1", "-vet=off", "-timeout", limit, "-v"}, args...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	text := string(out)
	var exit *exec.ExitError
	switch {
	case strings.Contains(text, "build failed") || !strings.Contains(text, "=== RUN") || err != nil && !errors.As(err, &exit):
		t.Fatalf("%s cannot be looked for: %v\n%s", b.Name, err, text)
	case slices.Contains(args, "hunt"):
		return line(text, "found: "), strings.Contains(text, "found: ")
	}
	return line(text, "--- FAIL: "), err != nil
}

// line is the rest of the first line that has a mark.
func line(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	first, _, _ := strings.Cut(rest, "\n")
	return first
}
