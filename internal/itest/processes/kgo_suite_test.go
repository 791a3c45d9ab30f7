package processes

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// The list of tests of franz-go's own suite that must pass.
func TestFranzGosOwnSuite(t *testing.T) {
	itest.InEachWorld(t, franzGosOwnSuite)
}

func franzGosOwnSuite(t *testing.T, w itest.World) {
	raw, err := os.ReadFile("testdata/kgo-suite.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	d := w.StartDev(t)
	run := exec.Command("go", "test", "-count=1", "-v", "-timeout", "10m", "-run", "^("+strings.Join(names, "|")+")$", "github.com/twmb/franz-go/pkg/kgo")
	run.Dir = itest.Root()
	run.Env = append(os.Environ(), "KGO_SEEDS="+d.Addr, fmt.Sprintf("KGO_TEST_RF=%d", w.Replicas()), "KGO_TEST_RECORDS=20000", "KGO_TEST_MAX_TOPIC_PARTS=3")
	out, err := itest.Run("", run)
	if err != nil {
		t.Errorf("%v\n%s", err, failures(out))
	}
	for _, name := range names {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass", name)
		}
	}
}

// failures keeps the lines that tell what failed.
func failures(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "FAIL") || strings.Contains(line, "_test.go:") || strings.Contains(line, "panic") {
			kept = append(kept, line)
		}
	}
	if len(kept) > 60 {
		kept = kept[:60]
	}
	return strings.Join(kept, "")
}
