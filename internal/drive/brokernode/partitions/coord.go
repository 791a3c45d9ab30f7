package partitions

import (
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/await"
)

// What follows is how coordinators use the partitions of their internal topics.

// Append appends a batch to a partition we lead in the given epoch and tells
// where it ends. It waits for nothing; see OnCommit. Errors carry a kerr code.
func (m *Manager) Append(tp kafka.TopicPartition, epoch kafka.Epoch, b []byte) (Appended, error) {
	p, err := m.Named(tp)
	if err != nil {
		return Appended{}, err
	}
	return p.AppendAt(epoch, b)
}

// EndTransaction appends a transaction marker, like Append. See
// Partition.EndTransaction.
func (m *Manager) EndTransaction(tp kafka.TopicPartition, epoch kafka.Epoch, end batch.EndTxn, version int16) (Appended, error) {
	p, err := m.Named(tp)
	if err != nil {
		return Appended{}, err
	}
	return p.EndTransaction(epoch, end, version)
}

// OnCommit calls done once, with nil when all in-sync replicas have what was
// appended, or with the error that ended the wait. It may call before it
// returns, and calls without any lock of this package held.
func (m *Manager) OnCommit(tp kafka.TopicPartition, a Appended, done func(error)) {
	p, err := m.Named(tp)
	if err != nil {
		done(err)
		return
	}
	w := &commitWait{partition: p, appended: a, done: done}
	w.Init(m.cfg.Timers, w.try, w.finish)
	w.watch.Parked = &w.Parked
	p.AwaitCommit(&w.watch)
	w.Poke()
}

// commitWait is one OnCommit.
type commitWait struct {
	await.Parked
	watch     await.Watch
	partition *Partition
	appended  Appended
	err       error
	done      func(error)
}

func (w *commitWait) try() (done bool) {
	done, w.err = w.partition.Acked(w.appended, true)
	return done
}

func (w *commitWait) finish(await.Outcome) {
	w.partition.ForgetCommit(&w.watch)
	w.done(w.err)
}

// ReadBytes appends to dst up to maxBytes of whole and perhaps one cut batch,
// from the one that holds offset from, all below the high watermark, and tells
// the high watermark. Nothing is appended at the high watermark.
func (m *Manager) ReadBytes(dst []byte, tp kafka.TopicPartition, epoch kafka.Epoch, from kafka.Offset, maxBytes int) ([]byte, kafka.Offset, error) {
	p, err := m.Named(tp)
	if err != nil {
		return dst, kafka.NoOffset, err
	}
	d, err := p.Read(Consumer, Want{CurrentEpoch: epoch, Offset: from, LastEpoch: kafka.NoEpoch, MaxBytes: maxBytes, AtLeastOne: true})
	if err != nil {
		return dst, kafka.NoOffset, err
	}
	defer d.Records.Close()
	dst, err = d.Records.AppendTo(dst)
	return dst, d.HighWatermark, err
}

// Bounds are the log start and the high watermark of a partition we lead.
func (m *Manager) Bounds(tp kafka.TopicPartition, epoch kafka.Epoch) (start, highWatermark kafka.Offset, err error) {
	p, err := m.Named(tp)
	if err != nil {
		return 0, 0, err
	}
	if !p.enter() {
		return 0, 0, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.leads(epoch); err != nil {
		return 0, 0, err
	}
	return p.log.Start(), p.core.HighWatermark(), nil
}
