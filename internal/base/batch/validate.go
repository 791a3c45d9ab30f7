package batch

import (
	"github.com/ottla/ottla/internal/base/kerr"
)

// Policy is what a topic asks of the batches that clients send to it.
type Policy struct {
	MaxBytes        int   // max.message.bytes: of the batch as sent and as stored
	MaxDecompressed int   // max.decompressed.message.bytes; DefaultLimit bounds it
	Now             int64 // ms since 1970
	BeforeMax       int64 // ms: message.timestamp.before.max.ms
	AfterMax        int64 // ms: message.timestamp.after.max.ms
	LogAppendTime   bool  // message.timestamp.type
	Compacted       bool  // every record needs a key
	NoZstd          bool  // the request is older than zstd (KIP-110)
	Recompress      bool  // compression.type is not "producer"
	Codec           Codec // what compression.type names, when Recompress
	Level           int   // of Codec
}

// Produced is a batch that may be appended.
type Produced struct {
	// Batch is what to store: the bytes that were sent, with their time fields
	// set, or a rebuilt batch in a buffer of its own.
	Batch   []byte
	Header  Header
	Rebuilt bool
	// MaxOffsetDelta is the first record with the largest timestamp.
	MaxOffsetDelta int32
}

// RecordProblem says what is wrong with one record, by its place in the batch.
type RecordProblem struct {
	Index   int32
	Message string
}

// RecordsError refuses a batch because of some of its records (KIP-467). It
// unwraps to a kerr.Error with the code and a message for the batch.
type RecordsError struct {
	Problems []RecordProblem
	err      error
}

func (e *RecordsError) Error() string { return e.err.Error() }

// Unwrap lets kerr find the code and the message.
func (e *RecordsError) Unwrap() error { return e.err }

// maxProblems bounds how many records of one batch are named in an answer.
const maxProblems = 64

// ValidateProduce checks what a client sent for one partition and makes it ready
// for the log: exactly one whole batch of format 2 whose checksum, counts,
// offsets, sequences, codec, timestamps and keys are as Kafka demands. Times are
// set in b itself. Errors carry a kerr code and a message; nothing may be
// appended then. Offsets and leader epoch are left to the log.
func ValidateProduce(b []byte, p Policy) (Produced, error) {
	h, err := checkEnvelope(b, p)
	if err != nil {
		return Produced{}, err
	}
	if h.Codec() == None {
		return validateBody(b, h, b[HeaderSize:], p)
	}
	return validateCompressed(b, h, p)
}

// checkEnvelope makes the checks that need no records.
func checkEnvelope(b []byte, p Policy) (Header, error) {
	if len(b) == 0 {
		return Header{}, kerr.Errorf(kerr.InvalidRecord, "no batch was sent for the partition")
	}
	h, err := ParseHeader(b)
	switch {
	case err != nil && len(b) > atMagic && b[atMagic] != Magic:
		return h, kerr.Errorf(kerr.InvalidRecord, "message format %d is not accepted, only %d", int8(b[atMagic]), Magic)
	case err != nil || len(b) < h.Size():
		return h, kerr.Errorf(kerr.CorruptMessage, "the batch is cut short after %d bytes", len(b))
	case len(b) > h.Size():
		return h, kerr.Errorf(kerr.InvalidRecord, "more than one batch was sent for the partition")
	case p.MaxBytes > 0 && len(b) > p.MaxBytes:
		return h, kerr.Errorf(kerr.MessageTooLarge, "the batch has %d bytes, more than max.message.bytes %d", len(b), p.MaxBytes)
	case !CheckCRC(b):
		return h, kerr.Errorf(kerr.CorruptMessage, "the batch's checksum is wrong")
	}
	return h, checkHeader(h, p)
}

func checkHeader(h Header, p Policy) error {
	switch {
	case h.BaseOffset != 0:
		return kerr.Errorf(kerr.InvalidRecord, "the base offset is %d, not 0", h.BaseOffset)
	case h.Count <= 0 || h.Count-1 != h.LastOffsetDelta:
		return kerr.Errorf(kerr.InvalidRecord, "the batch counts %d records, but its last offset delta is %d", h.Count, h.LastOffsetDelta)
	case h.Control():
		return kerr.Errorf(kerr.InvalidRecord, "clients may not write control batches")
	case h.HasProducer() && h.BaseSequence < 0:
		return kerr.Errorf(kerr.InvalidRecord, "producer %d sent the sequence %d", h.ProducerID, h.BaseSequence)
	case h.Transactional() && !h.HasProducer():
		return kerr.Errorf(kerr.InvalidRecord, "a transactional batch has no producer id")
	case h.LogAppendTime():
		return kerr.Errorf(kerr.InvalidTimestamp, "clients may not set log append time")
	case !h.Codec().Valid():
		return kerr.Errorf(kerr.InvalidRecord, "the codec %d does not exist", h.Attributes&codecMask)
	case h.Codec() == Zstd && p.NoZstd:
		return kerr.Errorf(kerr.UnsupportedCompressionType, "zstd needs Produce version 7")
	}
	if _, set := h.DeleteHorizon(); set {
		return kerr.Errorf(kerr.InvalidRecord, "clients may not set a delete horizon")
	}
	return nil
}

func validateBody(b []byte, h Header, body []byte, p Policy) (Produced, error) {
	s, err := surveyRecords(h, body, p)
	if err != nil {
		return Produced{}, err
	}
	target, rebuilt, err := s.target(h, p)
	switch {
	case err != nil:
		return Produced{}, err
	case rebuilt:
		return rebuild(h, body, s, p, target)
	}
	return keep(b, h, s, p), nil
}

// target is the codec of what is stored, and whether the records must be written
// again for it.
func (s *survey) target(h Header, p Policy) (c Codec, rebuilt bool, err error) {
	switch {
	case p.Recompress && h.Codec() != p.Codec:
		return p.Codec, true, nil
	case s.consecutive:
		return h.Codec(), false, nil
	case h.Codec() == None:
		return None, false, kerr.Errorf(kerr.InvalidRecord, "the records' offsets do not count 0, 1, 2 ...")
	}
	return h.Codec(), true, nil
}

// keep stores the bytes as sent. The checksum is written again only when the
// client's idea of the largest timestamp was wrong, or time is the broker's.
func keep(b []byte, h Header, s survey, p Policy) Produced {
	switch {
	case p.LogAppendTime:
		SetAppendTime(b, p.Now)
		s.maxDelta = 0
	case h.MaxTimestamp != s.maxTimestamp:
		setMaxTimestamp(b, s.maxTimestamp)
	}
	stored, _ := ParseHeader(b)
	return Produced{Batch: b, Header: stored, MaxOffsetDelta: s.maxDelta}
}

// rebuild writes the records again: in another codec, or with offsets that
// count from 0.
func rebuild(h Header, body []byte, s survey, p Policy, codec Codec) (Produced, error) {
	level := DefaultLevel
	if p.Recompress && codec != h.Codec() {
		level = p.Level
	}
	opt := Options{Codec: codec, Level: level, LeaderEpoch: h.LeaderEpoch, Transactional: h.Transactional()}
	if h.HasProducer() {
		opt.Producer = &Producer{ID: h.ProducerID, Epoch: h.ProducerEpoch, Sequence: h.BaseSequence}
	}
	if p.LogAppendTime {
		opt.AppendTime, s.maxDelta = &p.Now, 0
	}
	w := NewBuilder(opt)
	c := cursor{b: body}
	for range h.Count {
		f, _ := c.next() // surveyRecords has been here
		w.Add(h.BaseTimestamp+f.timestampDelta, f.key, f.value, f.headerList()...)
	}
	out := w.Build(nil)
	if p.MaxBytes > 0 && len(out) > p.MaxBytes {
		return Produced{}, kerr.Errorf(kerr.MessageTooLarge, "the batch has %d bytes as %v, more than max.message.bytes %d", len(out), codec, p.MaxBytes)
	}
	stored, err := ParseHeader(out)
	return Produced{Batch: out, Header: stored, Rebuilt: true, MaxOffsetDelta: s.maxDelta}, err
}
