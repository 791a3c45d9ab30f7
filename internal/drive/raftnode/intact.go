package raftnode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/storage"
)

// inspectBytes is how much of a segment is read at a time.
const inspectBytes = 64 << 10

// damage is the first place of a log that holds no whole, right batch although
// something follows there.
type damage struct {
	file   string
	pos    int64        // byte in the file
	offset kafka.Offset // of the record that belongs there
	last   bool         // in the last segment
	why    error
}

// inspection is what the segments of a metadata log look like before anything
// repairs them.
type inspection struct {
	dir    string
	end    kafka.Offset      // one past the last good batch before any damage
	epochs []raft.EpochStart // of what is below end
	damage *damage           // nil: all is whole
}

// inspect walks the batches of all segments with their checksums and changes
// nothing. No batch may be of an epoch above limit. The walk is what allows a later repair to cut: storage cannot know
// that what lies behind a bad batch was promised to others.
func inspect(fsys vfs.FS, dir string, limit kafka.Epoch) (inspection, error) {
	names, err := segmentNames(fsys, dir)
	found := inspection{dir: dir}
	sp := newSpanner(limit)
	for i, name := range names {
		if found.damage != nil || err != nil {
			break
		}
		if base := segmentBase(name); sp.begun && base != sp.span.End {
			file := names[i-1]
			found.damage = &damage{file: file, pos: fileSize(fsys, filepath.Join(dir, file)), why: fmt.Errorf("the next segment begins at %d", base)}
			break
		} else if !sp.begun {
			sp.span.End = base
		}
		if found.damage, err = inspectSegment(fsys, filepath.Join(dir, name), &sp); found.damage != nil {
			found.damage.file, found.damage.last = name, i == len(names)-1
		}
	}
	if err != nil {
		return found, fmt.Errorf("inspecting the metadata log in %s: %w", dir, err)
	}
	found.end, found.epochs = sp.span.End, sp.span.Epochs
	if found.damage == nil {
		if found.damage, err = contradictedEpoch(fsys, dir, sp.span); err != nil {
			return found, err
		}
	} else {
		found.damage.offset = found.end
	}
	return found, nil
}

func segmentNames(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if segmentBase(e.Name()) >= 0 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// segmentBase reads a name like 00000000000000000016.log; NoOffset for others.
func segmentBase(name string) kafka.Offset {
	digits, isLog := strings.CutSuffix(name, ".log")
	base, err := strconv.ParseUint(digits, 10, 63)
	if !isLog || len(digits) != 20 || err != nil {
		return kafka.NoOffset
	}
	return kafka.Offset(base)
}

func fileSize(fsys vfs.FS, name string) int64 {
	info, err := fsys.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

func inspectSegment(fsys vfs.FS, name string, sp *spanner) (*damage, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := fileSize(fsys, name)
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, size), inspectBytes)
	var one []byte
	for pos := int64(0); pos < size; {
		if size-pos < batch.HeaderSize {
			return &damage{pos: pos, why: batch.ErrShort}, nil
		}
		head, err := r.Peek(batch.HeaderSize)
		if err != nil {
			return nil, err
		}
		h, err := batch.ParseHeader(head)
		if base := segmentBase(filepath.Base(name)); err == nil && pos == 0 && h.BaseOffset != base {
			err = fmt.Errorf("%w, or its name is not: the first batch says offset %d", errContradicts, h.BaseOffset)
		}
		if err == nil && int64(h.Size()) > size-pos {
			err = batch.ErrShort
		}
		if err != nil {
			return &damage{pos: pos, why: err}, nil
		}
		one = slices.Grow(one[:0], h.Size())[:h.Size()] // at most as large as the file
		if _, err := io.ReadFull(r, one); err != nil {
			return nil, err
		}
		if _, err := sp.next(one); err != nil {
			return &damage{pos: pos, why: err}, nil
		}
		pos += int64(h.Size())
	}
	return nil, nil
}

// What a controller may do whose log is damaged. It has promised to others what is
// lost, so it must not go on under its directory id, with an older copy or with
// nothing. A node that never votes has promised nothing.
const (
	replaceVoter = "format the directory anew, with a new directory id, and let this controller take the place of its old self (metadata-quorum remove-controller and add-controller)"
	refetchAll   = "remove the folder, the leader has its records"
)

// othersCut is what an operator may do about a log that ends too early although it is
// whole. Who cuts a log says so in both files, unless it does not know of them.
func (i inspection) othersCut() string {
	return fmt.Sprintf("only if Apache Kafka or an older release ran on this folder since, and ended well, it may have cut the log for a new leader: then remove %s and %s there, and start again; else ",
		metarec.DurableMarkFile, durableFile)
}

// refuse tells why the log must not be repaired by cutting it where it is
// damaged. Below what is known to have been synced it is never cut; above, a crash may
// have left anything. Where nothing is known, or others wrote, only the last segment
// of a log can be torn. Promised says that others rely on what was synced.
func (i inspection) refuse(n *durableNote, promised bool) error {
	advice := refetchAll
	if promised {
		advice = replaceVoter
	}
	d := i.damage
	switch {
	case d != nil && d.file == storage.EpochFile:
		return fmt.Errorf("the log and %s contradict each other at offset %d: %w; %s", filepath.Join(i.dir, d.file), d.offset, d.why, advice)
	case d != nil && errors.Is(d.why, errContradicts):
		return fmt.Errorf("%s is damaged at byte %d, where offset %d belongs: %w; %s",
			filepath.Join(i.dir, d.file), d.pos, d.offset, d.why, advice)
	case d != nil && i.end < n.below:
		return fmt.Errorf("%s is damaged at byte %d, where offset %d belongs, and all below offset %d was durable: %w; %s",
			filepath.Join(i.dir, d.file), d.pos, d.offset, n.below, d.why, advice)
	case d != nil && (n.below == 0 || n.foreign) && promised && !d.last:
		return fmt.Errorf("%s is damaged at byte %d, where offset %d belongs, and segments follow it: %w; %s",
			filepath.Join(i.dir, d.file), d.pos, d.offset, d.why, advice)
	case i.end < n.below:
		return fmt.Errorf("the metadata log in %s ends at offset %d, and all below offset %d was durable; %s%s", i.dir, i.end, n.below, i.othersCut(), advice)
	}
	return nil
}
