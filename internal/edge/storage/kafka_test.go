package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// kafkaFolder copies a partition's folder that Apache Kafka 4.4 wrote.
func kafkaFolder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "kafka", name))))
	return dir
}

func openKafka(t *testing.T, dir string, change ...func(*Options)) *Log {
	t.Helper()
	opt := Options{FS: vfs.OS{}, Dir: dir, Config: testConfig(), Clean: true, Now: time.Now}
	for _, f := range change {
		f(&opt)
	}
	l, err := Open(opt)
	must(t, err)
	t.Cleanup(func() { _ = l.Close(false) })
	return l
}

func TestKafkasLogsOpen(t *testing.T) {
	f := func(name string, end kafka.Offset, segments int, producers string) {
		t.Helper()
		for _, clean := range []bool{true, false} {
			l := openKafka(t, kafkaFolder(t, name), func(o *Options) { o.Clean = clean })
			if l.End() != end || l.Segments() != segments || l.LastEpoch() != 0 || l.TopicID().IsZero() {
				t.Errorf("%s clean=%v: end %d, %d segments, epoch %d, topic %s; want %d, %d, 0", name, clean, l.End(), l.Segments(), l.LastEpoch(), l.TopicID(), end, segments)
			}
			var got []string
			for _, p := range l.Producers() {
				got = append(got, fmt.Sprintf("%d:%d:%d:%d", p.ID, p.Epoch, p.LastSequence, p.CoordinatorEpoch))
			}
			if strings.Join(got, " ") != producers {
				t.Errorf("%s clean=%v: producers %q, want %q", name, clean, got, producers)
			}
			checkDerived(t, l)
		}
	}
	f("alpha-0", 19, 2, "2:2:-1:0")
	f("alpha-1", 3, 1, "0:0:2:-1")
	f("beta-0", 4, 1, "1:0:1:-1 2:1:-1:0")
	f("__consumer_offsets-0", 19, 1, "2:1:-1:0")
}

func TestKafkasRecordsAreRead(t *testing.T) {
	l := openKafka(t, kafkaFolder(t, "alpha-0"))
	var got []string
	var d batch.Decoder
	for from := kafka.Offset(0); from < l.End(); {
		s, err := l.Read(from, 1<<20, l.End(), true)
		must(t, err)
		b, err := s.AppendTo(nil)
		must(t, err)
		s.Close()
		for h, bytes := range batch.All(b) {
			from = h.End()
			for r, err := range d.Records(bytes) {
				must(t, err)
				if !h.Control() {
					got = append(got, fmt.Sprintf("%d %s", r.Offset, strings.Fields(string(r.Value))[0]))
				}
			}
		}
	}
	if len(got) != 17 || got[0] != "0 value" || got[15] != "15 committed" || got[16] != "17 aborted" {
		t.Errorf("records are %q", got)
	}
	aborted, err := l.AbortedTxns(0, 19)
	must(t, err)
	if want := []AbortedTxn{{Producer: 2, First: 17, Last: 18, Stable: 19}}; !reflect.DeepEqual(aborted, want) {
		t.Errorf("aborted transactions are %v, want %v", aborted, want)
	}
	at, ok, err := l.OffsetForTimestamp(1700000003001, 19)
	must(t, err)
	if !ok || at.Offset != 10 {
		t.Errorf("a time in the lz4 batch is at %+v %v, want offset 10", at, ok)
	}
}

// Recovery builds the same index files that Kafka left after its clean stop.
func TestRecoveryBuildsKafkasBytes(t *testing.T) {
	for _, name := range []string{"alpha-0", "alpha-1", "beta-0", "__consumer_offsets-0"} {
		dir := kafkaFolder(t, name)
		l := openKafka(t, dir, func(o *Options) { o.Clean = false })
		must(t, l.Close(true))
		files, err := filepath.Glob(filepath.Join("testdata", "kafka", name, "*"))
		must(t, err)
		for _, want := range files {
			base := filepath.Base(want)
			if strings.HasSuffix(base, snapshotSuffix) {
				continue // holds the time when the producer was last heard of
			}
			a, err := os.ReadFile(want)
			must(t, err)
			b, err := os.ReadFile(filepath.Join(dir, base))
			must(t, err)
			if !slices.Equal(a, b) {
				t.Errorf("%s/%s is %x, Kafka's is %x", name, base, b, a)
			}
		}
	}
}

func TestSnapshotsHaveKafkasBytes(t *testing.T) {
	files, err := filepath.Glob("testdata/kafka/*/*.snapshot")
	must(t, err)
	if len(files) < 4 {
		t.Fatalf("only %d snapshots", len(files))
	}
	for _, name := range files {
		want, err := os.ReadFile(name)
		must(t, err)
		ps, err := decodeProducers(want)
		must(t, err)
		again, err := decodeProducers(ps.encode())
		must(t, err)
		if !reflect.DeepEqual(again, ps) || len(ps.encode()) != len(want) {
			t.Errorf("%s: %x read and written is %x", name, want, ps.encode())
		}
		if len(ps.byID) == 1 && !slices.Equal(ps.encode(), want) { // Kafka's order is that of a hash
			t.Errorf("%s: %x read and written is %x", name, want, ps.encode())
		}
	}
}

// Kafka lays out the index files of an active segment in full and leaves zeros
// behind the entries when it is killed.
func TestAnIndexFullOfZerosIsBuiltAgain(t *testing.T) {
	dir := kafkaFolder(t, "alpha-0")
	for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
		must(t, os.Truncate(filepath.Join(dir, FileName(16, suffix)), 10<<20/12*12))
	}
	l := openKafka(t, dir, func(o *Options) { o.Clean, o.SameBoot = false, true })
	if l.End() != 19 {
		t.Errorf("the log ends at %d", l.End())
	}
	checkDerived(t, l)
	info, err := os.Stat(filepath.Join(dir, FileName(16, indexSuffix)))
	must(t, err)
	if info.Size() > 100 {
		t.Errorf("the index has %d bytes", info.Size())
	}
}
