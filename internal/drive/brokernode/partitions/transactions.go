package partitions

import (
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/storage"
)

// lateBuffer is how much later than transaction.max.timeout.ms a transaction may
// end, as its coordinator looks for those to abort from time to time only.
const lateBuffer = 5 * time.Minute

// Verifies tells whether transactional batches need a transaction that is open
// here, or the word of its coordinator.
func (m *Manager) Verifies() bool { return m.cfg.Verify == nil || m.cfg.Verify() }

// isLate tells whether a transaction is late whose producer was last heard of at
// since, in ms, or 0 without one.
func (m *Manager) isLate(since int64, now time.Time) bool {
	return since > 0 && now.Sub(time.UnixMilli(since)) > m.lateAfter
}

// BeginTransaction notes that a producer wants to append the first batch of a
// transaction. It gives the guard to append that batch with, once the coordinator
// has been asked; 0 where the transaction is open here already, so that there is
// nothing to ask. Errors carry a kerr code.
func (p *Partition) BeginTransaction(a storage.Attempt) (storage.Guard, error) {
	if !p.enter() {
		return 0, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.leads(kafka.NoEpoch); err != nil {
		return 0, err
	}
	guard, _ := p.log.BeginTransaction(a)
	return guard, nil
}

// EndTransaction appends the marker that ends a transaction here, in a leader
// epoch or, with kafka.NoEpoch, in whichever it is. Its sender waits for all
// in-sync replicas. version is the transaction.version of the transaction. Errors
// carry a kerr code.
func (p *Partition) EndTransaction(epoch kafka.Epoch, end batch.EndTxn, version int16) (Appended, error) {
	end.AppendTime = p.Policy().LogAppendTime
	return p.appendAndWake(batch.AppendEndTxn(nil, end), true, epoch, storage.Origin{TransactionVersion: version})
}
