package dumplog

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla/ottla/internal/base/vfs"
)

// worlds are data folders that Apache Kafka 4.4 left behind. Beside each lies
// what Kafka's own dump tool printed of it, with the decoders on.
var worlds = []string{"standalone-dynamic-quorum", "static-quorum", "format-only"}

func openGzip(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unpack writes the folder of a world to disk and returns where it lies.
func unpack(t testing.TB, world string) string {
	t.Helper()
	dir := t.TempDir()
	r := tar.NewReader(openGzip(t, "testdata/"+world+".tar.gz"))
	for {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, world)
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Typeflag == tar.TypeReg {
			unpackFile(t, filepath.Join(dir, filepath.FromSlash(head.Name)), r)
		}
	}
}

// unpackFile writes a file; zeros at its end take no room.
func unpackFile(t testing.TB, path string, r io.Reader) {
	t.Helper()
	b, err := io.ReadAll(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, bytes.TrimRight(b, "\x00"), 0o644)
	}
	if err == nil {
		err = os.Truncate(path, int64(len(b)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// section is what Kafka printed of one file.
type section struct {
	path  string
	lines []string
}

func sections(t testing.TB, world string) []section {
	t.Helper()
	var list []section
	scan := bufio.NewScanner(openGzip(t, "testdata/"+world+".txt.gz"))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		if path, ok := strings.CutPrefix(line, "Dumping "); ok {
			list = append(list, section{path: path})
			continue
		}
		if last := len(list) - 1; !oddity(line) {
			list[last].lines = append(list[last].lines, line)
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// oddity tells a line that Kafka's tool prints by mistake: it holds the first
// offset of a segment to be consecutive to -1, and stumbles over an index that
// has nothing but zeros.
func oddity(line string) bool {
	for _, prefix := range []string{"Non-consecutive offsets", "  -1 is followed by", "Exception in thread", "\tat ", "timestamp: 0 offset: 0"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func dump(t testing.TB, path string, opt Options) (string, []*Problem) {
	t.Helper()
	var out bytes.Buffer
	problems, err := Dump(&out, vfs.OS{}, path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), problems
}

// Every line that Kafka's tool prints of the files of its own node is the line
// that we print.
func TestTextEqualsKafkas(t *testing.T) {
	for _, world := range worlds {
		root := unpack(t, world)
		for _, want := range sections(t, world) {
			path := filepath.Join(root, want.path)
			text, problems := dump(t, path, Options{Data: true})
			if len(problems) > 0 {
				t.Errorf("%s: %v", want.path, problems)
			}
			if diff := cmp.Diff(want.lines, ourLines(text, root)); diff != "" {
				t.Errorf("%s/%s: Kafka -, we +\n%s", world, want.path, diff)
			}
		}
	}
}

// ourLines brings our text to the form of Kafka's: without the heading, paths
// as Kafka was given them, and without what only we tell.
func ourLines(text, root string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), root+"/", "")
		if strings.HasPrefix(line, "Dumping ") || strings.Contains(line, "preallocated, not written") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// Every file of the folders is known, has nothing wrong in it, and its JSON
// form has one object a line, with the file and the kind in it.
func TestEveryFileReadsAsJSON(t *testing.T) {
	for _, world := range worlds {
		root := unpack(t, world)
		kinds := map[string]int{}
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".properties") && entry.Name() != "meta.properties" {
				return err
			}
			text, problems := dump(t, path, Options{Data: true, JSON: true})
			if len(problems) > 0 {
				t.Errorf("%s: %v", path, problems)
			}
			for line := range strings.Lines(text) {
				var object struct{ File, Kind string }
				if err := json.Unmarshal([]byte(line), &object); err != nil || object.File != path || object.Kind == "" {
					t.Errorf("%s: line %q: %v", path, line, err)
				}
				kinds[object.Kind]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if world == "format-only" {
			continue
		}
		for _, kind := range []string{
			"segment", "batch", "record", "offsetIndexEntry", "timeIndexEntry", "abortedTransaction", "producer",
			"offsetCheckpointEntry", "epochCheckpointEntry", "property", "quorumState", "cleanShutdown", "zeroTail",
		} {
			if kinds[kind] == 0 {
				t.Errorf("%s: nothing of the kind %s", world, kind)
			}
		}
	}
}

// checkJSONLines fails if a line is no JSON object.
func checkJSONLines(t testing.TB, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
	}
}
