package dumplog

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// recordItem is one record.
type recordItem struct {
	Offset        kafka.Offset     `json:"offset"`
	TimestampType string           `json:"timestampType"`
	Timestamp     int64            `json:"timestamp"` // milliseconds
	KeySize       int              `json:"keySize"`   // bytes, -1 for null
	ValueSize     int              `json:"valueSize"` // bytes, -1 for null
	Sequence      int32            `json:"sequence"`
	Headers       []headerItem     `json:"headers"`
	Control       *controlItem     `json:"control,omitempty"`
	Key           *json.RawMessage `json:"key,omitempty"`
	Value         *json.RawMessage `json:"value,omitempty"`
	// KeyBase64 and ValueBase64 stand for bytes that are not UTF-8.
	KeyBase64   []byte `json:"keyBase64,omitempty"`
	ValueBase64 []byte `json:"valueBase64,omitempty"`

	// payload is the text of key and value.
	payload  string
	dataOnly bool
}

type headerItem struct {
	Key   string `json:"key"`
	Value []byte `json:"valueBase64"` // null stays null
}

// controlItem is what a control record says.
type controlItem struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

func (recordItem) kind() string { return "record" }

func (r recordItem) text(dst []byte) []byte {
	if r.dataOnly {
		return append(append(dst, '|'), r.payload...)
	}
	dst = append(dst, '|')
	dst = appendPair(dst, "offset", int64(r.Offset))
	dst = appendPair(dst, r.TimestampType, r.Timestamp)
	dst = appendPair(dst, "keySize", int64(r.KeySize))
	dst = appendPair(dst, "valueSize", int64(r.ValueSize))
	dst = appendPair(dst, "sequence", int64(r.Sequence))
	dst = append(dst, " headerKeys: ["...)
	for i, h := range r.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPrintable(dst, []byte(h.Key))
	}
	return append(append(dst, ']'), r.payload...)
}

// recordDumper prints the records of one segment.
type recordDumper struct {
	d       *dumper
	decoder Decoder
	records batch.Decoder
}

// dump prints the records of a batch and tells whether to go on.
func (r *recordDumper) dump(b found) bool {
	count := int32(0)
	for rec, err := range r.records.Records(b.bytes) {
		if err != nil {
			return r.d.problem(b.position, "records of the batch at offset %d: %w", b.BaseOffset, err)
		}
		count++
		it, err := r.item(b.Header, rec)
		if err != nil && !r.d.problem(b.position, "record at offset %d: %w", rec.Offset, err) {
			return false
		}
		if !r.d.put(it) {
			return false
		}
	}
	if count != b.Count {
		return r.d.problem(b.position, "batch at offset %d has %d records and says %d", b.BaseOffset, count, b.Count)
	}
	return true
}

func (r *recordDumper) item(h batch.Header, rec batch.Record) (recordItem, error) {
	it := recordItem{
		Offset: rec.Offset, TimestampType: timestampType(h), Timestamp: rec.Timestamp,
		KeySize: sizeOf(rec.Key), ValueSize: sizeOf(rec.Value), Sequence: batch.NoSequence,
		Headers: make([]headerItem, len(rec.Headers)), dataOnly: r.d.opt.SkipRecordMetadata,
	}
	if h.BaseSequence != batch.NoSequence {
		it.Sequence = batch.AddSequence(h.BaseSequence, rec.OffsetDelta)
	}
	for i, header := range rec.Headers {
		it.Headers[i] = headerItem{header.Key, header.Value}
	}
	switch {
	case h.Control():
		return it, it.control(rec)
	case r.decoder != DecodeByFolder:
		return it, it.decoded(r.decoder, rec)
	case r.d.opt.Data:
		it.plain(rec)
	}
	return it, nil
}

func sizeOf(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// plain shows key and value of a user's record.
func (it *recordItem) plain(rec batch.Record) {
	var text []byte
	if rec.Key != nil {
		text = appendPrintable(append(text, " key: "...), rec.Key)
	}
	if rec.Value != nil {
		text = appendPrintable(append(text, " payload: "...), rec.Value)
	}
	it.payload = string(text)
	it.Key, it.KeyBase64 = jsonOf(rec.Key)
	it.Value, it.ValueBase64 = jsonOf(rec.Value)
}

// jsonOf is a JSON string, or null, or the bytes if they are no text.
func jsonOf(b []byte) (*json.RawMessage, []byte) {
	raw := json.RawMessage("null")
	switch {
	case b == nil:
	case !utf8.Valid(b):
		return nil, b
	default:
		raw = quoteJSON(string(b))
	}
	return &raw, nil
}

// control shows a control record.
func (it *recordItem) control(rec batch.Record) error {
	t, err := batch.ParseControlKey(rec.Key)
	if err != nil {
		return err
	}
	it.Control = &controlItem{Type: t.String()}
	m, version, err := metarec.ReadControlValue(int16(t), rec.Value)
	if err != nil {
		it.payload = " controlType: " + t.String()
		return err
	}
	it.Control.Data = metarec.AppendJSON(nil, m, version)
	it.payload = " " + controlText(t, it.Control.Data, m)
	if it.dataOnly {
		it.payload = ""
	}
	return nil
}

func controlText(t batch.ControlType, data []byte, m metarec.Message) string {
	switch m := m.(type) {
	case *metarec.EndTxnMarker:
		return "endTxnMarker: " + t.String() + " coordinatorEpoch: " + strconv.Itoa(int(m.CoordinatorEpoch))
	case *metarec.LeaderChangeMessage:
		return "LeaderChange: " + string(data)
	case *metarec.VotersRecord:
		return "KRaftVoters " + string(data)
	}
	return strings.TrimSuffix(m.MessageName(), "Record") + " " + string(data)
}

// decoded shows a record of one of Kafka's own logs.
func (it *recordItem) decoded(decoder Decoder, rec batch.Record) error {
	key, value, err := decoder.decode(rec.Key, rec.Value)
	if err != nil {
		// The bytes are shown as those of a user would be.
		it.plain(rec)
		return err
	}
	if key != nil {
		it.Key = &key
		it.payload = " key: " + string(key)
	}
	it.payload += " payload: " + string(value)
	if string(value) == deleted {
		value = json.RawMessage("null")
	}
	it.Value = &value
	return nil
}
