package main

import "fmt"

// read writes the method that reads a structure over its defaults.
func (e *emitter) read(m *message, s *structure) {
	e.p("func (m *%s) read(r *reader, version int16) {", s.goName)
	for _, f := range s.fields {
		if f.tag >= 0 {
			continue
		}
		if cond := m.within(f.versions); cond != "" {
			e.p("if %s {", cond)
			e.readValue(m, f)
			e.p("}")
			continue
		}
		e.readValue(m, f)
	}
	if m.flex != noFlex {
		e.readTags(m, s)
	}
	e.p("}\n")
}

func (e *emitter) readValue(m *message, f *field) {
	name := "m." + exported(f.name)
	switch {
	case f.array:
		if f.nullable {
			e.p("if n, ok := r.nullableArray(%s, %d); ok {", m.flexible(), m.leastBytes(f))
		} else {
			e.p("if n := r.array(%s, %d); n > 0 {", m.flexible(), m.leastBytes(f))
		}
		e.p("%s = make(%s, n)", name, f.goType())
		e.p("for i := range %s {\n%s\n}\n}", name, readOne(m, f, name+"[i]"))
	case f.nullable && f.of != nil:
		e.p("%s = nil", name)
		e.p("if r.%s() { %s = new(%s); %s }", f.presence(), name, f.of.goName, readOne(m, f, name))
	case f.nullable:
		e.p("%s = r.nullable%s(%s)", name, exported(kinds[f.elem].method), m.flexible())
	default:
		e.p("%s", readOne(m, f, name))
	}
}

// readOne is the Go statement that reads a value that is not null.
func readOne(m *message, f *field, name string) string {
	switch {
	case f.of != nil && f.of.hasDefaults():
		return name + ".reset(); " + name + ".read(r, version)"
	case f.of != nil:
		return name + ".read(r, version)"
	case kinds[f.elem].size == 0:
		return fmt.Sprintf("%s = r.%s(%s)", name, kinds[f.elem].method, m.flexible())
	}
	return fmt.Sprintf("%s = r.%s()", name, kinds[f.elem].method)
}

func (s *structure) hasDefaults() bool {
	for _, f := range s.fields {
		if f.initial() != "" || f.of != nil && !f.array && !f.nullable && f.of.hasDefaults() {
			return true
		}
	}
	return false
}

// readTags reads the tagged fields that the version knows and skips the rest.
func (e *emitter) readTags(m *message, s *structure) {
	guard := m.flexible()
	if guard != "true" {
		e.p("if %s {", guard)
	}
	if tagged := s.tagged(); len(tagged) == 0 {
		e.p("r.skipTags()")
	} else {
		e.p("for n := r.tags(); n > 0; n-- {\ntag, end := r.tag()\nswitch {")
		for _, f := range tagged {
			cond := fmt.Sprintf("tag == %d", f.tag)
			if within := m.within(f.versions); within != "" && within != guard {
				cond += " && " + within
			}
			e.p("case %s:", cond)
			e.readValue(m, f)
		}
		e.p("default:\nr.skipTo(end)\n}\nr.endTag(end)\n}")
	}
	if guard != "true" {
		e.p("}")
	}
}
