package metarec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// DurableMarkFile, in the folder of the metadata log, holds a DurableMark. It is ours,
// and written in place, so it may be torn:
//
//	 0         8         12        16        20
//	+---------+---------+---------+---------+
//	|  int64  | CRC-32C |  int32  | CRC-32C |  big endian
//	+---------+---------+---------+---------+
//	  offset              epoch
//
// Each checksum is of all that comes before it. The first twelve bytes are what the
// file was before the epoch was noted, and are read as that where they are alone, or
// where what follows is of another offset.
const DurableMarkFile = ".ottla-durable"

// DurableMarkSize is the number of bytes of a DurableMarkFile, durableMarkOffset of
// the part that says the offset.
const (
	DurableMarkSize   = 20
	durableMarkOffset = 12
)

// DurableMark tells how far a metadata log was durable.
type DurableMark struct {
	// Below is an offset: all below it was durable.
	Below int64
	// Epoch is the highest leader epoch of a record below it; -1 when that is not known.
	Epoch int32
}

// PutDurableMark writes a mark.
func PutDurableMark(b *[DurableMarkSize]byte, m DurableMark) {
	binary.BigEndian.PutUint64(b[:], uint64(m.Below))
	binary.BigEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
	binary.BigEndian.PutUint32(b[12:], uint32(m.Epoch))
	binary.BigEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
}

// ReadDurableMark reads a whole file; the error is ErrCorrupt.
func ReadDurableMark(file []byte) (DurableMark, error) {
	none := DurableMark{Epoch: -1}
	if len(file) != DurableMarkSize && len(file) != durableMarkOffset {
		return none, fmt.Errorf("durable mark: %w: %d bytes, want %d", ErrCorrupt, len(file), DurableMarkSize)
	}
	said := binary.BigEndian.Uint32(file[8:])
	if sum := crc32.Checksum(file[:8], castagnoli); sum != said {
		return none, fmt.Errorf("durable mark: %w: checksum is %08x, file says %08x", ErrCorrupt, sum, said)
	}
	m := DurableMark{Below: int64(binary.BigEndian.Uint64(file)), Epoch: -1}
	if m.Below < 0 {
		return none, fmt.Errorf("durable mark: %w: offset %d", ErrCorrupt, m.Below)
	}
	if len(file) == DurableMarkSize && crc32.Checksum(file[:16], castagnoli) == binary.BigEndian.Uint32(file[16:]) {
		m.Epoch = max(int32(binary.BigEndian.Uint32(file[12:])), -1)
	}
	return m, nil
}
