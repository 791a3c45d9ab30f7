package storage

import (
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/vfs"
)

// waiting runs what is to wait for the disk at an operation, and tells whether
// an append could go on meanwhile.
func (r *rig) waiting(rule vfs.Rule, doing string, do func() error) {
	r.t.Helper()
	hang := make(chan struct{})
	rule.Hang = hang
	r.fault.Inject(rule)
	done := make(chan error)
	go func() { done <- do() }()
	synctest.Wait()
	select {
	case err := <-done:
		r.t.Fatalf("%s did not wait for the disk: %v", doing, err)
	default:
	}
	if !r.writer.TryLock() {
		r.t.Errorf("%s keeps appends waiting for the disk", doing)
	} else {
		r.writer.Unlock()
	}
	close(hang)
	must(r.t, <-done)
	r.fault.Heal()
}

func TestAppendsDoNotWaitForOthersAtTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := compacted(t)
		for range 3 {
			r.put(batch.Options{}, "a=1", "b=1")
			must(t, r.Roll())
		}
		r.put(batch.Options{}, "a=1")
		r.waiting(vfs.Rule{Ops: vfs.OpRead, Path: ".log"}, "a lookup by time", func() error {
			_, _, err := r.OffsetForTimestamp(1, 9)
			return err
		})
		r.reopen(true)
		r.waiting(vfs.Rule{Ops: vfs.OpRead, Path: ".log"}, "the lookup of the largest time", func() error {
			_, _, err := r.MaxTimestampOffset()
			return err
		})
		d, err := r.Dirt(0, r.End(), never)
		must(t, err)
		for skip := range 2 {
			r.waiting(vfs.Rule{Ops: vfs.OpSyncDir, Skip: skip}, "a compaction", func() error {
				_, err := (&Compactor{KeyBytes: 1 << 20}).Compact(r.Log, d)
				return err
			})
		}
	})
}
