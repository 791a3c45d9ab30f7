//go:build planted

package planted

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A seed that fails shrinks to at most 200 events, with a story that ends in what
// broke, and can be told again from its plan.
func TestAFailingSeedShrinks(t *testing.T) {
	for _, b := range mutants(t) {
		switch b.Name {
		case "leader-counts-what-it-wrote", "truncates-one-too-many":
			t.Run(b.Name, func(t *testing.T) { shrinks(t, b) })
		}
	}
}

func shrinks(t *testing.T, b Bug) {
	plan, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args, err := b.arguments()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-overlay", plan, "-count=1", "-vet=off", "-v"}, append(args, "-shrink", "6000")...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	text := string(out)
	_, story, _ := strings.Cut(text, "shrunk: ")
	var short, long int
	if _, e := fmt.Sscanf(story, "%d events of %d,", &short, &long); e != nil || err != nil {
		t.Fatalf("%v %v\n%s", err, e, text)
	}
	if short > 200 || short > long || !strings.Contains(story, "starts: ") {
		t.Errorf("%d events are left of %d\n%s", short, long, story)
	}
	t.Logf("ledger: a seed that %s fails is shrunk | %d events of %d", b.Name, short, long)
}
