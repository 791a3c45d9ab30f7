package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The table in the tree is the one that the schema gives.
func TestTableIsUpToDate(t *testing.T) {
	want, err := generate("../../../schema/requests.rpc")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../base/wire/table.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/base/wire/table.go is not what schema/requests.rpc gives: run go generate ./internal/base/wire")
	}
}

func TestNotation(t *testing.T) {
	messages, err := parse(strings.NewReader(`
# a comment
ExampleRequest request=3 v1-9 flex=8
  Name ?5+string v2-7
  Topics ?[]Topic
    Id uuid v4+
    Parts []Part
  Level int8 v8+ @1
  struct Part
    Index int32
`))
	if err != nil {
		t.Fatal(err)
	}
	m := messages[0]
	if m.key != 3 || !m.request || m.min != 1 || m.max != 9 || m.flex != 8 || len(m.fields) != 3 {
		t.Fatalf("read %+v", m)
	}
	name, topics, level := m.fields[0], m.fields[1], m.fields[2]
	if name.nullFrom != 5 || name.from != 2 || name.to != 7 || name.array || name.tag != -1 {
		t.Errorf("name %+v", name)
	}
	if topics.nullFrom != 0 || !topics.array || len(topics.children) != 2 || len(topics.children[1].children) != 1 {
		t.Errorf("topics %+v", topics)
	}
	if level.tag != 1 || level.from != 8 || level.to != none {
		t.Errorf("level %+v", level)
	}
}

func TestNotationErrors(t *testing.T) {
	f := func(schema, want string) {
		t.Helper()
		if _, err := parse(strings.NewReader(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", schema, err, want)
		}
	}
	f("X", "want: Name")
	f("X request=a v0", "invalid syntax")
	f("X request=1 vx", "invalid syntax")
	f("X request=1 v0\n  Name", "want: Name type")
	f("X request=1 v0\n  Name string extra", `unknown word "extra"`)
	f("X request=1 v0\n  Name Missing", "Missing of Name has no fields")
	f("X request=1 v0\n      Name string", "nested too deep")
	f("  Name string", "before the first message")
}
