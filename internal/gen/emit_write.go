package main

// write writes the method that appends a structure in field order, tagged
// fields last.
func (e *emitter) write(m *message, s *structure) {
	e.p("func (m *%s) write(w *writer, version int16) {", s.goName)
	for _, f := range s.fields {
		if f.tag < 0 {
			e.writeField(m, f)
		}
	}
	for _, f := range s.fields {
		if f.tag >= 0 && m.within(f.versions) != "" && !f.ignorable {
			e.p("if %s && %s { w.absent(%q) }", m.without(f.versions), f.isSet(), f.name)
		}
	}
	if m.flex != noFlex {
		e.writeTags(m, s)
	}
	e.p("}\n")
}

// writeField writes a field at the versions that have it. At the others a
// value that is not the default is refused, unless it may be lost.
func (e *emitter) writeField(m *message, f *field) {
	cond := m.within(f.versions)
	if cond != "" {
		e.p("if %s {", cond)
	}
	e.writeValue(m, f)
	switch {
	case cond != "" && f.ignorable:
		e.p("}")
	case cond != "":
		e.p("} else if %s { w.absent(%q) }", f.isSet(), f.name)
	}
}

// isSet is the Go condition for a field that differs from its default.
func (f *field) isSet() string {
	name := "m." + exported(f.name)
	switch {
	case f.init == emptyStruct:
		return "!" + name + ".isDefault()"
	case f.nullable:
		return name + " != nil"
	case f.array, f.elem == "bytes", f.elem == "string":
		return "len(" + name + ") > 0"
	case f.elem == "uuid":
		return "!" + name + ".IsZero()"
	case f.elem == "bool" && f.initial() == "":
		return name
	case f.elem == "bool":
		return "!" + name
	case f.initial() == "":
		return name + " != 0"
	}
	return name + " != " + f.initial()
}

func (e *emitter) writeValue(m *message, f *field) {
	name := "m." + exported(f.name)
	switch {
	case f.array:
		if f.nullable {
			e.p("w.nullableArray(len(%s), %s == nil, %s)", name, name, m.flexible())
		} else {
			e.p("w.array(len(%s), %s)", name, m.flexible())
		}
		e.p("for i := range %s { %s }", name, writeOne(m, f, name+"[i]"))
	case f.nullable && f.of != nil:
		e.p("if w.%s(%s != nil) { %s }", f.presence(), name, writeOne(m, f, name))
	case f.nullable:
		e.p("w.nullable%s(%s, %s)", exported(kinds[f.elem].method), name, m.flexible())
	default:
		e.p("%s", writeOne(m, f, name))
	}
}

// presence is the method of reader and writer for the mark before a structure
// that may be null, which differs in tagged fields.
func (f *field) presence() string {
	if f.tag >= 0 {
		return "presentInTag"
	}
	return "present"
}

// isDefault writes the method that tells a structure of defaults from others
// and from null.
func (e *emitter) isDefault(s *structure) {
	e.p("func (m *%s) isDefault() bool {\nif m == nil { return false }", s.goName)
	for _, f := range s.fields {
		e.p("if %s { return false }", f.isSet())
	}
	e.p("return true\n}\n")
}

// writeOne is the Go statement that writes a value that is not null.
func writeOne(m *message, f *field, name string) string {
	if f.of != nil {
		return name + ".write(w, version)"
	}
	if kinds[f.elem].size == 0 {
		return "w." + kinds[f.elem].method + "(" + name + ", " + m.flexible() + ")"
	}
	return "w." + kinds[f.elem].method + "(" + name + ")"
}

// writeTags writes the number of tagged fields that are set, then each of them
// in the order of the tags.
func (e *emitter) writeTags(m *message, s *structure) {
	tagged := s.tagged()
	guard := m.flexible()
	if guard != "true" {
		e.p("if %s {", guard)
	}
	if len(tagged) == 0 {
		e.p("w.uvarint(0)")
	} else {
		e.p("n := uint32(0)")
		for _, f := range tagged {
			e.p("if %s { n++ }", m.tagWritten(f))
		}
		e.p("w.uvarint(n)")
	}
	for _, f := range tagged {
		e.p("if %s {", m.tagWritten(f))
		e.p("at := w.beginTag(%d)", f.tag)
		e.writeValue(m, f)
		e.p("w.endTag(at)\n}")
	}
	if guard != "true" {
		e.p("}")
	}
}

func (m *message) tagWritten(f *field) string {
	if cond := m.within(f.versions); cond != "" && cond != m.flexible() {
		return cond + " && " + f.isSet()
	}
	return f.isSet()
}

// tagged returns the tagged fields in the order of their tags.
func (s *structure) tagged() []*field {
	var list []*field
	for tag := range 64 {
		for _, f := range s.fields {
			if f.tag == tag {
				list = append(list, f)
			}
		}
	}
	return list
}
