package batchtest

import (
	"bytes"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
)

func TestResealedBatchesHaveTheirChecksums(t *testing.T) {
	b := batch.NewBuilder(batch.Options{})
	b.Add(1, []byte("k"), []byte("v"))
	one := b.Build(nil)
	whole := append(bytes.Clone(one), one...)
	if got := Resealed(whole); !bytes.Equal(got, whole) {
		t.Errorf("whole batches changed: %x", got)
	}
	damaged := bytes.Clone(whole)
	damaged[batch.HeaderSize+2] ^= 1
	damaged[len(damaged)-1] ^= 1
	got, n := Resealed(damaged), 0
	for _, one := range batch.All(got) {
		if n++; !batch.CheckCRC(one) {
			t.Errorf("batch %d has a wrong checksum", n)
		}
	}
	if n != 2 || bytes.Equal(got, damaged) {
		t.Errorf("%d batches, %x", n, got)
	}
	for n := range whole {
		Resealed(whole[:n])
	}
}
