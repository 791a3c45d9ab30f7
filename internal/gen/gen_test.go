package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The generated files in the tree are what the schemas give, no more, no less.
func TestTreeIsGenerated(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(filepath.Join(root, "schema"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(root, outDir, name))
		if err != nil || !bytes.Equal(have, files[name]) {
			t.Errorf("%s/%s is not what schema/ gives (%v): run go generate ./%s", outDir, name, err, outDir)
		}
	}
	left, err := filepath.Glob(filepath.Join(root, outDir, "*_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if files[filepath.Base(path)] == nil {
			t.Errorf("%s comes from no schema", path)
		}
	}
}

const head = "family f\n\n# About the family.\n\n# About M.\nM record=1 v0-3 flex=2\n"

func TestNotation(t *testing.T) {
	fam, err := parse(head + `  A ?string v1+ # about A
  B []Part
    C int32 =-1
    D Other v2 ~
      E bool
  F []Part
  # About Shared.
  struct Shared
    G int64
  H ?Shared v2+ @3
`)
	if err != nil {
		t.Fatal(err)
	}
	m := fam.messages[0]
	if m.name != "M" || m.role != roleRecord || m.typ != 1 || m.versions != (span{0, 3}) || m.flex != 2 {
		t.Errorf("message is %+v", m)
	}
	var names []string
	for _, s := range m.structs {
		names = append(names, s.goName)
	}
	if got := strings.Join(names, " "); got != "MPart MOther MShared" {
		t.Errorf("structures are %s", got)
	}
	a, b, h := m.body.fields[0], m.body.fields[1], m.body.fields[3]
	if !a.nullable || a.versions != (span{1, 3}) || a.doc != "about A" || a.goType() != "*string" {
		t.Errorf("A is %+v", a)
	}
	if d := b.of.fields[1]; d.versions != (span{2, 2}) || !d.ignorable {
		t.Errorf("D is %+v", d)
	}
	if h.tag != 3 || h.of.doc[0] != "About Shared." || h.goType() != "*MShared" {
		t.Errorf("H is %+v", h)
	}
	// C; and at version 2 a bool, the tags of Other and those of Part more.
	if got := m.leastBytes(b); got != 4 {
		t.Errorf("a Part takes %d bytes or more, want 4", got)
	}
}

func TestNotationErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s\n%s", err, want, text)
		}
	}
	f("", "no family")
	f("M v0\n", "line 1: no family line yet")
	f("family f\nM v0\n", "M has no comment")
	f("family f\n# M.\nM\n", "M has no versions")
	f("family f\n# M.\nM v1-0\n", "not a range of versions")
	f("family f\n# M.\nM 3\n", "not a range of versions")
	f("family f\n# M.\nM kind=1 v0\n", "unknown role")
	f("family f\n# M.\nM v0\n# lost\n\n", "comment describes nothing")
	f(head+"  A\n", "line 7: want a name and a type")
	f(head+"   A bool\n", "multiple of 2")
	f(head+"    A bool\n", "indented too far")
	f(head+"  A bool\n    B bool\n", "indented too far")
	f(head+"  A bool v4\n", "versions its message lacks")
	f(head+"  A bool v4+\n", "ends before it starts")
	f(head+"  A bool v2+ @x\n", "A: ")
	f(head+"  A bool v1+ @0\n", "tagged at a version that is not flexible")
	f(head+"  A bool later\n", `unknown word "later"`)
	f(head+"  A ?int32\n", "cannot be null")
	f(head+"  A []int32 =-1\n", "cannot have the default")
	f(head+"  A ?int32 =empty\n", "cannot be null")
	f(head+"  A ?string =empty\n", "only a nullable structure")
	f(head+"  A ?Part =empty\n    B int32 =-1\n", "only a nullable structure")
	f(head+"  A Part\n", "Part has no fields")
	f(head+"  A Part\n    B []Part\n      C bool\n", "holds itself")
	f(head+"  A Part\n    B []Other\n      C []Part\n", "C: structure Part holds itself")
	f(head+"  A Part\n    B bool\n  struct Part\n    C bool\n", "has fields already")
	f(head+"  A Part v2+\n    B int32 v2+ @0 =-1\n", "tagged field of a nested structure")
	f(head+"  # about A\n  A bool\n", "comment stands on its line")
}

// The parser answers any text with definitions or an error.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("../../schema/*.rec")
	if err != nil || len(paths) == 0 {
		f.Fatal(err, paths)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = parse(text)
	})
}
