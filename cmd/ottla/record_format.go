package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recordFormat is how consume prints a record: the parts that are asked for,
// in the order of kafka-console-consumer, or a JSON object.
type recordFormat struct {
	json                                              bool
	timestamp, partition, offset, headers, key, value bool
	separator, line, null                             string
	buf                                               strings.Builder
}

func newRecordFormat(properties []string, asJSON bool) (*recordFormat, error) {
	given, err := pairs("property", properties)
	if err != nil {
		return nil, err
	}
	f := &recordFormat{json: asJSON, value: true, separator: "\t", line: "\n", null: "null"}
	switches := map[string]*bool{
		"print.timestamp": &f.timestamp, "print.partition": &f.partition, "print.offset": &f.offset,
		"print.headers": &f.headers, "print.key": &f.key, "print.value": &f.value,
	}
	texts := map[string]*string{"key.separator": &f.separator, "line.separator": &f.line, "null.literal": &f.null}
	for name, value := range given {
		on, isSwitch := switches[name]
		text, isText := texts[name]
		switch {
		case isSwitch && (value == "true" || value == "false"):
			*on = value == "true"
		case isSwitch:
			return nil, fmt.Errorf("--property %s must be true or false, not %q", name, value)
		case isText:
			*text = strings.NewReplacer(`\t`, "\t", `\n`, "\n").Replace(value)
		default:
			return nil, fmt.Errorf("--property %s is not known (allowed: print.key, print.value, print.partition, print.offset, print.timestamp, print.headers, key.separator, line.separator, null.literal)", name)
		}
	}
	return f, nil
}

func (f *recordFormat) print(w io.Writer, r *kgo.Record) error {
	if f.json {
		return printRecordJSON(w, r)
	}
	f.buf.Reset()
	if f.timestamp {
		kind := "CreateTime"
		if r.Attrs.TimestampType() == 1 {
			kind = "LogAppendTime"
		}
		f.part(fmt.Sprintf("%s:%d", kind, r.Timestamp.UnixMilli()))
	}
	if f.partition {
		f.part(fmt.Sprintf("Partition:%d", r.Partition))
	}
	if f.offset {
		f.part(fmt.Sprintf("Offset:%d", r.Offset))
	}
	if f.headers {
		f.part(f.headerText(r.Headers))
	}
	if f.key {
		f.part(f.text(r.Key))
	}
	if f.value {
		f.part(f.text(r.Value))
	}
	f.buf.WriteString(f.line)
	_, err := io.WriteString(w, f.buf.String())
	return err
}

func (f *recordFormat) part(text string) {
	if f.buf.Len() > 0 {
		f.buf.WriteString(f.separator)
	}
	f.buf.WriteString(text)
}

func (f *recordFormat) text(b []byte) string {
	if b == nil {
		return f.null
	}
	return string(b)
}

func (f *recordFormat) headerText(headers []kgo.RecordHeader) string {
	if len(headers) == 0 {
		return "NO_HEADERS"
	}
	var parts []string
	for _, h := range headers {
		parts = append(parts, h.Key+":"+f.text(h.Value))
	}
	return strings.Join(parts, ",")
}

// jsonHeader is a header of a record as JSON.
type jsonHeader struct {
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	ValueBase64 []byte  `json:"value_base64,omitempty"`
}

// printRecordJSON writes a record as one line. Keys and values are texts; bytes
// that are no UTF-8 stand in base64 in a field of their own, since JSON has no
// text for them, and the text is null.
func printRecordJSON(w io.Writer, r *kgo.Record) error {
	key, keyBytes := textOrBytes(r.Key)
	value, valueBytes := textOrBytes(r.Value)
	var headers []jsonHeader
	for _, h := range r.Headers {
		text, bytes := textOrBytes(h.Value)
		headers = append(headers, jsonHeader{h.Key, text, bytes})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Topic       string       `json:"topic"`
		Partition   int32        `json:"partition"`
		Offset      int64        `json:"offset"`
		Timestamp   time.Time    `json:"timestamp"`
		Key         *string      `json:"key"`
		KeyBase64   []byte       `json:"key_base64,omitempty"`
		Value       *string      `json:"value"`
		ValueBase64 []byte       `json:"value_base64,omitempty"`
		Headers     []jsonHeader `json:"headers,omitempty"`
	}{r.Topic, r.Partition, r.Offset, r.Timestamp.UTC(), key, keyBytes, value, valueBytes, headers})
}

// textOrBytes is b as a text if it is one, else b; neither for a null.
func textOrBytes(b []byte) (*string, []byte) {
	switch {
	case b == nil:
		return nil, nil
	case utf8.Valid(b):
		text := string(b)
		return &text, nil
	}
	return nil, b
}
