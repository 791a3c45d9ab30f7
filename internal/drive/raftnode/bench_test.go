package raftnode

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// BenchmarkAppend is one writer of an only voter: appended, synced, committed
// and told to a listener, one at a time and many under way.
func BenchmarkAppend(b *testing.B) {
	for _, deep := range []int{1, 64} {
		b.Run(fmt.Sprintf("memory/%d", deep), func(b *testing.B) { benchmarkAppend(b, vfs.NewMem(), "/d/__cluster_metadata-0", deep) })
		b.Run(fmt.Sprintf("disk/%d", deep), func(b *testing.B) { benchmarkAppend(b, vfs.OS{}, b.TempDir()+"/__cluster_metadata-0", deep) })
	}
}

// counted is a listener that only tells how far it is.
type counted struct{ ends chan kafka.Offset }

func (c counted) Snapshot(*SnapshotReader) {}
func (c counted) Commit(all []Batch)       { c.ends <- all[len(all)-1].End }
func (c counted) Leader(LeaderAndEpoch)    {}

func benchmarkAppend(b *testing.B, fsys vfs.FS, dir string, deep int) {
	n := start(b, lone(fsys, dir))
	defer stop(b, n)
	ends := make(chan kafka.Offset, 4096)
	n.Subscribe(counted{ends})
	reach := func(end kafka.Offset) {
		for <-ends < end {
		}
	}
	reach(1)
	records := [][]byte{record(b, 1)}
	var last kafka.Offset
	under := 0
	b.ReportAllocs()
	for b.Loop() {
		end, err := n.Append(1, records)
		if err != nil {
			b.Fatal(err)
		}
		last = end
		if under++; under == deep {
			reach(end)
			under = 0
		}
	}
	if under > 0 {
		reach(last)
	}
}
