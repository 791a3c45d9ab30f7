package storage

import (
	"math"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// rememberedBatches is how many batches of a producer are known, so that a
// retry of any of them is answered instead of written again. Clients have at
// most five in flight.
const rememberedBatches = 5

const noCoordinator int32 = -1

// produced is one batch that a producer has written.
type produced struct {
	first, last int32 // sequences
	lastOffset  kafka.Offset
	delta       int32 // last offset - base offset
	time        int64 // the batch's max timestamp
}

func (p produced) base() kafka.Offset { return p.lastOffset - kafka.Offset(p.delta) }

// producer is what the log knows of one producer id.
type producer struct {
	epoch       int16
	coordinator int32 // epoch of the transaction coordinator that wrote the last marker
	// lastTime is when the producer was last heard of: the larger of its
	// batch's time and ours, so that a client with an old clock, or without
	// timestamps, is not forgotten at once.
	lastTime int64
	txnFirst kafka.Offset // first offset of the open transaction, or NoOffset
	batches  [rememberedBatches]produced
	count    int8 // how many of batches are set, oldest first
}

func (p *producer) lastBatch() (produced, bool) {
	if p.count == 0 {
		return produced{}, false
	}
	return p.batches[p.count-1], true
}

func (p *producer) remember(b produced) {
	if p.count == rememberedBatches {
		copy(p.batches[:], p.batches[1:])
		p.count--
	}
	p.batches[p.count] = b
	p.count++
}

// transaction is the range of one transaction in this log.
type transaction struct {
	producer kafka.ProducerID
	first    kafka.Offset
	last     kafka.Offset // of its marker, once it is complete
}

// producers is the state of all producers of one log. It is nil-safe to read
// and costs nothing until the first producer shows up.
type producers struct {
	byID map[kafka.ProducerID]*producer
	// open are the transactions without a marker, by their first offset.
	open []transaction
	// undecided are complete ones whose marker is not below the high watermark.
	undecided []transaction
}

// verdict is what a check of a leader's append found.
type verdict struct {
	duplicate bool
	base, end kafka.Offset // of the batch that was already written
	time      int64
}

// duplicate tells whether a client's batch is one of the last that its producer
// has written.
func (ps *producers) duplicate(h batch.Header) verdict {
	p := ps.byID[h.ProducerID]
	if p == nil || h.ProducerEpoch != p.epoch {
		return verdict{}
	}
	for _, b := range p.batches[:p.count] {
		if b.first == h.BaseSequence && b.last == h.LastSequence() {
			return verdict{duplicate: true, base: b.base(), end: b.lastOffset + 1, time: b.time}
		}
	}
	return verdict{}
}

// isOpen tells whether a producer has an open transaction in an epoch.
func (ps *producers) isOpen(id kafka.ProducerID, epoch int16) bool {
	p := ps.byID[id]
	return p != nil && p.txnFirst != kafka.NoOffset && p.epoch == epoch
}

// check decides whether a client's batch may follow what its producer wrote so
// far, and what it tried to: tried is nil for a producer that has no batch whose
// transaction is to be verified. It changes nothing.
func (ps *producers) check(h batch.Header, tried *verification) error {
	p := ps.byID[h.ProducerID]
	if p != nil && h.ProducerEpoch < p.epoch {
		return kerr.Errorf(kerr.InvalidProducerEpoch,
			"producer %d has epoch %d, the batch has %d", h.ProducerID, p.epoch, h.ProducerEpoch)
	}
	if err := tried.checkSequence(h, p); err != nil {
		return err
	}
	if p == nil {
		return nil // the state may have expired: any sequence is taken
	}
	if err := p.checkSequence(h); err != nil {
		return err
	}
	if p.txnFirst != kafka.NoOffset && !h.Transactional() {
		return kerr.Errorf(kerr.InvalidTxnState,
			"producer %d has an open transaction and wrote outside of it", h.ProducerID)
	}
	return nil
}

func (p *producer) checkSequence(h batch.Header) error {
	if h.ProducerEpoch != p.epoch {
		if h.BaseSequence != 0 && p.epoch != -1 {
			return kerr.Errorf(kerr.OutOfOrderSequenceNumber,
				"producer %d starts epoch %d with sequence %d instead of 0", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		}
		return nil
	}
	want := int32(0)
	if last, ok := p.lastBatch(); ok {
		want = batch.AddSequence(last.last, 1)
	}
	if p.epoch != -1 && h.BaseSequence != want {
		return kerr.Errorf(kerr.OutOfOrderSequenceNumber,
			"producer %d sent sequence %d, %d is next", h.ProducerID, h.BaseSequence, want)
	}
	return nil
}

// bumping is the transaction.version from which on the end of a transaction raises
// its producer's epoch (KIP-890).
const bumping = 2

// checkMarker decides whether a transaction marker may be written that was sent
// under a transaction.version.
func (ps *producers) checkMarker(h batch.Header, coordinator int32, version int16) error {
	p := ps.byID[h.ProducerID]
	switch {
	case p == nil:
		return nil
	case h.ProducerEpoch < p.epoch || version >= bumping && !p.mayBump(h.ProducerEpoch):
		return kerr.Errorf(kerr.InvalidProducerEpoch,
			"producer %d has epoch %d, the marker has %d", h.ProducerID, p.epoch, h.ProducerEpoch)
	case coordinator < p.coordinator:
		return kerr.Errorf(kerr.TransactionCoordinatorFenced,
			"coordinator epoch %d is older than %d", coordinator, p.coordinator)
	}
	return nil
}

// mayBump tells whether a marker with an epoch may end a transaction, given that
// each marker raises the epoch: one with the epoch that the producer has is of a
// transaction before. It may come once more, as its coordinator may not have had
// the answer, while no transaction has begun since. The last epoch cannot be
// raised any more (KIP-1228).
func (p *producer) mayBump(epoch int16) bool {
	return epoch > p.epoch || p.txnFirst == kafka.NoOffset || epoch == math.MaxInt16
}

func (ps *producers) get(id kafka.ProducerID) *producer {
	p := ps.byID[id]
	if p == nil {
		p = &producer{epoch: -1, coordinator: noCoordinator, txnFirst: kafka.NoOffset}
		if ps.byID == nil {
			ps.byID = map[kafka.ProducerID]*producer{}
		}
		ps.byID[id] = p
	}
	return p
}

// appended takes in a data batch that is in the log; nowMs is when it got
// there, by our clock.
func (ps *producers) appended(h batch.Header, nowMs int64) {
	p := ps.get(h.ProducerID)
	if h.ProducerEpoch != p.epoch {
		p.epoch, p.count = h.ProducerEpoch, 0
	}
	if h.BaseSequence != batch.NoSequence {
		p.remember(produced{h.BaseSequence, h.LastSequence(), h.Last(), h.LastOffsetDelta, h.MaxTimestamp})
	}
	p.lastTime = max(p.lastTime, h.MaxTimestamp, nowMs)
	if h.Transactional() && p.txnFirst == kafka.NoOffset {
		p.txnFirst = h.BaseOffset
		ps.open = append(ps.open, transaction{producer: h.ProducerID, first: h.BaseOffset})
	}
}

// marked takes in a transaction marker that is in the log. When it ends a
// transaction that wrote something here, it gives that.
func (ps *producers) marked(h batch.Header, coordinator int32, nowMs int64) (transaction, bool) {
	p := ps.get(h.ProducerID)
	if h.ProducerEpoch > p.epoch {
		p.epoch, p.count = h.ProducerEpoch, 0
	}
	p.coordinator = coordinator
	p.lastTime = max(p.lastTime, h.MaxTimestamp, nowMs)
	if p.txnFirst == kafka.NoOffset {
		return transaction{}, false
	}
	done := transaction{producer: h.ProducerID, first: p.txnFirst, last: h.Last()}
	p.txnFirst = kafka.NoOffset
	ps.open = slices.DeleteFunc(ps.open, func(t transaction) bool { return t.producer == h.ProducerID })
	ps.undecided = append(ps.undecided, done)
	return done, true
}

// firstOpen is the first offset of the oldest open transaction.
func (ps *producers) firstOpen() kafka.Offset {
	if len(ps.open) == 0 {
		return math.MaxInt64
	}
	return ps.open[0].first
}

// stableBelow is the last stable offset under a high watermark: nothing at or
// above it is decided and replicated yet.
func (ps *producers) stableBelow(hw kafka.Offset) kafka.Offset {
	ps.undecided = slices.DeleteFunc(ps.undecided, func(t transaction) bool { return t.last < hw })
	stable := min(hw, ps.firstOpen())
	for _, t := range ps.undecided {
		stable = min(stable, t.first)
	}
	return stable
}

// sinceOpen is when the producer of the oldest open transaction was last heard of,
// in ms; 0 without an open transaction.
func (ps *producers) sinceOpen() int64 {
	if len(ps.open) == 0 {
		return 0
	}
	return ps.byID[ps.open[0].producer].lastTime
}

// expire forgets producers not heard of for a while. One with an open
// transaction stays.
func (ps *producers) expire(nowMs, ageMs int64) {
	for id, p := range ps.byID {
		if p.txnFirst == kafka.NoOffset && nowMs-p.lastTime >= ageMs {
			delete(ps.byID, id)
		}
	}
}

// isLastBatch tells whether a batch is the newest of a producer that is known:
// compaction keeps its header, as the sequence, or after a marker the epoch,
// would be lost with it.
func (ps *producers) isLastBatch(h batch.Header) bool {
	p := ps.byID[h.ProducerID]
	if p == nil {
		return false
	}
	if last, ok := p.lastBatch(); ok {
		return last.lastOffset == h.Last()
	}
	return h.Control() && h.ProducerEpoch == p.epoch
}
