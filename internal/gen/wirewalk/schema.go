package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// message is one request or response of the schema.
type message struct {
	name     string
	request  bool
	key      int
	min, max int
	flex     int // first flexible version, or none
	fields   []*field
	structs  map[string]*field // structs that several fields share
}

// resolve gives fields of a shared struct their children.
func (m *message) resolve(fields []*field) error {
	for _, f := range fields {
		if shared, ok := m.structs[f.typ]; ok && len(f.children) == 0 {
			f.children = shared.children
		}
		if f.structured() && len(f.children) == 0 {
			return fmt.Errorf("%s: %s of %s has no fields", m.name, f.typ, f.name)
		}
		if err := m.resolve(f.children); err != nil {
			return err
		}
	}
	return nil
}

// none marks a version that never comes.
const none = 127

// field is one line below a message.
type field struct {
	name     string
	typ      string // without the marks for arrays and null
	array    bool
	nullFrom int // first version that may be null, or none
	from, to int
	tag      int // -1: not tagged
	children []*field
}

// structured tells whether the field's type is a struct of its own.
func (f *field) structured() bool {
	_, scalar := scalars[f.typ]
	return !scalar
}

// scalars are the types without children, with their size on the wire; 0 means
// that a length goes first.
var scalars = map[string]int{
	"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16,
	"string": 0, "bytes": 0, "records": 0,
}

// parse reads the notation that the head of schema/requests.rpc explains.
func parse(r io.Reader) ([]*message, error) {
	var all []*message
	var open []*field // the chain of parents of the current line
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		words := strings.Fields(line)
		if depth == 0 {
			m, err := parseMessage(words)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			all, open = append(all, m), nil
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d: a field before the first message", n)
		}
		m := all[len(all)-1]
		f, err := parseField(words, m)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if depth > len(open)+1 {
			return nil, fmt.Errorf("line %d: nested too deep", n)
		}
		open = append(open[:depth-1], f)
		switch {
		case depth == 1 && f.name == "struct":
			m.structs[f.typ] = f
		case depth == 1:
			m.fields = append(m.fields, f)
		default:
			parent := open[depth-2]
			parent.children = append(parent.children, f)
		}
	}
	for _, m := range all {
		if err := m.resolve(m.fields); err != nil {
			return nil, err
		}
	}
	return all, lines.Err()
}

func parseMessage(words []string) (*message, error) {
	if len(words) < 3 {
		return nil, fmt.Errorf("want: Name request|response=KEY vMIN-MAX [flex=N]")
	}
	m := &message{name: words[0], flex: none, structs: map[string]*field{}}
	kind, key, _ := strings.Cut(words[1], "=")
	m.request = kind == "request"
	var err error
	if m.key, err = strconv.Atoi(key); err != nil {
		return nil, err
	}
	if m.min, m.max, err = parseRange(words[2]); err != nil {
		return nil, err
	}
	for _, w := range words[3:] {
		if v, ok := strings.CutPrefix(w, "flex="); ok {
			if m.flex, err = strconv.Atoi(v); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func parseField(words []string, m *message) (*field, error) {
	if len(words) < 2 {
		return nil, fmt.Errorf("want: Name type [versions] [@tag]")
	}
	f := &field{name: words[0], nullFrom: none, from: 0, to: none, tag: -1}
	typ := words[1]
	if rest, ok := strings.CutPrefix(typ, "?"); ok {
		f.nullFrom, typ = 0, rest
		if v, rest, ok := strings.Cut(typ, "+"); ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				return nil, err
			}
			f.nullFrom, typ = n, rest
		}
	}
	f.typ, f.array = strings.CutPrefix(typ, "[]")
	for _, w := range words[2:] {
		var err error
		switch {
		case strings.HasPrefix(w, "v"):
			f.from, f.to, err = parseRange(w)
		case strings.HasPrefix(w, "@"):
			f.tag, err = strconv.Atoi(w[1:])
		default:
			err = fmt.Errorf("unknown word %q in %s of %s", w, f.name, m.name)
		}
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// parseRange reads v3, v3+ or v3-7.
func parseRange(s string) (from, to int, err error) {
	s = strings.TrimPrefix(s, "v")
	if low, ok := strings.CutSuffix(s, "+"); ok {
		from, err = strconv.Atoi(low)
		return from, none, err
	}
	low, high, two := strings.Cut(s, "-")
	if from, err = strconv.Atoi(low); err != nil {
		return 0, 0, err
	}
	to = from
	if two {
		to, err = strconv.Atoi(high)
	}
	return from, to, err
}
