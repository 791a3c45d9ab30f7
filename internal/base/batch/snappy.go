package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/snappy"
)

// Kafka's Java clients do not write raw snappy but the frames of xerial's
// library: the header below, then blocks of a length and raw snappy each.
//
//	0  8 magic      82 'SNAPPY' 00
//	8  4 version    1
//	12 4 compatible 1
var xerialHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

const (
	xerialMagicSize = 8
	xerialBlock     = 32 << 10 // bytes before compression, as Kafka's writer has them
)

func snappyCompress(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	for chunk := range slices.Chunk(src, xerialBlock) {
		dst = appendSnappyBlock(dst, chunk)
	}
	return dst
}

func appendSnappyBlock(dst, chunk []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 4+snappy.MaxEncodedLen(len(chunk)))
	room := dst[at+4 : cap(dst)]
	n := len(snappy.Encode(room, chunk))
	dst = dst[:at+4+n]
	binary.BigEndian.PutUint32(dst[at:], uint32(n))
	return dst
}

// snappyDecompress reads xerial's frames, and raw snappy too: some clients send
// it and Kafka's reader takes it.
func snappyDecompress(dst, src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialHeader[:xerialMagicSize]) {
		return appendSnappy(dst, src, limit)
	}
	if len(src) < len(xerialHeader) {
		return dst, fmt.Errorf("%w: snappy header", ErrCorrupt)
	}
	start := len(dst)
	for src = src[len(xerialHeader):]; len(src) > 0; {
		block, rest, err := cutSnappyBlock(src)
		if err != nil {
			return dst[:start], err
		}
		if dst, err = appendSnappy(dst, block, limit-(len(dst)-start)); err != nil {
			return dst[:start], err
		}
		src = rest
	}
	return dst, nil
}

func cutSnappyBlock(src []byte) (block, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, fmt.Errorf("%w: snappy block length", ErrCorrupt)
	}
	n := uint64(binary.BigEndian.Uint32(src))
	if src = src[4:]; n > uint64(len(src)) {
		return nil, nil, fmt.Errorf("%w: snappy block of %d bytes, %d left", ErrCorrupt, n, len(src))
	}
	return src[:n], src[n:], nil
}

// maxSnappyRatio bounds what a block may claim: snappy's longest copy makes 64
// bytes out of 3.
const maxSnappyRatio = 22

// snappyLen is how many bytes a block says that it holds.
func snappyLen(block []byte) (int, error) {
	n, err := snappy.DecodedLen(block)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case n > maxSnappyRatio*len(block):
		return 0, fmt.Errorf("%w: snappy block of %d bytes claims %d", ErrCorrupt, len(block), n)
	}
	return n, nil
}

func appendSnappy(dst, block []byte, limit int) ([]byte, error) {
	n, err := snappyLen(block)
	switch {
	case err != nil:
		return dst, err
	case n > limit:
		return dst, ErrTooLarge
	}
	at := len(dst)
	if cap(dst)-at < n {
		dst = slices.Grow(dst, max(n, min(at, limit))) // twice as much
	}
	if _, err := snappy.Decode(dst[at:at+n], block); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return dst[:at+n], nil
}
