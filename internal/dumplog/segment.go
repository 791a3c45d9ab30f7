package dumplog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// segmentHead is what the name of a segment or a metadata snapshot tells.
type segmentHead struct {
	// Start is the offset of a segment's first record, End and Epoch are those
	// of a snapshot: what lies below it in the log.
	Start *kafka.Offset `json:"startOffset,omitempty"`
	End   *kafka.Offset `json:"snapshotEndOffset,omitempty"`
	Epoch *kafka.Epoch  `json:"snapshotEpoch,omitempty"`
}

func (segmentHead) kind() string { return "segment" }

func (h segmentHead) text(dst []byte) []byte {
	if h.End != nil {
		return fmt.Appendf(dst, "Snapshot end offset: %d, epoch: %d", *h.End, *h.Epoch)
	}
	return fmt.Appendf(dst, "Log starting offset: %d", *h.Start)
}

func (d *dumper) segmentHead() segmentHead {
	name, ext := plainName(d.path)
	if ext == ".log" {
		start := d.base()
		return segmentHead{Start: &start}
	}
	var end kafka.Offset
	var epoch kafka.Epoch
	// bootstrap.checkpoint has no numbers: it is a snapshot of an empty log.
	_, _ = fmt.Sscanf(name, "%d-%d.", &end, &epoch)
	return segmentHead{End: &end, Epoch: &epoch}
}

// batchItem is one record batch.
type batchItem struct {
	Position      int64            `json:"position"`
	Size          int              `json:"size"` // bytes
	BaseOffset    kafka.Offset     `json:"baseOffset"`
	LastOffset    kafka.Offset     `json:"lastOffset"`
	Count         int32            `json:"count"`
	LeaderEpoch   kafka.Epoch      `json:"partitionLeaderEpoch"`
	TimestampType string           `json:"timestampType"`
	MaxTimestamp  int64            `json:"maxTimestamp"` // milliseconds
	ProducerID    kafka.ProducerID `json:"producerId"`
	ProducerEpoch int16            `json:"producerEpoch"`
	BaseSequence  int32            `json:"baseSequence"`
	LastSequence  int32            `json:"lastSequence"`
	Transactional bool             `json:"isTransactional"`
	Control       bool             `json:"isControl"`
	DeleteHorizon *int64           `json:"deleteHorizonMs"`
	Magic         int8             `json:"magic"`
	Codec         string           `json:"compressionCodec"`
	CRC           uint32           `json:"crc"`
	Valid         bool             `json:"isValid"` // the checksum is right
}

func (batchItem) kind() string { return "batch" }

func (b batchItem) text(dst []byte) []byte {
	horizon := optional(0, false)
	if b.DeleteHorizon != nil {
		horizon = optional(*b.DeleteHorizon, true)
	}
	dst = appendPair(dst, "baseOffset", int64(b.BaseOffset))
	dst = appendPair(dst, "lastOffset", int64(b.LastOffset))
	dst = appendPair(dst, "count", int64(b.Count))
	dst = appendPair(dst, "baseSequence", int64(b.BaseSequence))
	dst = appendPair(dst, "lastSequence", int64(b.LastSequence))
	dst = appendPair(dst, "producerId", int64(b.ProducerID))
	dst = appendPair(dst, "producerEpoch", int64(b.ProducerEpoch))
	dst = appendPair(dst, "partitionLeaderEpoch", int64(b.LeaderEpoch))
	dst = append(strconv.AppendBool(append(dst, " isTransactional: "...), b.Transactional), " isControl: "...)
	dst = append(strconv.AppendBool(dst, b.Control), " deleteHorizonMs: "+horizon...)
	dst = appendPair(dst, "position", b.Position)
	dst = appendPair(dst, b.TimestampType, b.MaxTimestamp)
	dst = appendPair(dst, "size", int64(b.Size))
	dst = appendPair(dst, "magic", int64(b.Magic))
	dst = append(dst, " compresscodec: "+b.Codec...)
	dst = appendPair(dst, "crc", int64(b.CRC))
	return strconv.AppendBool(append(dst, " isvalid: "...), b.Valid)
}

func newBatchItem(h batch.Header, position int64, valid bool) batchItem {
	b := batchItem{
		Position: position, Size: h.Size(), BaseOffset: h.BaseOffset, LastOffset: h.Last(), Count: h.Count,
		LeaderEpoch: h.LeaderEpoch, TimestampType: timestampType(h), MaxTimestamp: h.MaxTimestamp,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence, LastSequence: h.LastSequence(),
		Transactional: h.Transactional(), Control: h.Control(), Magic: h.Magic, Codec: codecName(h.Codec()), CRC: h.CRC, Valid: valid,
	}
	if ms, set := h.DeleteHorizon(); set {
		b.DeleteHorizon = &ms
	}
	return b
}

func timestampType(h batch.Header) string {
	if h.LogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

func codecName(c batch.Codec) string {
	if c.Valid() {
		return c.String()
	}
	return "unknown(" + strconv.Itoa(int(c)) + ")"
}

// segment prints a segment of a log or a snapshot of the metadata, which have
// the same form: batches back to back.
func (d *dumper) segment() error {
	d.put(d.segmentHead())
	decoder := d.opt.Decoder
	if decoder == DecodeByFolder {
		decoder = decoderFor(d.path)
	}
	deep := d.opt.Deep || d.opt.Data || decoder != DecodeByFolder
	records := recordDumper{d: d, decoder: decoder}
	scan := newScanner(d.file, d.size)
	for d.opt.MaxBytes <= 0 || scan.position < d.opt.MaxBytes {
		b, err := scan.next(true)
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, errZeros):
			return d.zeros(scan.position)
		case errors.Is(err, errBroken):
			d.problem(scan.position, "%w; %d bytes from here on are not read", err, d.size-scan.position)
			return nil
		case err != nil:
			return err
		}
		valid := batch.CheckCRC(b.bytes)
		if !d.put(newBatchItem(b.Header, b.position, valid)) || !d.checkBatch(scan, b, valid) {
			return nil
		}
		if deep && valid && !records.dump(b) {
			return nil
		}
	}
	return nil
}

// checkBatch reports what is wrong with a batch whose size can be believed, and
// tells whether to go on.
func (d *dumper) checkBatch(scan *scanner, b found, valid bool) bool {
	goOn := true
	if !valid {
		goOn = d.problem(b.position, "checksum of the batch at offset %d is wrong; its records are left out", b.BaseOffset)
	}
	if b.BaseOffset < scan.least {
		goOn = d.problem(b.position, "batch at offset %d follows offset %d", b.BaseOffset, scan.least-1)
	}
	scan.least = max(scan.least, b.End())
	return goOn
}

// found is a batch with its place in the file.
type found struct {
	batch.Header
	position int64
	bytes    []byte // the whole batch; nil if only the header was asked for
}

var (
	// errZeros means that zeros stand where a batch should begin.
	errZeros = errors.New("zeros")
	// errBroken means that no batch stands at the position, or not all of it.
	errBroken = errors.New("no whole batch")
)

// scanner walks the batches of a file with one buffer.
type scanner struct {
	r        *bufio.Reader
	size     int64
	position int64 // of the batch that next returns
	// least is the lowest offset that may follow.
	least kafka.Offset
	buf   []byte
}

func newScanner(f io.ReaderAt, size int64) *scanner {
	return &scanner{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 64<<10), size: size}
}

// next returns the next batch, whole or its header only. It lives until the
// next call. At the end of the file the error is io.EOF.
func (s *scanner) next(whole bool) (found, error) {
	left := s.size - s.position
	if left == 0 {
		return found{}, io.EOF
	}
	head, err := s.r.Peek(int(min(left, batch.HeaderSize)))
	if err != nil {
		return found{}, err
	}
	if isZero(head) {
		return found{}, errZeros
	}
	h, err := batch.ParseHeader(head)
	switch {
	case err != nil:
		return found{}, fmt.Errorf("%w: %w", errBroken, err)
	case int64(h.Size()) > left:
		return found{}, fmt.Errorf("%w: batch of %d bytes at offset %d, file has %d more", errBroken, h.Size(), h.BaseOffset, left)
	}
	b := found{Header: h, position: s.position}
	if whole {
		b.bytes, err = s.take(h.Size())
	} else {
		_, err = s.r.Discard(h.Size())
	}
	s.position += int64(h.Size())
	return b, err
}

// take reads the next n bytes, which the file has.
func (s *scanner) take(n int) ([]byte, error) {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	s.buf = s.buf[:n]
	_, err := io.ReadFull(s.r, s.buf)
	return s.buf, err
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
