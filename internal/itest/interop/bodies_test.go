package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// The bodies that the tests of package wire read are those that Kafka's classes
// write, of all requests and responses at all versions.
func TestKafkasClassesWriteTheBodiesThatWeTestWith(t *testing.T) {
	t.Parallel()
	file := filepath.Join(itest.Root(), "internal/base/wire/testdata/bodies.tsv")
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := itest.JavaSource(t, filepath.Join(itest.Root(), "itest/kafka/RpcBytes.java"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var bodies strings.Builder
	for line := range strings.Lines(string(kept)) {
		if !strings.HasPrefix(line, "#") {
			bodies.WriteString(line)
		}
	}
	if bodies.String() == out {
		return
	}
	was, is := strings.Split(bodies.String(), "\n"), strings.Split(out, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("line %d is\n%s\nand Kafka's classes write\n%s", i+1, was[i], is[i])
		}
	}
	t.Errorf("%d bodies, and Kafka's classes write %d", len(was), len(is))
}
