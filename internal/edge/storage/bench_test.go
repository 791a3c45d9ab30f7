package storage

import (
	"encoding/binary"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

func diskLog(t testing.TB) *Log {
	t.Helper()
	l, err := Open(Options{FS: vfs.OS{}, Dir: t.TempDir() + "/t-0", TP: kafka.TopicPartition{Topic: "t"}, Config: testConfig()})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close(false)) })
	return l
}

// sequenceAt is where the base sequence stands in a batch.
const sequenceAt = 53

// A partition's appends are the busiest path of a broker: in the steady state
// they leave the garbage collector nothing to do.
func TestAppendAllocatesNothing(t *testing.T) {
	l := diskLog(t)
	f := func(what string, b []byte, idempotent bool) {
		t.Helper()
		sequence := uint32(0)
		allocs := testing.AllocsPerRun(2000, func() {
			if idempotent {
				binary.BigEndian.PutUint32(b[sequenceAt:], sequence)
				sequence += 10
			}
			if _, err := l.AppendLeader(b, 1); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations for an append of %s, want 0", allocs, what)
		}
	}
	f("a plain batch", plain("value", 10), false)
	f("a producer's batch", records("value", 10, 1, batch.Options{Producer: &batch.Producer{ID: 1}}), true)
}

func TestReadAtTheEndAllocatesNothing(t *testing.T) {
	l := diskLog(t)
	b := plain("value", 10)
	allocs := testing.AllocsPerRun(1000, func() {
		from := l.End()
		if _, err := l.AppendLeader(b, 1); err != nil {
			t.Fatal(err)
		}
		s, err := l.Read(from, 1<<20, l.End(), true)
		if err != nil || s.Len != int64(len(b)) {
			t.Fatal(s.Len, err)
		}
		s.Close()
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a read at the end, want 0", allocs)
	}
}

func benchmarkAppend(b *testing.B, size int) {
	l := diskLog(b)
	set := records(string(make([]byte, size)), 1, 1_700_000_000_000, batch.Options{})
	b.SetBytes(int64(len(set)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.AppendLeader(set, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend1KiB(b *testing.B)  { benchmarkAppend(b, 1<<10) }
func BenchmarkAppend16KiB(b *testing.B) { benchmarkAppend(b, 16<<10) }

func BenchmarkReadBehind(b *testing.B) {
	l := diskLog(b)
	set := records(string(make([]byte, 1000)), 1, 1_700_000_000_000, batch.Options{})
	const n = 20_000
	for range n {
		_, err := l.AppendLeader(set, 1)
		must(b, err)
	}
	at := kafka.Offset(0)
	b.ReportAllocs()
	for b.Loop() {
		at = (at + 7919) % (n - 100)
		s, err := l.Read(at, 1<<20, n, true)
		must(b, err)
		s.Close()
	}
}

func BenchmarkOpenAfterKill(b *testing.B) {
	dir := b.TempDir() + "/t-0"
	opt := Options{FS: vfs.OS{}, Dir: dir, TP: kafka.TopicPartition{Topic: "t"}, Config: testConfig(), SameBoot: true}
	l, err := Open(opt)
	must(b, err)
	set := records(string(make([]byte, 16<<10)), 1, 1_700_000_000_000, batch.Options{})
	for range 8 << 10 { // 128 MiB
		_, err := l.AppendLeader(set, 1)
		must(b, err)
	}
	must(b, l.CloseIdle())
	for b.Loop() {
		l, err := Open(opt)
		must(b, err)
		if l.End() != 8<<10 {
			b.Fatal("the log lost records")
		}
		must(b, l.CloseIdle())
	}
}
