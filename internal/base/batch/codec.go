package batch

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/internal/base/invariant"
)

// Codec is how the records of a batch are compressed, by its number on the wire.
type Codec int8

// The codecs of format 2.
const (
	None Codec = iota
	Gzip
	Snappy
	Lz4
	Zstd
)

// ErrTooLarge says that a compressed batch holds more bytes than its reader
// allows.
var ErrTooLarge = errors.New("batch is too large when decompressed")

// DefaultLimit is how many bytes a batch may hold when decompressed, where a
// reader says nothing else.
const DefaultLimit = 128 << 20

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String is the codec's name in Kafka's configuration.
func (c Codec) String() string {
	if c.Valid() {
		return codecNames[c]
	}
	return fmt.Sprintf("codec(%d)", int8(c))
}

// Valid tells whether c is a codec that exists.
func (c Codec) Valid() bool { return None <= c && c <= Zstd }

// ParseCodec reads a name as in compression.type; "uncompressed" is "none".
func ParseCodec(name string) (Codec, error) {
	if name == "uncompressed" {
		return None, nil
	}
	for i, n := range codecNames {
		if n == name {
			return Codec(i), nil
		}
	}
	return None, fmt.Errorf("%q is not a codec: want none, gzip, snappy, lz4 or zstd", name)
}

// DefaultLevel leaves the level of compression to the codec.
const DefaultLevel = 0

// Compress appends src, compressed, to dst. Levels are Kafka's (KIP-390): gzip 1
// to 9 or -1, lz4 1 to 17, zstd -131072 to 22; what lies outside gets the
// nearest or the default, and a codec without levels ignores it. The codec must
// be valid.
func (c Codec) Compress(dst, src []byte, level int) []byte {
	switch c {
	case Gzip:
		return gzipCompress(dst, src, level)
	case Snappy:
		return snappyCompress(dst, src)
	case Lz4:
		return lz4Compress(dst, src, level)
	case Zstd:
		return zstdCompress(dst, src, level)
	}
	invariant.Check(c == None, "compress with %v", c)
	return append(dst, src...)
}

// Decompress appends what src holds to dst, at most limit bytes, else
// ErrTooLarge. Memory grows with what was really decompressed, not with what
// src claims. Damaged input gives ErrCorrupt.
func (c Codec) Decompress(dst, src []byte, limit int) ([]byte, error) {
	switch c {
	case None:
		if len(src) > limit {
			return dst, ErrTooLarge
		}
		return append(dst, src...), nil
	case Gzip:
		return gzipDecompress(dst, src, limit)
	case Snappy:
		return snappyDecompress(dst, src, limit)
	case Lz4:
		return lz4Decompress(dst, src, limit)
	case Zstd:
		return zstdDecompress(dst, src, limit)
	}
	return dst, fmt.Errorf("%w: %v", ErrCorrupt, c)
}

// sink is a writer that appends to a slice and never fails.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}
