// Package compare holds the metadata of nodes of both kinds against each other: the
// logs of all nodes of a cluster, offset by offset; the bytes that either side
// writes for the same record; and the image that either side makes of the other's
// snapshot.
package compare

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
)

// Log is the metadata log of one node as its folder has it.
type Log struct {
	Name    string // of the node, for messages
	batches []stored
}

// stored is one batch, and where it lies.
type stored struct {
	header batch.Header
	bytes  []byte
}

// Record is one record of a log.
type Record struct {
	Offset int64
	// Control is the type of a control record, -1 of one that holds metadata.
	Control int16
	Value   []byte
}

// ReadLog reads the segments of a folder __cluster_metadata-0. What is behind the
// last whole batch is not looked at.
func ReadLog(name, folder string) (Log, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return Log{}, err
	}
	if len(files) == 0 {
		return Log{}, fmt.Errorf("%s has no segments in %s", name, folder)
	}
	slices.Sort(files)
	l := Log{Name: name}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return Log{}, err
		}
		for h, whole := range batch.All(b) {
			if !batch.CheckCRC(whole) {
				return Log{}, fmt.Errorf("%s: the checksum of the batch at offset %d is wrong", name, h.BaseOffset)
			}
			if n := len(l.batches); n > 0 && l.batches[n-1].header.End() != h.BaseOffset {
				return Log{}, fmt.Errorf("%s: offset %d follows on a batch that ends at %d", name, h.BaseOffset, l.batches[n-1].header.End())
			}
			l.batches = append(l.batches, stored{h, whole})
		}
	}
	return l, nil
}

// Start is the first offset of the log, or -1 of one without batches.
func (l Log) Start() int64 {
	if len(l.batches) == 0 {
		return -1
	}
	return int64(l.batches[0].header.BaseOffset)
}

// Records are all records of the log.
func (l Log) Records() ([]Record, error) { return records(l.batches) }

// from drops what lies below an offset.
func (l Log) from(offset, end int64) []stored {
	below := func(s stored) bool { return int64(s.header.BaseOffset) < offset || int64(s.header.BaseOffset) >= end }
	return slices.DeleteFunc(slices.Clone(l.batches), below)
}

// Common compares logs from the offset at which the last of them begins up to end,
// which is committed: they must hold the same batches, byte for byte, so the same
// records and control records at the same offsets in the same epochs. It gives the
// records that all have.
func Common(logs []Log, end int64) ([]Record, error) {
	start := int64(0)
	for _, l := range logs {
		start = max(start, l.Start())
	}
	first := logs[0].from(start, end)
	for _, l := range logs[1:] {
		if err := same(logs[0].Name, l.Name, first, l.from(start, end)); err != nil {
			return nil, err
		}
	}
	if n := len(first); n == 0 || int64(first[n-1].header.End()) < end {
		return nil, fmt.Errorf("the logs have %d batches from offset %d on, and do not reach %d, up to which all was committed", n, start, end)
	}
	return records(first)
}

func same(a, b string, as, bs []stored) error {
	for i := range max(len(as), len(bs)) {
		switch {
		case i >= len(as):
			return fmt.Errorf("%s ends before offset %d, which %s has", a, bs[i].header.BaseOffset, b)
		case i >= len(bs):
			return fmt.Errorf("%s ends before offset %d, which %s has", b, as[i].header.BaseOffset, a)
		case !bytes.Equal(as[i].bytes, bs[i].bytes):
			return fmt.Errorf("%s has %s at offset %d, and %s has %s at %d", a, describe(as[i]), as[i].header.BaseOffset, b, describe(bs[i]), bs[i].header.BaseOffset)
		}
	}
	return nil
}

// describe is a batch in a message: its epoch and its records.
func describe(s stored) string {
	all, err := records([]stored{s})
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("epoch %d", s.header.LeaderEpoch)
	for _, r := range all {
		text += fmt.Sprintf(" [%d control %d: %x]", r.Offset, r.Control, r.Value)
	}
	return text
}

func records(batches []stored) (all []Record, err error) {
	decoder := batch.NewDecoder(0)
	for _, s := range batches {
		for r, err := range decoder.Records(s.bytes) {
			if err != nil {
				return nil, fmt.Errorf("batch at offset %d: %w", s.header.BaseOffset, err)
			}
			record := Record{Offset: int64(r.Offset), Control: -1, Value: bytes.Clone(r.Value)}
			if s.header.Control() {
				kind, err := batch.ParseControlKey(r.Key)
				if err != nil {
					return nil, fmt.Errorf("control record at offset %d: %w", r.Offset, err)
				}
				record.Control = int16(kind)
			}
			all = append(all, record)
		}
	}
	return all, nil
}
