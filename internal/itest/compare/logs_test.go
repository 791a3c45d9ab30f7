package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// folder is a metadata log: each batch is "EPOCH VALUE VALUE ...", and takes as many
// offsets as it has values. It begins at an offset.
func folder(t *testing.T, first int, batches ...string) Log {
	t.Helper()
	dir := t.TempDir()
	b := batch.NewBuilder(batch.Options{})
	var file []byte
	offset := first
	for _, text := range batches {
		words := strings.Fields(text)
		var epoch kafka.Epoch
		if _, err := fmt.Sscan(words[0], &epoch); err != nil {
			t.Fatal(err)
		}
		b.Reset(batch.Options{BaseOffset: kafka.Offset(offset), LeaderEpoch: epoch})
		for _, value := range words[1:] {
			b.Add(0, nil, []byte(value))
		}
		file = b.Build(file)
		offset += len(words) - 1
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.log", first)), file, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLog("a node", dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCommonFindsWhatDiffers(t *testing.T) {
	one := folder(t, 0, "1 a b", "1 c", "2 d e")
	f := func(want string, end int64, other Log) {
		t.Helper()
		records, err := Common([]Log{one, other}, end)
		got := fmt.Sprint(len(records))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || want == "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("5", 5, folder(t, 0, "1 a b", "1 c", "2 d e"))
	f("3", 5, folder(t, 2, "1 c", "2 d e"))                 // a snapshot stands for the rest
	f("3", 3, folder(t, 0, "1 a b", "1 c", "3 other tail")) // what is not committed may differ
	f("offset 3", 5, folder(t, 0, "1 a b", "1 c", "3 d e"))
	f("offset 3", 5, folder(t, 0, "1 a b", "1 c", "2 d x"))
	f("ends before offset 3", 5, folder(t, 0, "1 a b", "1 c"))
	f("do not reach 9", 9, folder(t, 0, "1 a b", "1 c", "2 d e"))
	f("offset 0", 5, folder(t, 0, "1 a", "1 b", "1 c", "2 d e")) // the same records in other batches
}

func TestAHoleInALogIsFound(t *testing.T) {
	dir := t.TempDir()
	b := batch.NewBuilder(batch.Options{})
	var file []byte
	for _, offset := range []kafka.Offset{0, 2} {
		b.Reset(batch.Options{BaseOffset: offset})
		b.Add(0, nil, []byte("x"))
		file = b.Build(file)
	}
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLog("a node", dir); err == nil || !strings.Contains(err.Error(), "offset 2 follows on a batch that ends at 1") {
		t.Errorf("got %v", err)
	}
	file[40] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLog("a node", dir); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
}
