package storage

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// snapshotLimit bounds what is read of a producer snapshot: 23 million
// producers.
const snapshotLimit = 1 << 30

// encode writes a producer snapshot. Of each producer it holds the last batch
// only. Producers come in the order of their ids, so that equal states give
// equal bytes.
func (ps *producers) encode() []byte {
	s := metarec.NewProducerSnapshot()
	for _, id := range slices.Sorted(maps.Keys(ps.byID)) {
		p := ps.byID[id]
		last, ok := p.lastBatch()
		if !ok {
			last = produced{last: -1, lastOffset: kafka.NoOffset}
		}
		s.ProducerEntries = append(s.ProducerEntries, metarec.ProducerSnapshotProducerEntry{
			ProducerId:            int64(id),
			Epoch:                 p.epoch,
			LastSequence:          last.last,
			LastOffset:            int64(last.lastOffset),
			OffsetDelta:           last.delta,
			Timestamp:             p.lastTime,
			CoordinatorEpoch:      p.coordinator,
			CurrentTxnFirstOffset: int64(p.txnFirst),
		})
	}
	return metarec.AppendProducerSnapshot(nil, s)
}

// decodeProducers reads a producer snapshot, checksum included.
func decodeProducers(b []byte) (producers, error) {
	s, err := metarec.ReadProducerSnapshot(b)
	if err != nil {
		return producers{}, err
	}
	var ps producers
	for _, e := range s.ProducerEntries {
		ps.load(e)
	}
	slices.SortFunc(ps.open, func(a, b transaction) int { return cmp.Compare(a.first, b.first) })
	return ps, nil
}

func (ps *producers) load(e metarec.ProducerSnapshotProducerEntry) {
	p := ps.get(kafka.ProducerID(e.ProducerId))
	*p = producer{epoch: e.Epoch, coordinator: e.CoordinatorEpoch, lastTime: e.Timestamp, txnFirst: kafka.NoOffset}
	if e.CurrentTxnFirstOffset >= 0 {
		p.txnFirst = kafka.Offset(e.CurrentTxnFirstOffset)
		ps.open = append(ps.open, transaction{producer: kafka.ProducerID(e.ProducerId), first: p.txnFirst})
	}
	if e.LastOffset >= 0 && e.LastSequence >= 0 {
		first := int32((int64(e.LastSequence) - int64(e.OffsetDelta)) & math.MaxInt32)
		p.remember(produced{first, e.LastSequence, kafka.Offset(e.LastOffset), e.OffsetDelta, e.Timestamp})
	}
}
