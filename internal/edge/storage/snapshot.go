package storage

import (
	"cmp"
	"log/slog"
	"maps"
	"math"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
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

// snapshots are the files with the producer state of a log.
type snapshots struct {
	folder *folder
	at     kafka.Offset // the newest, or NoOffset
	saved  bool         // it was synced
	since  int64        // bytes of log behind it
}

// write writes the producer state before an offset. It is not synced: its
// checksum tells a torn one, and it can be made again from the log. Of older
// snapshots only those at the base of a segment stay.
func (n *snapshots) write(at kafka.Offset, ps *producers, segments []*segment) error {
	if err := n.folder.bear(); err != nil {
		return err
	}
	if err := vfs.ReplaceFile(n.folder.fs, n.folder.join(FileName(at, snapshotSuffix)), ps.encode()); err != nil {
		return err
	}
	old := n.at
	n.at, n.saved, n.since = at, false, 0
	stray := old >= 0 && old != at && !slices.ContainsFunc(segments, func(s *segment) bool { return s.base == old })
	if !stray {
		return nil
	}
	return n.remove(old)
}

// sync makes the newest snapshot durable, given the state that is in it.
func (n *snapshots) sync(ps *producers) error {
	if n.saved || n.at < 0 {
		return nil
	}
	n.saved = true
	return vfs.WriteFileAtomic(n.folder.fs, n.folder.join(FileName(n.at, snapshotSuffix)), ps.encode())
}

func (n *snapshots) remove(at kafka.Offset) error {
	err := n.folder.fs.Remove(n.folder.join(FileName(at, snapshotSuffix)))
	if isMissing(err) {
		return nil
	}
	return err
}

// load finds the newest good snapshot at or below an offset, of those that there
// are. A damaged one is removed, and so are those above: they belong to records
// that are gone.
func (n *snapshots) load(list []kafka.Offset, end kafka.Offset, log *slog.Logger) (producers, error) {
	n.at, n.saved, n.since = kafka.NoOffset, false, 0
	for _, at := range slices.Backward(list) {
		if at <= end {
			b, err := vfs.ReadFile(n.folder.fs, n.folder.join(FileName(at, snapshotSuffix)), snapshotLimit)
			if err != nil {
				return producers{}, err
			}
			ps, err := decodeProducers(b)
			if err == nil {
				n.at = at
				return ps, nil
			}
			log.Warn("dropped a damaged producer snapshot", "offset", int64(at), "error", err)
		}
		if err := n.remove(at); err != nil {
			return producers{}, err
		}
	}
	return producers{}, nil
}
