package partitions

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Appended is where a batch went.
type Appended struct {
	Base, End  kafka.Offset
	AppendTime int64 // ms; batch.NoTimestamp unless the log sets the time
	LogStart   kafka.Offset
	// Epoch is the leader epoch the batch was appended in.
	Epoch kafka.Epoch
	// Sync: the topic asks for a sync that covers this batch (flush.messages)
	// before anybody is told.
	Sync bool
}

// Append appends one batch that batch.ValidateProduce has passed. Offsets and
// the leader epoch are written into b. waitsForAll says that the producer will
// wait for all in-sync replicas (acks=-1), and is refused when there are too
// few. A batch of a transaction that is not open here is refused, see
// AppendGuarded. Errors carry a kerr code.
func (p *Partition) Append(b []byte, waitsForAll bool) (Appended, error) {
	return p.AppendGuarded(b, waitsForAll, 0)
}

// AppendGuarded is Append of a batch that may be the first of its transaction, with
// the guard of BeginTransaction.
func (p *Partition) AppendGuarded(b []byte, waitsForAll bool, guard storage.Guard) (Appended, error) {
	return p.appendAndWake(b, waitsForAll, kafka.NoEpoch, storage.Origin{Verified: p.host.Verifies(), Guard: guard})
}

// appendAndWake appends in a leader epoch, kafka.NoEpoch for whichever it is.
func (p *Partition) appendAndWake(b []byte, waitsForAll bool, epoch kafka.Epoch, from storage.Origin) (Appended, error) {
	var room [8]*await.Parked
	if p.down() {
		return Appended{}, kerr.KafkaStorageError
	}
	p.mu.Lock()
	got, wake, err := Appended{}, room[:0], error(nil)
	if epoch != kafka.NoEpoch {
		err = p.leads(epoch)
	}
	if err == nil {
		got, wake, err = p.append(b, waitsForAll, from, wake)
	}
	p.mu.Unlock()
	await.PokeAll(wake)
	return got, err
}

func (p *Partition) append(b []byte, waitsForAll bool, from storage.Origin, wake []*await.Parked) (Appended, []*await.Parked, error) {
	if err := p.online(); err != nil {
		return Appended{}, wake, err
	}
	if err := p.core.MayAppend(waitsForAll); err != nil {
		return Appended{}, wake, err
	}
	epoch := p.core.LeaderEpoch()
	stored, err := p.log.AppendFrom(b, epoch, from)
	if err != nil {
		return Appended{}, wake, err
	}
	got := Appended{Base: stored.Base, End: stored.End, AppendTime: stored.AppendTime, LogStart: p.log.Start(), Epoch: epoch}
	if !stored.Duplicate {
		p.traffic.appended(int(stored.End-stored.Base), len(b))
	}
	wake = p.tails.AppendTo(wake)
	if p.sync.due(stored.End, p.policy.Load().syncEvery, stored.Duplicate) {
		got.Sync = true
		flushing{&p.state}.start(stored.End)
		return got, wake, nil
	}
	return got, p.step(replica.Appended{End: p.sync.visible(stored.End)}, wake), nil
}

// AppendAt is Append for coordinators, whose batches are good by construction
// and belong to one leader epoch: in another they are refused.
func (p *Partition) AppendAt(epoch kafka.Epoch, b []byte) (Appended, error) {
	return p.appendAndWake(b, true, epoch, storage.Origin{})
}

// Acked tells whether a producer can be answered that has appended a batch, and
// how: with acks=-1 once all in-sync replicas have it, and not before it is
// synced where the topic asks for that.
func (p *Partition) Acked(a Appended, waitsForAll bool) (done bool, err error) {
	if !p.enter() {
		return true, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.online(); err != nil {
		return true, err
	}
	synced := !a.Sync || p.sync.synced >= a.End
	switch {
	case waitsForAll || !synced && p.core.LeaderEpoch() != a.Epoch:
		done, err = p.core.Committed(a.End, a.Epoch)
		return done && (synced || err != nil), err
	}
	return synced, nil
}
