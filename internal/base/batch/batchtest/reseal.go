// Package batchtest helps tests that damage record batches to get past their
// checksums, to the code behind them.
package batchtest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// What of the layout of a batch (docs/format/record-batch.md) is needed here. It
// stands apart from that of package batch on purpose.
const (
	lengthAt     = 8
	overhead     = 12 // bytes that the length does not count
	crcAt        = 17
	attributesAt = 21 // the checksum covers what begins here
	headerSize   = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Resealed is a copy of b in which each batch, as far as the lengths lead, has
// the checksum of its bytes. A last batch that is cut short gets that of what is
// there.
func Resealed(b []byte) []byte {
	b = slices.Clone(b)
	for rest := b; len(rest) >= headerSize; {
		size := int(int32(binary.BigEndian.Uint32(rest[lengthAt:]))) + overhead
		if size < headerSize {
			break
		}
		one := rest[:min(size, len(rest))]
		binary.BigEndian.PutUint32(one[crcAt:], crc32.Checksum(one[attributesAt:], castagnoli))
		rest = rest[len(one):]
	}
	return b
}
