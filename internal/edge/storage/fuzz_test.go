package storage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch/batchtest"
	"github.com/ottla/ottla/internal/base/vfs"
)

func FuzzProducerSnapshot(f *testing.F) {
	files, _ := filepath.Glob("testdata/kafka/*/*.snapshot")
	for _, name := range files {
		b, err := os.ReadFile(name)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := decodeProducers(b)
		if err != nil {
			return
		}
		again, err := decodeProducers(ps.encode())
		if err != nil || len(again.byID) != len(ps.byID) {
			t.Errorf("%d producers are %d when read again, %v", len(ps.byID), len(again.byID), err)
		}
	})
}

func FuzzOffsetsCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\nalpha 0 19\nalpha 1 3\n"))
	f.Add([]byte(""))
	f.Add([]byte("0\n1\na b c\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := DecodeOffsets(b)
		if err != nil {
			if !errors.Is(err, ErrBadCheckpoint) {
				t.Errorf("error %v is no ErrBadCheckpoint", err)
			}
			return
		}
		again, err := DecodeOffsets(EncodeOffsets(o))
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Errorf("%v is %v when read again, %v", o, again, err)
		}
	})
}

func FuzzEpochCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n3 12\n"))
	f.Add([]byte("0\n1\n-1 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEpochs(b)
		if err != nil {
			return
		}
		for i := 1; i < len(e.list); i++ {
			if e.list[i].Epoch <= e.list[i-1].Epoch || e.list[i].Start <= e.list[i-1].Start {
				t.Errorf("epochs %v do not increase", e.list)
			}
		}
		if again, err := decodeEpochs(e.encode()); err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%v is %v when read again, %v", e, again, err)
		}
	})
}

func FuzzTopicID(f *testing.F) {
	f.Add([]byte("version: 0\ntopic_id: 5drsZu3zQxWPczXyp8nGYg"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := decodeTopicID(b)
		if err != nil {
			return
		}
		if again, err := decodeTopicID(encodeTopicID(id)); err != nil || again != id {
			t.Errorf("%s is %s when read again, %v", id, again, err)
		}
	})
}

func FuzzTransactionIndex(f *testing.F) {
	b, err := os.ReadFile("testdata/kafka/alpha-0/00000000000000000016.txnindex")
	must(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(decodeAborted(b)); n > len(b)/34 {
			t.Errorf("%d entries in %d bytes", n, len(b))
		}
	})
}

// fuzzBytes bounds each file that one execution reads.
const fuzzBytes = 4 << 10

// Whatever lies in the files of a segment, a log opens, holds whole batches
// only, and takes appends. With sealed the batches of the log have right
// checksums, so that what is wrong in them is not cut off for that alone.
func FuzzSegmentRecovery(f *testing.F) {
	folder := filepath.Join("testdata", "kafka", "alpha-0")
	read := func(suffix string) []byte {
		b, err := os.ReadFile(filepath.Join(folder, FileName(0, suffix)))
		must(f, err)
		return b
	}
	for _, sealed := range []bool{false, true} {
		f.Add(read(logSuffix), read(indexSuffix), read(timeIndexSuffix), false, sealed)
		f.Add(read(logSuffix), bytes.Repeat([]byte{0, 0, 0, 1}, 8), read(timeIndexSuffix), true, sealed)
		f.Add(read(logSuffix)[:500], []byte{1}, []byte{}, true, sealed)
	}
	f.Fuzz(func(t *testing.T, log, offsets, times []byte, boot, sealed bool) {
		log, offsets, times = bounded(log), bounded(offsets), bounded(times)
		if sealed {
			log = batchtest.Resealed(log)
		}
		disk := vfs.NewMem()
		must(t, disk.MkdirAll(testDir, 0o755))
		for suffix, b := range map[string][]byte{logSuffix: log, indexSuffix: offsets, timeIndexSuffix: times} {
			must(t, vfs.WriteFileAtomic(disk, filepath.Join(testDir, FileName(0, suffix)), b))
		}
		l, err := Open(Options{FS: disk, Dir: testDir, Config: testConfig(), SameBoot: boot, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.AppendLeader(plain("after", 1), 1<<30); err != nil {
			t.Fatal(err)
		}
		if !boot {
			checkDerived(t, l)
		}
		must(t, l.Close(true))
	})
}

func bounded(b []byte) []byte { return b[:min(len(b), fuzzBytes)] }

// FuzzFollowerAppend: what a leader sends continues the log or is refused whole,
// is of no higher epoch than its own, and what is derived from it is right.
func FuzzFollowerAppend(f *testing.F) {
	b, err := os.ReadFile(filepath.Join("testdata", "kafka", "alpha-0", FileName(0, logSuffix)))
	must(f, err)
	f.Add(b, false)
	f.Add(b, true)
	f.Add(plain("a", 3), true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if b = bounded(b); sealed {
			b = batchtest.Resealed(b)
		}
		r := newRig(t)
		r.append(plain("before", 1))
		a, err := r.AppendFollower(b, 1)
		switch end := r.End(); {
		case err != nil && end != 1:
			t.Errorf("refused with %v, and the log ends at %d", err, end)
		case err == nil && (end != a.End || a.End < a.Base || a.Base < 1):
			t.Errorf("%+v, and the log ends at %d", a, end)
		}
		if r.Err() != nil {
			t.Errorf("the log failed: %v", r.Err())
		}
		if e := r.LastEpoch(); e > 1 {
			t.Errorf("the leader of epoch 1 gave it a batch of epoch %d", e)
		}
		checkDerived(t, r.Log)
		must(t, r.Close(true))
	})
}

// FuzzFileName: the name of a file in a log's folder is the one we give it, or
// is none of ours.
func FuzzFileName(f *testing.F) {
	f.Add("00000000000000000016.log")
	f.Add("00000000000000000016.txnindex.deleted")
	f.Fuzz(func(t *testing.T, name string) {
		if base, suffix, ok := parseFileName(name); ok && FileName(base, suffix) != name {
			t.Errorf("%q is %d with %q", name, base, suffix)
		}
	})
}
