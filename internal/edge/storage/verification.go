package storage

import (
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Guard ties an append to the question that was asked about it. A leader asks the
// coordinator whether a partition belongs to a producer's transaction before the
// first batch of it (KIP-890), and must not trust an answer that a marker has
// overtaken:
//
//  1. The leader asks about transaction 1; the answer, yes, is slow.
//  2. Transaction 1 is aborted, and its marker is written here.
//  3. Transaction 2 of the producer begins elsewhere.
//  4. The answer comes. Were the batch taken now, transaction 2 would end without
//     a marker here, and readers of committed records would stand still for ever.
//
// So whatever is written of the producer's transactions takes the guard away, and
// no two guards of a log are equal. The zero Guard is none.
type Guard uint64

// Origin says where the batches of a leader's append come from. The zero value is
// a client or coordinator whose transactions nobody has to verify.
type Origin struct {
	// Verified asks of a transactional batch that its transaction is open here
	// already, or that Guard still stands.
	Verified bool
	Guard    Guard
	// TransactionVersion is the transaction.version under which a marker was sent
	// (KIP-1228). From 2 on the marker raises the producer's epoch.
	TransactionVersion int16
}

// Attempt is the first batch of a transaction that a client wants to append.
type Attempt struct {
	Producer kafka.ProducerID
	Epoch    int16
	Sequence int32
	// Adds: the question also adds the partition to the transaction, so the
	// producer begins each transaction with an epoch of its own (KIP-890, part 2).
	Adds bool
}

// verification is what is remembered of a producer from the first attempt until
// something of its transaction is written.
type verification struct {
	guard Guard
	since int64 // ms; when it was first asked
	adds  bool
	// epoch is the newest that was tried, and lowest its lowest sequence: a batch
	// behind it must not be the first to get in.
	epoch  int16
	lowest int32
}

// verifications are those of one log, by producer.
type verifications struct {
	last Guard
	byID map[kafka.ProducerID]*verification
}

func (vs *verifications) begin(a Attempt, nowMs int64) Guard {
	v := vs.byID[a.Producer]
	if v == nil {
		vs.last++
		v = &verification{guard: vs.last, since: nowMs, adds: a.Adds, epoch: a.Epoch, lowest: a.Sequence}
		if vs.byID == nil {
			vs.byID = map[kafka.ProducerID]*verification{}
		}
		vs.byID[a.Producer] = v
	}
	switch {
	case a.Epoch > v.epoch:
		v.epoch, v.lowest = a.Epoch, a.Sequence
	case a.Epoch == v.epoch:
		v.lowest = min(v.lowest, a.Sequence)
	}
	return v.guard
}

// end forgets a producer of whose transaction something was written.
func (vs *verifications) end(id kafka.ProducerID) { delete(vs.byID, id) }

// expire forgets attempts that nothing came of.
func (vs *verifications) expire(nowMs, ageMs int64) {
	for id, v := range vs.byID {
		if nowMs-v.since >= ageMs {
			delete(vs.byID, id)
		}
	}
}

// admit refuses a transactional batch that nobody stands for.
func (vs *verifications) admit(h batch.Header, o Origin) error {
	v := vs.byID[h.ProducerID]
	if v == nil || o.Guard == 0 || v.guard != o.Guard {
		return kerr.Errorf(kerr.InvalidTxnState, "the batch of producer %d is not part of a transaction that is open here", h.ProducerID)
	}
	return nil
}

// checkSequence refuses what would get in before a batch that was tried earlier,
// and may still come: the producer's state alone takes any sequence for the first.
// p is nil for a producer that is not known.
func (v *verification) checkSequence(h batch.Header, p *producer) error {
	fresh := p == nil || p.count == 0
	switch {
	case v == nil:
		return nil
	case v.adds && fresh && h.BaseSequence != 0:
		return kerr.Errorf(kerr.OutOfOrderSequenceNumber,
			"producer %d begins a transaction with sequence %d instead of 0", h.ProducerID, h.BaseSequence)
	case h.BaseSequence > v.lowest:
		return kerr.Errorf(kerr.OutOfOrderSequenceNumber,
			"producer %d sent sequence %d, %d was tried before", h.ProducerID, h.BaseSequence, v.lowest)
	}
	return nil
}

// BeginTransaction notes that a producer wants to append the first batch of a
// transaction, and gives the guard to append it with once its coordinator has
// been asked. Open says that there is nothing to ask: the transaction is open here
// already.
func (l *Log) BeginTransaction(a Attempt) (g Guard, open bool) {
	l.writer.Lock()
	defer l.writer.Unlock()
	if l.producers.isOpen(a.Producer, a.Epoch) {
		return 0, true
	}
	return l.verifying.begin(a, l.nowMs()), false
}
