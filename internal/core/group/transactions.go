package group

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// transactions are the offsets of transactions that have not ended, by producer.
type transactions map[kafka.ProducerID][]txnOffset

// txnOffset is an offset that counts when its transaction is committed.
type txnOffset struct {
	group string
	tp    kafka.TopicPartition
	value committedOffset
}

// hold keeps an offset back until its transaction ends.
func (t *transactions) hold(producer kafka.ProducerID, x txnOffset, at *offset) {
	if *t == nil {
		*t = make(transactions)
	}
	(*t)[producer] = append((*t)[producer], x)
	at.txns++
}

// end lets the offsets of a transaction count, or drops them.
func (t transactions) end(groups map[string]*classic, producer kafka.ProducerID, commit bool) {
	for _, x := range t[producer] {
		g := groups[x.group]
		if g == nil {
			continue // deleted since
		}
		at := g.offsets[x.tp]
		if at == nil {
			continue
		}
		at.txns = max(at.txns-1, 0)
		if commit && (!at.set || x.value.order > at.order) {
			at.committedOffset, at.set = x.value, true
		}
		g.offsets.settle(x.tp, at)
	}
	delete(t, producer)
}

// EndTransaction writes the marker of a transaction, whose offsets count from then
// on, or never. Call.Group is not used. It is answered when the marker is
// committed; errors are those of the partition's log, in the words of group
// coordinators.
type EndTransaction struct {
	Call
	Producer    kafka.ProducerID
	Epoch       int16 // of the producer
	Coordinator int32 // epoch of the transaction coordinator
	Commit      bool
	// Version is the transaction.version of the transaction.
	Version int16
}

// endTransaction writes a marker, as a unit of its own: offsets that are committed
// before and after it count as the log has them.
func (s *Shard) endTransaction(r *EndTransaction) {
	s.desk.open(&endUnit{shard: s, r: r})
	s.desk.journal.marker(r)
}

// endUnit is a marker on its way to the log.
type endUnit struct {
	shard *Shard
	r     *EndTransaction
	done  bool // answered late
}

func (u *endUnit) committed() {
	u.shard.ReplayMarker(u.r.Producer, u.r.Commit)
	u.failed(kerr.None)
}

func (u *endUnit) failed(err kerr.Code) {
	if !u.done {
		u.shard.desk.answer(u.r, err)
	}
}

func (u *endUnit) late(err kerr.Code) {
	u.done = true
	u.shard.desk.answer(u.r, err)
}
