package batch

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/ottla/ottla/internal/base/invariant"
)

var (
	zstdEncoders sync.Pool // of *zstdEncoder
	zstdDecoders sync.Pool // of *zstd.Decoder
)

// zstdEncoder remembers the level it was made for: an encoder cannot change it.
type zstdEncoder struct {
	*zstd.Encoder
	level zstd.EncoderLevel
}

func zstdCompress(dst, src []byte, level int) []byte {
	want := zstd.SpeedDefault
	if level != DefaultLevel {
		want = zstd.EncoderLevelFromZstd(level)
	}
	e, _ := zstdEncoders.Get().(*zstdEncoder)
	if e == nil || e.level != want {
		fresh, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(want), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
		invariant.Check(err == nil, "zstd level %v: %v", want, err)
		e = &zstdEncoder{fresh, want}
	}
	dst = e.EncodeAll(src, dst)
	zstdEncoders.Put(e)
	return dst
}

// maxZstdWindow is the largest window a frame may ask for; the standard
// recommends decoders to allow 8 MiB, level 22 writes 128 MiB.
const maxZstdWindow = 128 << 20

func zstdDecoder() (*zstd.Decoder, error) {
	if d, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return d, nil
	}
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecodeAllCapLimit(true))
}

// zstdBlock is the most that one block of a frame holds.
const zstdBlock = 128 << 10

// zstdDecompress decodes into the room that dst has, and again into four times
// as much when that was too little: frames rarely say how large they are, and
// those that do are not believed. The decoder has no error of its own for a
// block that does not fit, so stopping less than a block before the end of the
// room counts as one.
func zstdDecompress(dst, src []byte, limit int) ([]byte, error) {
	d, err := zstdDecoder()
	if err != nil {
		return dst, fmt.Errorf("zstd: %w", err)
	}
	defer zstdDecoders.Put(d)
	start := len(dst)
	for room := max(cap(dst)-start, 4*len(src), 4<<10); ; room *= 4 {
		room = min(room, limit)
		dst = slices.Grow(dst, room)
		out, err := d.DecodeAll(src, dst[:start:start+room])
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, zstd.ErrDecoderSizeExceeded) && len(out)-start+zstdBlock <= room:
			return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
		case room == limit && (limit >= zstdBlock || errors.Is(err, zstd.ErrDecoderSizeExceeded)):
			return dst, ErrTooLarge
		case room == limit:
			return dst, fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
		}
	}
}
