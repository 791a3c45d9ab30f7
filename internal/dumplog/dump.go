package dumplog

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Options say what to print and how.
type Options struct {
	// JSON prints one JSON object a line instead of text.
	JSON bool
	// Deep prints the records of each batch, Data their keys and values too.
	Deep, Data bool
	// SkipRecordMetadata prints of a record its key and value only (text).
	SkipRecordMetadata bool
	// Decoder tells what the records of a segment mean. It implies Data.
	Decoder Decoder
	// SanityCheck only checks that an index can be one; VerifyOnly compares it
	// with its segment. Neither prints entries.
	SanityCheck, VerifyOnly bool
	// MaxBytes ends the dump of a segment with the batch that reaches it; 0
	// means all of it.
	MaxBytes int64
}

// Problem is something wrong in a file.
type Problem struct {
	File     string
	Position int64 // bytes from the start of the file
	Err      error
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s: position %d: %v", p.File, p.Position, p.Err)
}

func (p *Problem) Unwrap() error { return p.Err }

// maxProblems is how many problems of one file are told. A file that has more
// is not what it seems.
const maxProblems = 20

// Dump prints one file to w. It returns the problems found in the file, and
// an error if the file cannot be read or w not written to.
func Dump(w io.Writer, disk vfs.FS, path string, opt Options) ([]*Problem, error) {
	show := kindOf(path)
	if show == nil {
		return nil, fmt.Errorf("%s: not a file that this tool knows by its name", path)
	}
	f, err := disk.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", path, err)
	}
	d := &dumper{out: newPrinter(w, path, opt.JSON), disk: disk, file: f, path: path, size: size, opt: opt}
	d.out.heading("Dumping " + path)
	if err := show(d); err != nil && d.out.err == nil {
		return d.problems, fmt.Errorf("%s: %w", path, err)
	}
	return d.problems, d.out.flush()
}

// dumper is the dump of one file.
type dumper struct {
	out      *printer
	disk     vfs.FS
	file     vfs.File
	path     string
	size     int64
	opt      Options
	problems []*Problem
}

// problem notes that something is wrong and tells whether to go on.
func (d *dumper) problem(position int64, format string, args ...any) bool {
	d.problems = append(d.problems, &Problem{d.path, position, fmt.Errorf(format, args...)})
	if len(d.problems) == maxProblems {
		d.problems = append(d.problems, &Problem{d.path, position, fmt.Errorf("too many problems, the rest of the file is left out")})
	}
	return len(d.problems) < maxProblems
}

// put prints an item and tells whether to go on.
func (d *dumper) put(it item) bool {
	d.out.put(it)
	return d.out.err == nil
}

// all reads the whole file if it has at most limit bytes.
func (d *dumper) all(limit int64) ([]byte, error) {
	if d.size > limit {
		return nil, fmt.Errorf("has %d bytes, more than %d", d.size, limit)
	}
	b, err := io.ReadAll(io.LimitReader(d.file, limit))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return b, nil
}

// base is the offset in the name of a segment or an index.
func (d *dumper) base() kafka.Offset {
	name, _ := plainName(d.path)
	var base int64
	if _, err := fmt.Sscanf(name, "%d.", &base); err != nil || base < 0 || base > math.MaxInt64/2 {
		return 0
	}
	return kafka.Offset(base)
}

// plainName is the name of a file without the suffixes that it carries while
// it comes or goes, and its extension.
func plainName(path string) (name, ext string) {
	name = filepath.Base(path)
	for _, suffix := range []string{".deleted", ".cleaned", ".swap", ".tmp", ".part"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name, filepath.Ext(name)
}

// kindOf tells how to print a file by its name; nil if there is no way.
func kindOf(path string) func(*dumper) error {
	name, ext := plainName(path)
	switch name {
	case "partition.metadata":
		return (*dumper).partitionMetadata
	case "meta.properties":
		return (*dumper).metaProperties
	case "quorum-state":
		return (*dumper).quorumState
	case ".kafka_cleanshutdown":
		return (*dumper).cleanShutdown
	case ".lock":
		return (*dumper).lock
	case ".ottla-boot":
		return (*dumper).bootNote
	case metarec.VotesLostFile:
		return (*dumper).votesLost
	case metarec.DurableMarkFile:
		return (*dumper).durableMark
	case "leader-epoch-checkpoint":
		return (*dumper).epochCheckpoint
	case "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint", "cleaner-offset-checkpoint":
		return (*dumper).offsetCheckpoint
	}
	switch ext {
	case ".log", ".checkpoint":
		return (*dumper).segment
	case ".index":
		return (*dumper).offsetIndex
	case ".timeindex":
		return (*dumper).timeIndex
	case ".txnindex":
		return (*dumper).txnIndex
	case ".snapshot":
		return (*dumper).producerSnapshot
	}
	return nil
}
