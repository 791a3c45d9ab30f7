package partitions

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
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
// few. Errors carry a kerr code.
func (p *Partition) Append(b []byte, waitsForAll bool) (Appended, error) {
	var room [8]*await.Parked
	p.mu.Lock()
	got, wake, err := p.append(b, waitsForAll, room[:0])
	p.mu.Unlock()
	await.PokeAll(wake)
	return got, err
}

func (p *Partition) append(b []byte, waitsForAll bool, wake []*await.Parked) (Appended, []*await.Parked, error) {
	if err := p.online(); err != nil {
		return Appended{}, wake, err
	}
	if err := p.core.MayAppend(waitsForAll); err != nil {
		return Appended{}, wake, err
	}
	epoch := p.core.LeaderEpoch()
	stored, err := p.log.AppendLeader(b, epoch)
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
	var room [8]*await.Parked
	p.mu.Lock()
	got, wake, err := Appended{}, room[:0], p.leads(epoch)
	if err == nil {
		got, wake, err = p.append(b, true, wake)
	}
	p.mu.Unlock()
	await.PokeAll(wake)
	return got, err
}

// Acked tells whether a producer can be answered that has appended a batch, and
// how: with acks=-1 once all in-sync replicas have it, and not before it is
// synced where the topic asks for that.
func (p *Partition) Acked(a Appended, waitsForAll bool) (done bool, err error) {
	p.mu.Lock()
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
