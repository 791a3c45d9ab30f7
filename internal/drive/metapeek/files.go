package metapeek

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Names in the metadata folder: <end offset, 20 digits>-<epoch, 10 digits> and
// <first offset, 20 digits>.
const (
	snapshotSuffix = ".checkpoint"
	segmentSuffix  = ".log"
)

// readBytes is how much of a file is read at a time.
const readBytes = 32 << 10

func snapshotEnd(name string) (kafka.Offset, bool) {
	stem := strings.TrimSuffix(name, snapshotSuffix)
	if len(stem) != 31 || stem[20] != '-' {
		return 0, false
	}
	end, err := strconv.ParseUint(stem[:20], 10, 63)
	return kafka.Offset(end), err == nil
}

// since are the segments, in order, that may hold records at offset from and
// behind it.
func since(names []string, from kafka.Offset) []string {
	slices.Sort(names)
	behind := fmt.Sprintf("%020d%s", from, segmentSuffix)
	i, exact := slices.BinarySearch(names, behind)
	if !exact && i > 0 {
		i-- // the one that begins before it
	}
	return names[i:]
}

// walk hands the batches of a file to take, until one is not right or take says
// no. It tells whether the file was walked to its end.
func walk(fsys vfs.FS, name string, take func(batch.Header, []byte) bool) bool {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	left, err := f.Size()
	if err != nil {
		return false
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, left), int(max(batch.HeaderSize, min(left, readBytes))))
	var one []byte
	for left > 0 {
		head, err := r.Peek(batch.HeaderSize)
		if err != nil {
			return false
		}
		h, err := batch.ParseHeader(head)
		if err != nil || int64(h.Size()) > left {
			return false
		}
		one = slices.Grow(one[:0], h.Size())[:h.Size()] // at most as large as the file
		if _, err := io.ReadFull(r, one); err != nil || !batch.CheckCRC(one) {
			return false
		}
		if !take(h, one) {
			return false
		}
		left -= int64(h.Size())
	}
	return true
}
