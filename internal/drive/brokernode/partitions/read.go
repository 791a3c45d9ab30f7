package partitions

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Reader is who reads, and up to where it may.
type Reader struct {
	// Follower is the replica that fetches; kafka.NoNode for a consumer.
	Follower    kafka.NodeID
	BrokerEpoch kafka.BrokerEpoch // the follower's; kafka.NoBrokerEpoch: not told
	// Committed: only what transactions have committed (read_committed).
	Committed bool
	// AnyReplica: it reads from a follower, too, up to the high watermark that this
	// one knows, because it compares replicas.
	AnyReplica bool
}

// Consumer reads everything below the high watermark.
var Consumer = Reader{Follower: kafka.NoNode, BrokerEpoch: kafka.NoBrokerEpoch}

func (r Reader) isFollower() bool { return r.Follower != kafka.NoNode }

// Want is what a reader asks of one partition.
type Want struct {
	CurrentEpoch kafka.Epoch // the leader epoch the reader knows; kafka.NoEpoch: not told
	Offset       kafka.Offset
	// LastEpoch is the epoch of the last record a follower has.
	LastEpoch kafka.Epoch
	// LogStart is where a follower's log starts.
	LogStart kafka.Offset
	MaxBytes int
	// AtLeastOne: a first batch that is larger than MaxBytes is given whole.
	AtLeastOne bool
	// Throttled: the replica is throttled here and the leader's quota is used up. A
	// follower outside the ISR gets no records then; one in it gets them in any case,
	// as writes wait for it (KIP-73).
	Throttled bool
}

// Data is what a partition has for a reader.
type Data struct {
	HighWatermark, LastStable, LogStart kafka.Offset
	// Records are whole batches, perhaps none; the caller closes them. The first
	// batch holds the offset, so it may begin below it.
	Records storage.Slice
	// Aborted are the transactions among the records that a reader of committed
	// records skips; never nil for one.
	Aborted []storage.AbortedTxn
	// Diverging is where the epoch that a follower names ends here, when its log
	// is not a beginning of ours (KIP-595).
	Diverging *Divergence
	// Closed: the records lie in a segment that no longer grows.
	Closed bool
	// Readable: the reader may see records at the offset, whether the limits let
	// some be given or not.
	Readable bool
	// Held: a quota keeps the records from the reader.
	Held bool
}

// Divergence is an epoch and where it ends in the leader's log.
type Divergence struct {
	Epoch kafka.Epoch
	End   kafka.Offset
}

// bounds is what a partition promises at one moment.
type bounds struct {
	log    *storage.Log
	hw     kafka.Offset
	reader Reader
	held   bool // no records for the reader
}

// Read reads from a partition we lead, or have. Errors carry a kerr code.
func (p *Partition) Read(r Reader, w Want) (Data, error) {
	var room [8]*await.Parked
	d, wake, err := p.ReadAndWatch(r, w, nil, room[:0])
	await.PokeAll(wake)
	return d, err
}

// ReadAndWatch is Read for who comes again. From before the read on the watch,
// if there is one, stands where it fires when the reader may find something else:
// more records, another high watermark or log start, an error. It fires in any
// case when the partition ends. A read that fails before there is anything to
// watch leaves it alone. Whom the read wakes, by what it tells of a follower, is
// appended to wake, to be poked without locks held.
func (p *Partition) ReadAndWatch(r Reader, w Want, watch *await.Watch, wake []*await.Parked) (Data, []*await.Parked, error) {
	at, wake, err := p.admit(r, w, watch, wake)
	if err != nil {
		return Data{}, wake, err
	}
	d, err := at.data(w)
	return d, wake, err
}

// Unwatch takes a watch of ReadAndWatch back.
func (p *Partition) Unwatch(watch *await.Watch) {
	p.forget(func() {
		p.reads.Remove(watch)
		p.tails.Remove(watch)
	})
}

// admit checks a reader, lets it watch and notes how far a follower has come.
func (p *Partition) admit(r Reader, w Want, watch *await.Watch, wake []*await.Parked) (bounds, []*await.Parked, error) {
	if !p.enter() {
		return bounds{}, wake, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.serves(r, w.CurrentEpoch); err != nil {
		return bounds{}, wake, err
	}
	if r.isFollower() {
		var err error
		if wake, err = p.noteFollower(r, w, wake); err != nil {
			return bounds{}, wake, err
		}
	}
	switch {
	case watch == nil:
	case r.isFollower():
		p.tails.Add(watch)
	default:
		p.reads.Add(watch)
	}
	held := w.Throttled && r.isFollower() && !slices.Contains(p.core.ISR(), r.Follower)
	return bounds{log: p.log, hw: p.core.HighWatermark(), reader: r, held: held}, wake, nil
}

// noteFollower lets the core know where a follower's log ends, unless its log
// is not a beginning of ours. mu is held.
func (p *Partition) noteFollower(r Reader, w Want, wake []*await.Parked) ([]*await.Parked, error) {
	if d, err := (bounds{log: p.log, reader: r}).divergence(w); d != nil || err != nil {
		return wake, err
	}
	if w.Offset < p.log.Start() || w.Offset > p.log.End() {
		return wake, kerr.OffsetOutOfRange
	}
	wake = p.step(replica.Fetched{Node: r.Follower, BrokerEpoch: r.BrokerEpoch, Offset: w.Offset, LogStart: w.LogStart}, wake)
	p.proposeISR()
	return wake, p.out.Err
}

// data reads what is wanted within the bounds.
func (b bounds) data(w Want) (d Data, err error) {
	d = Data{HighWatermark: b.hw, LastStable: b.log.LastStable(b.hw), LogStart: b.log.Start()}
	if d.Diverging, err = b.divergence(w); err != nil || d.Diverging != nil {
		return d, err
	}
	below := b.below(d.LastStable)
	d.Readable, d.Held = w.Offset < below, b.held
	if b.held {
		return d, nil
	}
	d.Records, err = b.read(w, below)
	d.Closed = d.Records.Len > 0 && w.Offset < b.log.ActiveSegment()
	if err != nil || !b.reader.Committed {
		return d, err
	}
	d.Aborted, err = b.log.AbortedTxns(w.Offset, below)
	if err != nil {
		d.Records.Close()
	}
	if d.Aborted == nil {
		d.Aborted = []storage.AbortedTxn{}
	}
	return d, err
}

// divergence compares the last epoch of a follower with our history.
func (b bounds) divergence(w Want) (*Divergence, error) {
	if w.LastEpoch == kafka.NoEpoch {
		return nil, nil
	}
	epoch, end := b.log.EpochEnd(w.LastEpoch)
	switch {
	case epoch == kafka.NoEpoch:
		return nil, kerr.OffsetOutOfRange
	case epoch < w.LastEpoch || end < w.Offset:
		return &Divergence{epoch, end}, nil
	}
	return nil, nil
}

// below is where a reader's view ends: a follower sees the whole log.
func (b bounds) below(lastStable kafka.Offset) kafka.Offset {
	switch {
	case b.reader.isFollower():
		return b.log.End()
	case b.reader.Committed:
		return lastStable
	}
	return b.hw
}

// read gives nothing, without an error, between the bound and the log end: a
// consumer may know an offset before it is committed here.
func (b bounds) read(w Want, below kafka.Offset) (storage.Slice, error) {
	if w.Offset >= below && w.Offset <= b.log.End() {
		return storage.Slice{}, nil
	}
	return b.log.Read(w.Offset, w.MaxBytes, below, w.AtLeastOne)
}
