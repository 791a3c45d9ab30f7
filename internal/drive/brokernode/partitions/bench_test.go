package partitions_test

import (
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// The steady produce path: check, append, decide, confirm.
func produceOnce(t testing.TB, p *partitions.Partition, b []byte) {
	batch.SetBaseOffset(b, 0) // the last append has moved it
	checked, err := batch.ValidateProduce(b, p.BatchPolicy(1000))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Append(checked.Batch, true)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := p.Acked(got, true); !done || err != nil {
		t.Fatal(done, err)
	}
}

func onDisk(t testing.TB) *partitions.Partition {
	b := testbed.New(t, vfs.OS{}, t.TempDir(), 1).Start()
	b.Topic("t", 1)
	return b.Find("t", 0)
}

func TestSteadyProduceAllocatesNothing(t *testing.T) {
	p, in := onDisk(t), records(10)
	produceOnce(t, p, in)
	if n := testing.AllocsPerRun(200, func() { produceOnce(t, p, in) }); n >= 1 {
		t.Errorf("%v allocations for a batch", n)
	}
}

func BenchmarkProduce(b *testing.B) {
	p, in := onDisk(b), records(100)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		produceOnce(b, p, in)
	}
}

func BenchmarkRead(b *testing.B) {
	p, in := onDisk(b), records(100)
	for range 1000 {
		produceOnce(b, p, in)
	}
	b.ReportAllocs()
	for b.Loop() {
		d, err := p.Read(partitions.Consumer, want(50_000))
		if err != nil {
			b.Fatal(err)
		}
		d.Records.Close()
	}
}
