package main

import "fmt"

// family is one schema file: messages that are stored in the same place and
// generated into the same Go file.
type family struct {
	name     string
	doc      []string
	messages []*message
}

// message is one record, key or value with all its versions.
type message struct {
	name     string
	doc      []string
	role     role
	typ      int // number on disk, -1 if the message has none
	versions span
	flex     int // first flexible version, noFlex if there is none
	body     *structure
	// structs are the body's nested structures, each once, in the order of
	// their first use.
	structs []*structure
}

// noFlex is past every version: the message is never flexible.
const noFlex = 1 << 15

// role tells which list of types the number of a message belongs to.
type role string

const (
	roleNone    role = ""
	roleRecord  role = "record"
	roleControl role = "control"
	roleKey     role = "key"
	roleValue   role = "value"
)

// structure is a list of fields: the body of a message or a part of it.
type structure struct {
	name   string // as the schema has it
	goName string
	doc    []string
	fields []*field
}

// field is one field of a structure.
type field struct {
	name      string
	elem      string     // kind of the field, or of its elements
	of        *structure // set if elem names a structure
	array     bool
	nullable  bool
	versions  span
	tag       int    // -1 if the field is not tagged
	init      string // as the schema has it
	ignorable bool
	doc       string
}

// span is a closed range of versions.
type span struct{ min, max int }

func (s span) holds(v int) bool { return s.min <= v && v <= s.max }

func (s span) covers(o span) bool { return s.min <= o.min && o.max <= s.max }

// kind describes how a scalar looks in Go and on disk.
type kind struct {
	goType string
	method string // of reader and writer
	size   int    // bytes on disk; 0: a length and as many bytes
}

var kinds = map[string]kind{
	"bool":    {"bool", "bool", 1},
	"int8":    {"int8", "int8", 1},
	"int16":   {"int16", "int16", 2},
	"uint16":  {"uint16", "uint16", 2},
	"int32":   {"int32", "int32", 4},
	"uint32":  {"uint32", "uint32", 4},
	"int64":   {"int64", "int64", 8},
	"float64": {"float64", "float64", 8},
	"uuid":    {"kafka.UUID", "uuid", 16},
	"string":  {"string", "string", 0},
	"bytes":   {"[]byte", "bytes", 0},
}

// goType is the type of the field in the generated struct.
func (f *field) goType() string {
	elem := kinds[f.elem].goType
	if f.of != nil {
		elem = f.of.goName
	}
	switch {
	case f.array:
		return "[]" + elem
	case f.nullable && f.elem != "bytes":
		return "*" + elem
	}
	return elem
}

// emptyStruct is the default of a nullable structure that is a structure of
// defaults and not null.
const emptyStruct = "empty"

// initial is the Go text of the field's default if it is not the zero value.
func (f *field) initial() string {
	switch f.init {
	case "0", "false":
		return ""
	case emptyStruct:
		return "&" + f.of.goName + "{}"
	}
	return f.init
}

// flexible is the Go condition under which lengths are compact and tagged
// fields follow.
func (m *message) flexible() string {
	switch {
	case m.flex == noFlex:
		return "false"
	case m.flex <= m.versions.min:
		return "true"
	}
	return fmt.Sprintf("version >= %d", m.flex)
}

// within is the Go condition for being at a version of s, empty if every
// version of the message is.
func (m *message) within(s span) string {
	low, high := s.min > m.versions.min, s.max < m.versions.max
	switch {
	case low && high && s.min == s.max:
		return fmt.Sprintf("version == %d", s.min)
	case low && high:
		return fmt.Sprintf("version >= %d && version <= %d", s.min, s.max)
	case low:
		return fmt.Sprintf("version >= %d", s.min)
	case high:
		return fmt.Sprintf("version <= %d", s.max)
	}
	return ""
}

// without is the Go condition for being at a version outside of s, which does
// not hold every version of the message.
func (m *message) without(s span) string {
	low, high := s.min > m.versions.min, s.max < m.versions.max
	switch {
	case low && high:
		return fmt.Sprintf("(version < %d || version > %d)", s.min, s.max)
	case low:
		return fmt.Sprintf("version < %d", s.min)
	}
	return fmt.Sprintf("version > %d", s.max)
}

// leastBytes is the smallest number of bytes one element of an array can take
// on disk, at any version. It bounds how many elements a length may promise.
func (m *message) leastBytes(f *field) int {
	least := 1 << 20
	for v := m.versions.min; v <= m.versions.max; v++ {
		if f.versions.holds(v) {
			least = min(least, m.elementBytes(f, v))
		}
	}
	return max(least, 1)
}

func (m *message) elementBytes(f *field, version int) int {
	flexible := version >= m.flex
	if f.of == nil {
		return scalarBytes(f.elem, flexible)
	}
	sum := 0
	for _, part := range f.of.fields {
		if part.versions.holds(version) && part.tag < 0 {
			sum += m.fieldBytes(part, version)
		}
	}
	if flexible {
		sum++ // number of tagged fields
	}
	return sum
}

func (m *message) fieldBytes(f *field, version int) int {
	flexible := version >= m.flex
	switch {
	case f.array && flexible, f.of != nil && f.nullable:
		return 1
	case f.array:
		return 4
	}
	return m.elementBytes(f, version)
}

func scalarBytes(kindName string, flexible bool) int {
	switch k := kinds[kindName]; {
	case k.size > 0:
		return k.size
	case flexible:
		return 1
	case kindName == "string":
		return 2
	}
	return 4
}
