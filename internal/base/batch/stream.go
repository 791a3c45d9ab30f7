package batch

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/pierrec/lz4/v4"

	"github.com/ottla/ottla/internal/base/invariant"
)

// Coders are made when first needed and kept in pools, which the garbage
// collector empties: a node that sees no compressed data pays nothing.
var (
	gzipWriters sync.Pool // of *gzipWriter
	gzipReaders sync.Pool // of *gzip.Reader
	lz4Writers  sync.Pool // of *lz4.Writer
	lz4Readers  sync.Pool // of *lz4.Reader
)

// readAll appends what r gives to dst, at most limit bytes.
func readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	start := len(dst)
	for {
		if cap(dst)-len(dst) < 512 {
			dst = slices.Grow(dst, max(512, min(len(dst), start+limit+1-len(dst)))) // twice as much
		}
		room := dst[len(dst):min(cap(dst), start+limit+1)]
		n, err := r.Read(room)
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > limit:
			return dst[:start], ErrTooLarge
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst[:start], fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
}

// gzipWriter remembers the level it was made for: a writer cannot change it.
type gzipWriter struct {
	*gzip.Writer
	level int
}

func gzipCompress(dst, src []byte, level int) []byte {
	if level < gzip.BestSpeed || level > gzip.BestCompression {
		level = gzip.DefaultCompression
	}
	out := sink{dst}
	w, _ := gzipWriters.Get().(*gzipWriter)
	if w == nil || w.level != level {
		fresh, err := gzip.NewWriterLevel(&out, level)
		invariant.Check(err == nil, "gzip level %d: %v", level, err)
		w = &gzipWriter{fresh, level}
	}
	w.Reset(&out)
	writeAll(w, src)
	gzipWriters.Put(w)
	return out.b
}

// writeAll writes src through a compressor into a sink, which cannot fail.
func writeAll(w io.WriteCloser, src []byte) {
	_, err := w.Write(src)
	invariant.Check(err == nil, "compress: %v", err)
	err = w.Close()
	invariant.Check(err == nil, "compress: %v", err)
}

// gzipDecompress reads one or many members that follow each other.
func gzipDecompress(dst, src []byte, limit int) ([]byte, error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return dst, fmt.Errorf("%w: gzip: %w", ErrCorrupt, err)
	}
	out, err := readAll(dst, r, limit)
	gzipReaders.Put(r)
	return out, err
}

// kafkaLz4Level is the level that stands for lz4's fast mode in
// compression.lz4.level (KIP-390).
const kafkaLz4Level = 9

var lz4Levels = [...]lz4.CompressionLevel{
	lz4.Fast, lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4, lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9,
}

func lz4Level(level int) lz4.CompressionLevel {
	if level == DefaultLevel || level == kafkaLz4Level {
		return lz4.Fast
	}
	return lz4Levels[min(max(level, 1), len(lz4Levels)-1)]
}

// lz4Compress writes frames as Kafka does: independent blocks of 64 KiB without
// sizes and checksums.
func lz4Compress(dst, src []byte, level int) []byte {
	out := sink{dst}
	w, _ := lz4Writers.Get().(*lz4.Writer)
	if w == nil {
		w = lz4.NewWriter(&out)
	}
	w.Reset(&out)
	err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
		lz4.ConcurrencyOption(1), lz4.CompressionLevelOption(lz4Level(level)))
	invariant.Check(err == nil, "lz4 options: %v", err)
	writeAll(w, src)
	lz4Writers.Put(w)
	return out.b
}

func lz4Decompress(dst, src []byte, limit int) ([]byte, error) {
	r, _ := lz4Readers.Get().(*lz4.Reader)
	if r == nil {
		r = lz4.NewReader(nil)
	}
	r.Reset(bytes.NewReader(src))
	out, err := readAll(dst, r, limit)
	r.Reset(nil)
	lz4Readers.Put(r)
	return out, err
}
