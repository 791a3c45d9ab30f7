package metapeek

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/batch/batchtest"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

const dir = "/d/__cluster_metadata-0"

// disk is a memory disk with a metadata folder.
type disk struct {
	testing.TB
	fs *vfs.Mem
}

func newDisk(t testing.TB) disk {
	t.Helper()
	d := disk{t, vfs.NewMem()}
	if err := vfs.MkdirAllSync(d.fs, dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d disk) put(name string, batches ...[]byte) {
	d.Helper()
	var all []byte
	for _, b := range batches {
		all = append(all, b...)
	}
	if err := vfs.WriteFileAtomic(d.fs, filepath.Join(dir, name), all); err != nil {
		d.Fatal(err)
	}
}

func segment(first kafka.Offset) string { return fmt.Sprintf("%020d.log", first) }

func snapshot(end kafka.Offset) string { return fmt.Sprintf("%020d-0000000001.checkpoint", end) }

// data is a batch of metadata records.
func data(t testing.TB, at kafka.Offset, records ...metarec.Message) []byte {
	t.Helper()
	b := batch.NewBuilder(batch.Options{BaseOffset: at, LeaderEpoch: 1})
	for _, m := range records {
		framed, err := metarec.AppendMetadata(nil, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.Add(0, nil, framed)
	}
	return b.Build(nil)
}

// control is a batch of control records.
func control(t testing.TB, at kafka.Offset, records ...metarec.Message) []byte {
	t.Helper()
	b := batch.NewBuilder(batch.Options{BaseOffset: at, LeaderEpoch: 1, Control: true})
	for _, m := range records {
		value, err := metarec.AppendControlValue(nil, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.AddControl(0, batch.ControlType(m.MessageType()), value)
	}
	return b.Build(nil)
}

func level(name string, n int16) metarec.Message {
	return &metarec.FeatureLevelRecord{Name: name, FeatureLevel: n}
}

func header() metarec.Message { return metarec.NewSnapshotHeaderRecord() }

func footer() metarec.Message { return metarec.NewSnapshotFooterRecord() }

func (d disk) want(want map[string]int16) {
	d.Helper()
	quiet := vfs.NewFault(d.fs)
	if diff := cmp.Diff(want, Features(quiet, dir)); diff != "" {
		d.Errorf("want -, got +\n%s", diff)
	}
	if n := quiet.Changes(); n != 0 {
		d.Errorf("%d changes of the disk", n)
	}
}

// "the newest whole snapshot in the metadata folder, and the log that follows
// it."
func TestSnapshotThenLog(t *testing.T) {
	d := newDisk(t)
	d.want(nil)
	d.put(segment(0), control(t, 0, metarec.NewLeaderChangeMessage()),
		data(t, 1, level("a", 1), level("b", 1), level("gone", 1)), data(t, 4, level("gone", 0)))
	d.want(map[string]int16{"a": 1, "b": 1})
	// The snapshot stands for more than the first segment, and for a part of the second.
	d.put(segment(5), data(t, 5, level("old", 1)), data(t, 6, level("b", 3), metarec.NewNoOpRecord()))
	d.put(snapshot(6), control(t, 0, header()), data(t, 1, level("a", 2), level("b", 2)), control(t, 3, footer()))
	d.put(snapshot(4), control(t, 0, header()), data(t, 1, level("older", 2)), control(t, 3, footer()))
	d.want(map[string]int16{"a": 2, "b": 3})
	// A newer one that is not whole is passed over.
	d.put(snapshot(7), control(t, 0, header()), data(t, 1, level("a", 9)))
	d.want(map[string]int16{"a": 2, "b": 3})
}

// "neither are the records for a new cluster in checkpoint 0-0."
func TestRecordsForANewClusterAreNotRead(t *testing.T) {
	d := newDisk(t)
	d.put("00000000000000000000-0000000000.checkpoint", control(t, 0, header()), data(t, 1, level("a", 2)), control(t, 2, footer()))
	d.want(nil)
}

// "a torn tail: nothing behind it counts."
func TestTornTail(t *testing.T) {
	whole := [][]byte{data(t, 0, level("a", 1)), data(t, 1, level("a", 2))}
	for cut := range len(whole[1]) {
		d := newDisk(t)
		d.put(segment(0), whole[0], whole[1][:cut])
		d.put(segment(2), data(t, 2, level("a", 3)))
		want := map[string]int16{"a": 1}
		if cut == 0 {
			want["a"] = 3
		}
		d.want(want)
	}
	d := newDisk(t)
	d.put(segment(0), whole[0], make([]byte, 4096))
	d.want(map[string]int16{"a": 1})
	rotten := append([]byte(nil), whole[1]...)
	rotten[len(rotten)-1] ^= 1
	d.put(segment(0), whole[0], rotten)
	d.want(map[string]int16{"a": 1})
}

// "it may be aborted, and one without an end will be" (KIP-868).
func TestTransactions(t *testing.T) {
	begin, end, abort := metarec.NewBeginTransactionRecord(), metarec.NewEndTransactionRecord(), metarec.NewAbortTransactionRecord()
	f := func(want int16, records ...metarec.Message) {
		t.Helper()
		d := newDisk(t)
		d.put(segment(0), data(t, 0, level("a", 1)), data(t, 1, records...))
		d.want(map[string]int16{"a": want})
	}
	f(2, begin, level("a", 2), end)
	f(1, begin, level("a", 2), abort)
	f(1, begin, level("a", 2))
	f(3, begin, level("a", 2), abort, level("a", 3))
}

// Whatever lies in the folder, it is read without a panic and not changed.
func FuzzFeatures(f *testing.F) {
	f.Add(data(f, 0, level("a", 1)), control(f, 0, footer()), false)
	f.Add(data(f, 0, metarec.NewBeginTransactionRecord(), level("a", 1)), []byte{0}, true)
	f.Fuzz(func(t *testing.T, log, check []byte, sealed bool) {
		const most = 4 << 10
		log, check = log[:min(len(log), most)], check[:min(len(check), most)]
		if sealed { // right checksums, so that damage reaches what lies behind them
			log, check = batchtest.Resealed(log), batchtest.Resealed(check)
		}
		d := newDisk(t)
		d.put(segment(0), log)
		d.put(snapshot(1), check)
		quiet := vfs.NewFault(d.fs)
		Features(quiet, dir)
		if n := quiet.Changes(); n != 0 {
			t.Errorf("%d changes of the disk", n)
		}
	})
}

func BenchmarkFeatures(b *testing.B) {
	d := newDisk(b)
	d.put(segment(0), data(b, 0, level("a", 1), level("b", 1)))
	b.ReportAllocs()
	for b.Loop() {
		Features(d.fs, dir)
	}
}
