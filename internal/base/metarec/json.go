package metarec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// AppendJSON appends a message as Kafka's tools print it: the fields of the
// version in their order, tagged fields only if they are not the default, ids
// as 22 characters, bytes as base64. It serves tools and small files; it is
// not fast.
func AppendJSON(dst []byte, m Message, version int16) []byte {
	w := jsonWriter{dst: dst, version: version}
	w.structure(reflect.ValueOf(m).Elem(), reflect.ValueOf(ByName(m.MessageName())).Elem())
	return w.dst
}

type jsonWriter struct {
	dst     []byte
	version int16
}

// structure writes the fields of v; defaults is a value of the same type whose
// tagged fields tell what to leave out.
func (w *jsonWriter) structure(v, defaults reflect.Value) {
	w.dst = append(w.dst, '{')
	sep := ""
	for i := range v.NumField() {
		field := v.Type().Field(i)
		rec := parseRecTag(field.Tag.Get("rec"))
		value := v.Field(i)
		if !rec.holds(w.version) || rec.tagged && isDefault(value, defaults.Field(i), rec.nullable) {
			continue
		}
		w.dst = append(w.dst, sep+`"`+field.Tag.Get("json")+`":`...)
		w.value(value, rec.nullable)
		sep = ","
	}
	w.dst = append(w.dst, '}')
}

func isDefault(v, def reflect.Value, nullable bool) bool {
	if v.Kind() == reflect.Slice && !nullable {
		return v.Len() == 0
	}
	return reflect.DeepEqual(v.Interface(), def.Interface())
}

func (w *jsonWriter) value(v reflect.Value, nullable bool) {
	switch x := v.Interface().(type) {
	case kafka.UUID:
		w.dst = append(w.dst, `"`+x.String()+`"`...)
		return
	case []byte:
		if x != nil || !nullable {
			w.dst = append(w.dst, `"`+base64.StdEncoding.EncodeToString(x)+`"`...)
			return
		}
	}
	switch {
	case (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice && nullable) && v.IsNil():
		w.dst = append(w.dst, "null"...)
	case v.Kind() == reflect.Pointer:
		w.value(v.Elem(), false)
	case v.Kind() == reflect.Slice:
		w.array(v)
	case v.Kind() == reflect.Struct:
		w.structure(v, reflect.Zero(v.Type()))
	default:
		w.scalar(v)
	}
}

func (w *jsonWriter) array(v reflect.Value) {
	w.dst = append(w.dst, '[')
	for i := range v.Len() {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.value(v.Index(i), false)
	}
	w.dst = append(w.dst, ']')
}

func (w *jsonWriter) scalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		w.dst = strconv.AppendBool(w.dst, v.Bool())
	case reflect.String:
		w.dst = appendJSONString(w.dst, v.String())
	case reflect.Float64:
		w.dst = appendJSONFloat(w.dst, v.Float())
	case reflect.Uint16, reflect.Uint32:
		w.dst = strconv.AppendUint(w.dst, v.Uint(), 10)
	default:
		w.dst = strconv.AppendInt(w.dst, v.Int(), 10)
	}
}

// appendJSONString quotes s without the escapes that only HTML needs.
func appendJSONString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	// A string always encodes; what is not UTF-8 becomes the replacement sign.
	_ = enc.Encode(s)
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// appendJSONFloat writes whole numbers with a fraction, as Java does. What
// JSON has no number for becomes text.
func appendJSONFloat(dst []byte, f float64) []byte {
	switch whole := f == math.Trunc(f) && math.Abs(f) < 1e15; {
	case whole:
		return append(strconv.AppendFloat(dst, f, 'f', -1, 64), ".0"...)
	case math.IsNaN(f), math.IsInf(f, 0):
		return append(strconv.AppendFloat(append(dst, '"'), f, 'g', -1, 64), '"')
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// recTag is what the generator notes on a field beside its name: the versions
// that have it, if not all do, whether it is tagged, whether it may be null.
type recTag struct {
	all              bool
	min, max         int16
	tagged, nullable bool
}

func (t recTag) holds(version int16) bool { return t.all || t.min <= version && version <= t.max }

func parseRecTag(tag string) recTag {
	if tag == "" {
		return recTag{all: true}
	}
	var t recTag
	span, marks, _ := strings.Cut(tag, ",")
	if _, err := fmt.Sscanf(span, "%d-%d", &t.min, &t.max); err != nil {
		panic("rec tag " + tag)
	}
	t.tagged = strings.Contains(marks, "tagged")
	t.nullable = strings.Contains(marks, "nullable")
	return t
}
