package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// wholeNeeds is how many bytes a decoder of src needs beside its output.
func (c Codec) wholeNeeds(src []byte) (int, error) {
	if c == Lz4 {
		return lz4Needs(src)
	}
	return 0, nil // the codec's tables; zstd and snappy use the output as window
}

// streamNeeds is how many bytes inflate of src needs, beside a fixed few, where
// zstd may use a window of this size.
func (c Codec) streamNeeds(src []byte, window int) (int, error) {
	switch c {
	case Snappy:
		return snappyNeeds(src)
	case Lz4:
		return lz4Needs(src)
	case Zstd:
		return window + 1<<20, nil
	}
	return 0, nil
}

// inflate gives what src holds piece by piece, and what to call when done. It
// never has more than streamNeeds in memory. A zstd frame that asks for a larger
// window gives an error that isWindow tells.
func (c Codec) inflate(src []byte, window int) (r io.Reader, done func(), err error) {
	switch c {
	case Gzip:
		return inflateGzip(src)
	case Snappy:
		r, err := inflateSnappy(src)
		return r, func() {}, err
	case Lz4:
		return inflateLz4(src)
	case Zstd:
		return inflateZstd(src, window)
	}
	return bytes.NewReader(src), func() {}, nil
}

func inflateGzip(src []byte) (io.Reader, func(), error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, nil, fmt.Errorf("%w: gzip: %w", ErrCorrupt, err)
	}
	return r, func() { gzipReaders.Put(r) }, nil
}

func inflateLz4(src []byte) (io.Reader, func(), error) {
	r, _ := lz4Readers.Get().(*lz4.Reader)
	if r == nil {
		r = lz4.NewReader(nil)
	}
	r.Reset(bytes.NewReader(src))
	return r, func() { r.Reset(nil); lz4Readers.Put(r) }, nil
}

// usualZstdWindow is what the standard asks of every decoder, and what levels up
// to 19 write.
const usualZstdWindow = 8 << 20

// inflateZstd makes a decoder for one batch. It is not kept: it owns a window.
func inflateZstd(src []byte, window int) (io.Reader, func(), error) {
	d, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(window)), zstd.WithDecoderMaxMemory(uint64(window)),
		zstd.WithDecodeBuffersBelow(0)) // else short input is decoded as a whole
	if err != nil {
		return nil, nil, fmt.Errorf("zstd: %w", err)
	}
	return d, d.Close, nil
}

// isWindow tells that a frame asks for a larger window than was allowed.
func isWindow(err error) bool {
	return errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}

// snappyReader decodes one block after the other.
type snappyReader struct {
	src   []byte // blocks to come
	raw   bool   // src is one block without a length
	block []byte // the block being read; its start is given away
	buf   []byte
}

func inflateSnappy(src []byte) (*snappyReader, error) {
	if !bytes.HasPrefix(src, xerialHeader[:xerialMagicSize]) {
		return &snappyReader{src: src, raw: true}, nil
	}
	if len(src) < len(xerialHeader) {
		return nil, fmt.Errorf("%w: snappy header", ErrCorrupt)
	}
	return &snappyReader{src: src[len(xerialHeader):]}, nil
}

// next cuts the next block off, compressed.
func (r *snappyReader) next() (block []byte, err error) {
	switch {
	case len(r.src) == 0:
		return nil, io.EOF
	case r.raw:
		block, r.src = r.src, nil
	default:
		block, r.src, err = cutSnappyBlock(r.src)
	}
	return block, err
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		block, err := r.next()
		if err != nil {
			return 0, err
		}
		if r.buf, err = appendSnappy(r.buf[:0], block, DefaultLimit); err != nil {
			return 0, err
		}
		r.block = r.buf
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// snappyNeeds is the size of the largest block.
func snappyNeeds(src []byte) (int, error) {
	r, err := inflateSnappy(src)
	if err != nil {
		return 0, err
	}
	most := 0
	for {
		block, err := r.next()
		if err == io.EOF {
			return most, nil
		}
		if err != nil {
			return 0, err
		}
		n, err := snappyLen(block)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
}

// The parts of an lz4 frame that say how large its blocks may be.
//
//	0 4  magic      0x184d2204, little endian
//	4 1  flags      0 dictionary, 2 content checksum, 3 content size, 4 block checksum
//	5 1  block size bits 4-6: 4 is 64 KiB, each more four times as much, up to 7
//	6 .. content size (8), dictionary (4), checksum of the header (1)
//	     blocks: length (4; the top bit is not part of it), data, checksum (4);
//	     a length of 0 ends them
//	     content checksum (4)
const (
	lz4Magic          = 0x184d2204
	lz4FlagDictionary = 1 << 0
	lz4FlagChecksum   = 1 << 2
	lz4FlagSize       = 1 << 3
	lz4FlagBlockSums  = 1 << 4
)

// lz4Needs is the size of the buffers for the largest blocks in src: one
// compressed, one not, and what dependent blocks look back to. Frames of the
// legacy format, whose blocks are larger still, are refused as Kafka does.
func lz4Needs(src []byte) (int, error) {
	most := 0
	for len(src) > 0 {
		if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic {
			return 0, fmt.Errorf("%w: not an lz4 frame", ErrCorrupt)
		}
		id := int(src[5] >> 4 & 7)
		if id < 4 {
			return 0, fmt.Errorf("%w: lz4 block size %d", ErrCorrupt, id)
		}
		most = max(most, 64<<10<<(2*(id-4)))
		src = afterLz4Frame(src)
	}
	return 2*most + 256<<10, nil
}

// afterLz4Frame skips the frame that begins src. Of one that is cut short
// nothing is left; reading it will fail.
func afterLz4Frame(src []byte) []byte {
	flags, c := src[4], cursor{b: src}
	skip := func(when byte, n int) {
		if flags&when != 0 {
			c.take(n)
		}
	}
	c.take(7)
	skip(lz4FlagSize, 8)
	skip(lz4FlagDictionary, 4)
	for len(c.b) >= 4 {
		n := binary.LittleEndian.Uint32(c.take(4)) &^ (1 << 31)
		if n == 0 {
			skip(lz4FlagChecksum, 4)
			return c.b
		}
		c.take(int(n))
		skip(lz4FlagBlockSums, 4)
	}
	return nil
}
