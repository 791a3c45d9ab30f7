package compare

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/itest"
)

// Images has both sides load every snapshot of the folders __cluster_metadata-0,
// whoever wrote it: the records by which each describes the image that it has
// then must be the same, whatever their order and that of the features in them. It
// gives how many snapshots there were.
func Images(t testing.TB, folders []string) int {
	t.Helper()
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "*.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return 0
	}
	out, err := itest.JavaSource(t, program(), append([]string{"image"}, files...)...)
	if err != nil {
		t.Fatalf("Kafka's classes do not load %v: %v\n%.4000s", files, err, out)
	}
	theirs := sections(out)
	for _, file := range files {
		ours, err := load(file)
		if err != nil {
			t.Errorf("our loader does not load %s: %v", file, err)
			continue
		}
		if only, not := difference(alike(ours), alike(theirs[file])); len(only)+len(not) > 0 {
			t.Errorf("%s: our image has %v, which Kafka's has not; Kafka's has %v", file, readable(only), readable(not))
		}
	}
	return len(files)
}

// sections are the lines of the program below each file's name.
func sections(out string) map[string][]string {
	all := map[string][]string{}
	file := ""
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		if name, ok := strings.CutPrefix(line, "= "); ok {
			file = name
			continue
		}
		all[file] = append(all[file], line)
	}
	return all
}

// load makes our image of a snapshot and gives the records that describe it, in hex.
func load(file string) (lines []string, err error) {
	img, err := Snapshot(file)
	if err != nil {
		return nil, err
	}
	var lost []string
	for m, version := range img.Records(func(what string) { lost = append(lost, what) }) {
		framed, err := metarec.AppendMetadata(nil, m, version)
		if err != nil {
			return nil, err
		}
		lines = append(lines, hex.EncodeToString(framed))
	}
	if len(lost) > 0 {
		return nil, fmt.Errorf("the image cannot be written: %v", lost)
	}
	return lines, nil
}

// Snapshot makes our image of a snapshot.
func Snapshot(file string) (*image.Image, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	loader := image.NewLoader(image.NoProvenance)
	decoder := batch.NewDecoder(0)
	for h, whole := range batch.All(raw) {
		if h.Control() {
			continue
		}
		for r, err := range decoder.Records(whole) {
			if err != nil {
				return nil, err
			}
			m, _, err := metarec.ReadMetadata(r.Value)
			if err != nil {
				return nil, err
			}
			if err := loader.Add(m); err != nil {
				return nil, err
			}
		}
	}
	return loader.Done(), nil
}

// alike has each record's features in the order of their names: Kafka's image has them in
// a map, and writes them in the order of its hashes, ours keeps the order of the
// registration. What cannot be read stays as it is.
func alike(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, sorted(line))
	}
	return all
}

func sorted(line string) string {
	raw, err := hex.DecodeString(line)
	if err != nil {
		return line
	}
	m, version, err := metarec.ReadMetadata(raw)
	if err != nil {
		return line
	}
	switch r := m.(type) {
	case *metarec.RegisterBrokerRecord:
		slices.SortFunc(r.Features, func(a, b metarec.RegisterBrokerRecordBrokerFeature) int { return cmp.Compare(a.Name, b.Name) })
	case *metarec.RegisterControllerRecord:
		slices.SortFunc(r.Features, func(a, b metarec.RegisterControllerRecordControllerFeature) int { return cmp.Compare(a.Name, b.Name) })
	default:
		return line
	}
	if raw, err = metarec.AppendMetadata(nil, m, version); err != nil {
		return line
	}
	return hex.EncodeToString(raw)
}

// difference gives what only a has and what only b has.
func difference(a, b []string) (onlyA, onlyB []string) {
	lacks := func(list []string) func(string) bool {
		return func(line string) bool { return slices.Contains(list, line) }
	}
	return slices.DeleteFunc(slices.Clone(a), lacks(b)), slices.DeleteFunc(slices.Clone(b), lacks(a))
}

// readable are records as JSON.
func readable(lines []string) (all []string) {
	for _, line := range lines {
		raw, err := hex.DecodeString(line)
		if err != nil {
			all = append(all, line)
			continue
		}
		m, version, err := metarec.ReadMetadata(raw)
		if err != nil {
			all = append(all, line)
			continue
		}
		all = append(all, fmt.Sprintf("%T %s", m, metarec.AppendJSON(nil, m, version)))
	}
	return all
}
