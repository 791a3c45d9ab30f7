package metarec

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is one line of testdata/records.jsonl: a message in one version with
// the bytes that Apache Kafka 4.4 writes for it.
type golden struct {
	Family, Name, Variant string
	Version               int16
	Hex, FramedHex        string
	JSON                  json.RawMessage
}

func (g golden) String() string { return fmt.Sprintf("%s v%d %s", g.Name, g.Version, g.Variant) }

// message returns the message that the line's JSON describes.
func (g golden) message(t testing.TB) Message {
	t.Helper()
	m := ByName(g.Name)
	if m == nil {
		t.Fatalf("no message is named %s", g.Name)
	}
	dec := json.NewDecoder(bytes.NewReader(g.JSON))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		t.Fatalf("%s: %v", g, err)
	}
	if group, ok := m.(*GroupMetadataValue); ok && g.Version == 0 {
		// JSON of a version without the field cannot set a nested default.
		for i := range group.Members {
			group.Members[i].RebalanceTimeout = NewGroupMetadataValueMemberMetadata().RebalanceTimeout
		}
	}
	return m
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func goldens(t testing.TB) []golden {
	t.Helper()
	return readLines[golden](t, "testdata/records.jsonl")
}

// readLines reads a file of one JSON object a line.
func readLines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Every message at every version has the bytes that Kafka gives it, is read
// back from them, and is written to the same bytes again.
func TestBytesEqualKafkas(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.String(), func(t *testing.T) {
			want := unhex(t, g.Hex)
			got, err := g.message(t).AppendTo(nil, g.Version)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("wrote %x, %v\n want %x", got, err, want)
			}
			back := ByName(g.Name)
			if err := back.ReadFrom(want, g.Version); err != nil {
				t.Fatal(err)
			}
			again, err := back.AppendTo(nil, g.Version)
			if err != nil || !bytes.Equal(again, want) {
				t.Fatalf("rewrote %x, %v\n    want %x", again, err, want)
			}
		})
	}
}

// What was read is the message that the JSON describes, field by field.
func TestReadGivesTheFields(t *testing.T) {
	for _, g := range goldens(t) {
		want := g.message(t)
		got := ByName(g.Name)
		if err := got.ReadFrom(unhex(t, g.Hex), g.Version); err != nil {
			t.Errorf("%s: %v", g, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.FilterValues(bothEmpty, cmp.Ignore())); diff != "" {
			t.Errorf("%s: want -, got +\n%s", g, diff)
		}
	}
}

// bothEmpty matches empty lists that JSON and bytes may tell apart as nil and
// not nil; null where it has a meaning is covered by TestBytesEqualKafkas.
func bothEmpty(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.IsValid() && y.IsValid() && x.Kind() == reflect.Slice && y.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0
}

// The schema's lowest and highest versions are the ones Kafka has.
func TestVersionsEqualKafkas(t *testing.T) {
	lowest, highest := map[string]int16{}, map[string]int16{}
	for _, g := range goldens(t) {
		if v, ok := lowest[g.Name]; !ok || g.Version < v {
			lowest[g.Name] = g.Version
		}
		highest[g.Name] = max(highest[g.Name], g.Version)
	}
	for name := range lowest {
		m := ByName(name)
		if m.MinVersion() != lowest[name] || m.MaxVersion() != highest[name] {
			t.Errorf("%s: versions %d-%d, want %d-%d", name, m.MinVersion(), m.MaxVersion(), lowest[name], highest[name])
		}
	}
}

// What is stored, head and body, has Kafka's bytes and is read back with the
// right type.
func TestFramesEqualKafkas(t *testing.T) {
	for _, g := range goldens(t) {
		if g.FramedHex == "" {
			continue
		}
		want := unhex(t, g.FramedHex)
		m := g.message(t)
		got, err := frameOf(g, m)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: wrote %x, %v\nwant %x", g, got, err, want)
			continue
		}
		back, version, err := unframe(g, m, want)
		if err != nil || back.MessageName() != g.Name || version != g.Version {
			t.Errorf("%s: read %v at version %d, %v", g, back, version, err)
		}
	}
}

func frameOf(g golden, m Message) ([]byte, error) {
	switch g.Family {
	case "metadata", "remote-log-metadata":
		return AppendMetadata(nil, m, g.Version)
	}
	if isKey(g.Name) {
		return AppendCoordinatorKey(nil, m)
	}
	return AppendCoordinatorValue(nil, m, g.Version)
}

func isKey(name string) bool { return len(name) > 3 && name[len(name)-3:] == "Key" }

func unframe(g golden, m Message, src []byte) (Message, int16, error) {
	switch g.Family {
	case "metadata":
		return ReadMetadata(src)
	case "remote-log-metadata":
		return ReadRemoteLog(src)
	}
	readers := map[string]struct {
		key   func([]byte) (Message, error)
		value func(Message, []byte) (Message, int16, error)
	}{
		"group-coordinator":       {ReadGroupKey, ReadGroupValue},
		"transaction-coordinator": {ReadTxnKey, ReadTxnValue},
		"share-coordinator":       {ReadShareKey, ReadShareValue},
	}
	if isKey(g.Name) {
		key, err := readers[g.Family].key(src)
		return key, 0, err
	}
	return readers[g.Family].value(m, src)
}
