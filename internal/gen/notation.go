package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// parse reads one schema file; schema/README.md describes the notation. Errors
// name the line.
func parse(text string) (*family, error) {
	p := &parser{}
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(strings.TrimRightFunc(line, unicode.IsSpace)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if p.fam == nil {
		return nil, fmt.Errorf("no family line")
	}
	for _, m := range p.fam.messages {
		if err := m.resolve(); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return p.fam, nil
}

// parser holds what the lines so far leave open.
type parser struct {
	fam *family
	// comment collects comment lines until the line they describe.
	comment []string
	// open are the structures that a line may add to, the outermost first; the
	// fields of open[i] are indented by i+1 steps.
	open []*structure
	// named are the structures of the current message by their name.
	named map[string]*structure
}

const step = "  "

func (p *parser) line(line string) error {
	indent := 0
	for strings.HasPrefix(line, step) {
		line, indent = line[len(step):], indent+1
	}
	switch {
	case line == "":
		return p.blank()
	case line[0] == '#':
		p.comment = append(p.comment, strings.TrimPrefix(line[1:], " "))
		return nil
	case line[0] == ' ':
		return fmt.Errorf("indentation is not a multiple of %d spaces", len(step))
	case indent > 0:
		return p.member(indent, line)
	}
	if name, ok := strings.CutPrefix(line, "family "); ok {
		if p.fam != nil {
			return fmt.Errorf("a second family line")
		}
		p.fam = &family{name: name}
		return nil
	}
	if p.fam == nil {
		return fmt.Errorf("no family line yet")
	}
	return p.message(line)
}

// blank ends a block of comments; the first one describes the family.
func (p *parser) blank() error {
	if len(p.comment) == 0 {
		return nil
	}
	if p.fam == nil || len(p.fam.messages) > 0 || p.fam.doc != nil {
		return fmt.Errorf("comment describes nothing")
	}
	p.fam.doc = p.takeComment()
	return nil
}

func (p *parser) takeComment() []string {
	c := p.comment
	p.comment = nil
	return c
}

// message reads "Name [role=type] vMIN-MAX [flex=V]".
func (p *parser) message(line string) error {
	words := strings.Fields(line)
	m := &message{name: words[0], doc: p.takeComment(), typ: -1, flex: noFlex, versions: span{-1, -1}}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		var err error
		switch {
		case !ok:
			m.versions, err = parseSpan(w, -1)
		case name == "flex":
			m.flex, err = strconv.Atoi(value)
		default:
			m.role = role(name)
			m.typ, err = strconv.Atoi(value)
		}
		if err != nil {
			return err
		}
	}
	if len(m.doc) == 0 {
		return fmt.Errorf("%s has no comment", m.name)
	}
	if m.versions.min < 0 {
		return fmt.Errorf("%s has no versions", m.name)
	}
	switch m.role {
	case roleNone, roleRecord, roleControl, roleKey, roleValue:
	default:
		return fmt.Errorf("%s has the unknown role %q", m.name, m.role)
	}
	m.body = &structure{name: m.name, goName: m.name, doc: m.doc}
	p.open = []*structure{m.body}
	p.named = map[string]*structure{}
	p.fam.messages = append(p.fam.messages, m)
	return nil
}

// member reads a field, or the head of a structure that several fields share.
func (p *parser) member(indent int, line string) error {
	if indent > len(p.open) {
		return fmt.Errorf("indented too far")
	}
	p.open = p.open[:indent]
	m := p.fam.messages[len(p.fam.messages)-1]
	if name, ok := strings.CutPrefix(line, "struct "); ok {
		return p.openStruct(m, name)
	}
	f, err := parseField(line, m.versions)
	if err != nil {
		return err
	}
	if len(p.comment) > 0 {
		return fmt.Errorf("%s: a field's comment stands on its line", f.name)
	}
	if kinds[f.elem].goType == "" {
		// Fields on deeper lines, if any follow, belong to this structure.
		if p.named[f.elem] == nil {
			p.named[f.elem] = &structure{name: f.elem, goName: m.name + f.elem}
		}
		f.of = p.named[f.elem]
		p.open = append(p.open, f.of)
	}
	in := p.open[indent-1]
	in.fields = append(in.fields, f)
	return nil
}

func (p *parser) openStruct(m *message, name string) error {
	s := p.named[name]
	if s == nil {
		s = &structure{name: name, goName: m.name + name}
		p.named[name] = s
	}
	if len(s.fields) > 0 {
		return fmt.Errorf("structure %s has fields already", name)
	}
	s.doc = p.takeComment()
	p.open = append(p.open[:1:1], s)
	return nil
}

// parseField reads "Name TYPE [vMIN+] [@TAG] [=DEFAULT] [~] [# comment]".
func parseField(line string, all span) (*field, error) {
	line, doc, _ := strings.Cut(line, " # ")
	words := strings.Fields(line)
	if len(words) < 2 {
		return nil, fmt.Errorf("want a name and a type")
	}
	f := &field{name: words[0], versions: all, tag: -1, doc: strings.TrimSpace(doc)}
	f.elem, f.nullable = strings.CutPrefix(words[1], "?")
	f.elem, f.array = strings.CutPrefix(f.elem, "[]")
	for _, w := range words[2:] {
		var err error
		switch w[0] {
		case 'v':
			f.versions, err = parseSpan(w, all.max)
		case '@':
			f.tag, err = strconv.Atoi(w[1:])
		case '=':
			f.init = w[1:]
		case '~':
			f.ignorable = true
		default:
			err = fmt.Errorf("unknown word %q", w)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return f, nil
}

// parseSpan reads v3, v3-5 or v3+, the latter ending at last.
func parseSpan(text string, last int) (span, error) {
	digits, isSpan := strings.CutPrefix(text, "v")
	digits, open := strings.CutSuffix(digits, "+")
	low, high, closed := strings.Cut(digits, "-")
	from, err := strconv.Atoi(low)
	if err != nil || !isSpan {
		return span{}, fmt.Errorf("%q is not a range of versions", text)
	}
	switch {
	case open && last >= from:
		return span{from, last}, nil
	case closed:
		to, err := strconv.Atoi(high)
		if err != nil || to < from {
			return span{}, fmt.Errorf("%q is not a range of versions", text)
		}
		return span{from, to}, nil
	case open:
		return span{}, fmt.Errorf("%q ends before it starts", text)
	}
	return span{from, from}, nil
}

// resolve checks a message once all its lines are read and lists its nested
// structures.
func (m *message) resolve() error {
	seen := map[*structure]bool{}
	within := map[*structure]bool{m.body: true}
	var visit func(s *structure) error
	visit = func(s *structure) error {
		for _, f := range s.fields {
			if err := m.check(s, f); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if within[f.of] {
				return fmt.Errorf("%s: structure %s holds itself", f.name, f.elem)
			}
			if f.of == nil || seen[f.of] {
				continue
			}
			seen[f.of] = true
			m.structs = append(m.structs, f.of)
			within[f.of] = true
			if err := visit(f.of); err != nil {
				return err
			}
			within[f.of] = false
		}
		return nil
	}
	return visit(m.body)
}

func (m *message) check(in *structure, f *field) error {
	switch {
	case !m.versions.covers(f.versions):
		return fmt.Errorf("has versions its message lacks")
	case f.of != nil && len(f.of.fields) == 0:
		return fmt.Errorf("structure %s has no fields", f.elem)
	case f.tag >= 0 && f.versions.min < m.flex:
		return fmt.Errorf("is tagged at a version that is not flexible")
	case f.nullable && !f.array && f.of == nil && kinds[f.elem].size > 0:
		return fmt.Errorf("a %s cannot be null", f.elem)
	case f.init == emptyStruct && (f.array || !f.nullable || f.of == nil || f.of.hasDefaults()):
		return fmt.Errorf("only a nullable structure without defaults of its own can have the default %s", f.init)
	case f.init != emptyStruct && f.initial() != "" && (f.array || f.nullable):
		return fmt.Errorf("an array or nullable field cannot have the default %s", f.init)
	case f.initial() != "" && f.tag >= 0 && in != m.body:
		// The JSON form of a nested structure leaves out tagged zero values.
		return fmt.Errorf("a tagged field of a nested structure cannot have the default %s", f.init)
	}
	return nil
}
