package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// A checkpoint is text: a line "0" for the version, a line with the number of
// entries, then a line for each, its fields parted by blanks. An empty file
// has no entries.
const (
	checkpointVersion = "0"
	checkpointLimit   = 256 << 20 // bytes; a larger file is not read
)

// ErrBadCheckpoint says that a checkpoint is not whole or not text of the
// format.
var ErrBadCheckpoint = errors.New("checkpoint is damaged")

func encodeCheckpoint(lines []string) []byte {
	var b bytes.Buffer
	b.WriteString(checkpointVersion + "\n")
	b.WriteString(strconv.Itoa(len(lines)) + "\n")
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// decodeCheckpoint hands each entry, of exactly so many fields, to use.
func decodeCheckpoint(b []byte, fields int, use func([]string) error) error {
	if len(b) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if strings.TrimSpace(lines[0]) != checkpointVersion {
		return fmt.Errorf("%w: version %.20q", ErrBadCheckpoint, lines[0])
	}
	if len(lines) < 2 {
		return fmt.Errorf("%w: no count", ErrBadCheckpoint)
	}
	count, err := strconv.Atoi(strings.TrimSpace(lines[1]))
	if err != nil || count != len(lines)-2 {
		return fmt.Errorf("%w: count %.20q before %d entries", ErrBadCheckpoint, lines[1], len(lines)-2)
	}
	for i, line := range lines[2:] {
		parts := strings.Fields(line)
		if len(parts) != fields {
			return fmt.Errorf("%w: line %d has %d fields, want %d", ErrBadCheckpoint, i+3, len(parts), fields)
		}
		if err := use(parts); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrBadCheckpoint, i+3, err)
		}
	}
	return nil
}

// Offsets is the content of a checkpoint of one log directory.
type Offsets map[kafka.TopicPartition]kafka.Offset

// EncodeOffsets writes "topic partition offset" lines, ordered.
func EncodeOffsets(o Offsets) []byte {
	keys := slices.SortedFunc(maps.Keys(o), func(a, b kafka.TopicPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	lines := make([]string, len(keys))
	for i, tp := range keys {
		lines[i] = fmt.Sprintf("%s %d %d", tp.Topic, tp.Partition, o[tp])
	}
	return encodeCheckpoint(lines)
}

// DecodeOffsets reads "topic partition offset" lines.
func DecodeOffsets(b []byte) (Offsets, error) {
	o := Offsets{}
	err := decodeCheckpoint(b, 3, func(f []string) error {
		partition, err := strconv.ParseInt(f[1], 10, 32)
		if err != nil || partition < 0 {
			return fmt.Errorf("partition %q", f[1])
		}
		offset, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		o[kafka.TopicPartition{Topic: f[0], Partition: kafka.PartitionID(partition)}] = kafka.Offset(offset)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// ReadOffsets reads a checkpoint file; a missing one is empty.
func ReadOffsets(f vfs.FS, name string) (Offsets, error) {
	there, err := vfs.Exists(f, name)
	if err != nil || !there {
		return Offsets{}, err
	}
	b, err := vfs.ReadFile(f, name, checkpointLimit)
	if err != nil {
		return nil, err
	}
	o, err := DecodeOffsets(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return o, nil
}

// WriteOffsets replaces a checkpoint file, durably.
func WriteOffsets(f vfs.FS, name string, o Offsets) error {
	return vfs.WriteFileAtomic(f, name, EncodeOffsets(o))
}
