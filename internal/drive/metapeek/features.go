package metapeek

import (
	"encoding/binary"
	"maps"
	"path/filepath"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Features are the levels above 0 at which the newest whole snapshot in the
// metadata folder dir, and the log that follows it, finalize features; nil when
// they name none. What is not committed yet counts too. kraft.version, which is
// in control records, is not among them, and neither are the records for a new
// cluster in checkpoint 0-0 (KIP-1170): whether they will ever count, the folder
// does not tell.
//
// What cannot be read is passed over, for it will be found again, and told, by
// those who open the folder. The log is read only from the segment that the
// snapshot ends in.
func Features(fsys vfs.FS, dir string) map[string]int16 {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil
	}
	var snapshots, segments []string
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case snapshotSuffix:
			snapshots = append(snapshots, e.Name())
		case segmentSuffix:
			segments = append(segments, e.Name())
		}
	}
	levels, from := newest(fsys, dir, snapshots)
	r := replay{settled: levels}
	for _, name := range since(segments, from) {
		whole := walk(fsys, filepath.Join(dir, name), func(h batch.Header, b []byte) bool {
			return h.End() <= from || r.take(h, b)
		})
		if !whole {
			break // a torn tail: nothing behind it counts
		}
	}
	return r.settled
}

// newest reads the newest snapshot that is whole, and where the log goes on.
func newest(fsys vfs.FS, dir string, names []string) (map[string]int16, kafka.Offset) {
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		end, ok := snapshotEnd(name)
		if !ok || end == 0 {
			continue
		}
		var r replay
		whole := walk(fsys, filepath.Join(dir, name), r.take)
		if whole && r.footer {
			return r.settled, end
		}
	}
	return nil, 0
}

// replay applies records that finalize features.
type replay struct {
	decoder batch.Decoder
	settled map[string]int16
	// Between the begin and the end of a transaction (KIP-868) the records are
	// kept aside: it may be aborted, and one without an end will be.
	inside  bool
	pending []*metarec.FeatureLevelRecord
	footer  bool // of a snapshot: it was seen
}

// take applies one batch. False means that it cannot be read.
func (r *replay) take(h batch.Header, b []byte) bool {
	for rec, err := range r.decoder.Records(b) {
		if err != nil {
			return false
		}
		if h.Control() {
			t, err := batch.ParseControlKey(rec.Key)
			r.footer = r.footer || err == nil && t == batch.SnapshotFooter
			continue
		}
		if concerns(rec.Value) && !r.apply(rec.Value) {
			return false
		}
	}
	return true
}

// Types of the records that are decoded; all others are stepped over.
var (
	typeFeature = metarec.NewFeatureLevelRecord().MessageType()
	typeBegin   = metarec.NewBeginTransactionRecord().MessageType()
	typeEnd     = metarec.NewEndTransactionRecord().MessageType()
	typeAbort   = metarec.NewAbortTransactionRecord().MessageType()
)

// concerns looks at the frame of a metadata record: its version, then its type.
func concerns(framed []byte) bool {
	if len(framed) < 2 {
		return false
	}
	t, n := binary.Uvarint(framed[1:])
	if n <= 0 {
		return false
	}
	switch t {
	case uint64(typeFeature), uint64(typeBegin), uint64(typeEnd), uint64(typeAbort):
		return true
	}
	return false
}

func (r *replay) apply(framed []byte) bool {
	m, _, err := metarec.ReadMetadata(framed)
	if err != nil {
		return false
	}
	switch m := m.(type) {
	case *metarec.FeatureLevelRecord:
		r.pending = append(r.pending, m)
	case *metarec.BeginTransactionRecord:
		r.inside = true
	case *metarec.EndTransactionRecord:
		r.inside = false
	case *metarec.AbortTransactionRecord:
		r.inside, r.pending = false, nil
	}
	if !r.inside {
		r.settle()
	}
	return true
}

func (r *replay) settle() {
	for _, f := range r.pending {
		if r.settled == nil {
			r.settled = map[string]int16{}
		}
		r.settled[f.Name] = f.FeatureLevel
	}
	maps.DeleteFunc(r.settled, func(_ string, level int16) bool { return level == 0 })
	r.pending = nil
}
