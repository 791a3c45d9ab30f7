package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// goTypeOf is the struct that kmsg decodes a message into.
func goTypeOf(m *message) (reflect.Type, error) {
	var v any = kmsg.RequestForKey(int16(m.key))
	if !m.request {
		v = kmsg.ResponseForKey(int16(m.key))
	}
	if v == nil {
		return nil, fmt.Errorf("no body for %s", m.name)
	}
	return reflect.TypeOf(v).Elem(), nil
}

// sizes fills memory with the heap bytes that each array element, or struct
// behind a pointer, takes once decoded. Only fields with structure of their
// own need to be paired; they are paired by name, or in order where the names differ and
// both sides have as many.
func sizes(where string, fields []*field, t reflect.Type, memory map[*field]int) error {
	var ours []*field
	for _, f := range fields {
		if f.structured() {
			ours = append(ours, f)
		} else if f.array {
			memory[f] = scalarSize(f.typ)
		}
	}
	theirs := structuredFields(t)
	for i, f := range ours {
		sf, ok := pair(f, i, len(ours), theirs)
		if !ok {
			return fmt.Errorf("%s.%s: no field of %s fits", where, f.name, t)
		}
		elem := sf.Type
		if elem.Kind() == reflect.Slice || elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
			memory[f] = max(memory[f], int(elem.Size())) // a shared struct has several types
		}
		if err := sizes(where+"."+f.name, f.children, elem, memory); err != nil {
			return err
		}
	}
	return nil
}

func structuredFields(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for i := range t.NumField() {
		sf := t.Field(i)
		e := sf.Type
		if e.Kind() == reflect.Slice || e.Kind() == reflect.Pointer {
			e = e.Elem()
		}
		if e.Kind() == reflect.Struct && sf.Name != "UnknownTags" {
			out = append(out, sf)
		}
	}
	return out
}

func pair(f *field, i, n int, theirs []reflect.StructField) (reflect.StructField, bool) {
	name := f.name
	if theirName, ok := renamed[name]; ok {
		name = theirName
	}
	for _, sf := range theirs {
		if plain(sf.Name) == plain(name) {
			return sf, true
		}
	}
	if n == len(theirs) {
		return theirs[i], true
	}
	return reflect.StructField{}, false
}

// renamed lists fields whose name in kmsg is another one, by Kafka's name.
var renamed = map[string]string{
	"V3AndBelowTopics":         "Topics",
	"ResultsByTransaction":     "Transactions",
	"ResultsByTopicV3AndBelow": "Topics",
}

// plain makes names comparable: case and the plural do not count.
func plain(s string) string { return strings.TrimSuffix(strings.ToLower(s), "s") }

// scalarSize is the memory of one element of a slice of scalars. Slices of
// strings and bytes hold headers; their bytes are counted where they are read.
func scalarSize(typ string) int {
	switch typ {
	case "string":
		return int(reflect.TypeFor[string]().Size())
	case "bytes", "records":
		return int(reflect.TypeFor[[]byte]().Size())
	}
	return scalars[typ]
}
