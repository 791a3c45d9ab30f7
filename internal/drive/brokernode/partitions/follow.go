package partitions

import (
	"errors"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Following is where a follower stands: what it asks its leader for.
type Following struct {
	Leader kafka.NodeID
	// Epoch is the leader epoch that metadata named last.
	Epoch kafka.Epoch
	// End is the log end, LastEpoch the newest leader epoch in the log.
	End       kafka.Offset
	LastEpoch kafka.Epoch
	LogStart  kafka.Offset
	// HighWatermark as far as it is known here.
	HighWatermark kafka.Offset
}

// FromLeader is what a leader answered to a follower's fetch.
type FromLeader struct {
	HighWatermark, LogStart kafka.Offset
	// Records are batches; the last one may be cut short. They are not kept.
	Records []byte
	// Diverging is set instead of records where our log is not a beginning of the
	// leader's (KIP-595).
	Diverging *Divergence
}

// ErrMoved says that the replica no longer stands where it stood when the leader
// was asked: the answer is of no use, and nothing was done.
var ErrMoved = errors.New("the replica has moved on since the leader was asked")

// Follower is the side of a replica that copies from its leader.
type Follower struct{ *state }

// Follower gives that side, whether the replica follows at present or not.
func (p *Partition) Follower() Follower { return Follower{&p.state} }

// Stands tells where the replica stands. ok is false unless it follows a leader
// and its log can be used.
func (p Follower) Stands() (f Following, ok bool) {
	if !p.enter() {
		return Following{}, false
	}
	defer p.mu.Unlock()
	if p.online() != nil || p.core.Role() != replica.Following || p.core.Leader() == kafka.NoNode {
		return Following{}, false
	}
	return Following{
		Leader: p.core.Leader(), Epoch: p.core.LeaderEpoch(), End: p.log.End(), LastEpoch: p.log.LastEpoch(),
		LogStart: p.log.Start(), HighWatermark: p.core.HighWatermark(),
	}, true
}

// InSync tells whether the replica is in the ISR, as far as it is known here.
func (p Follower) InSync() bool {
	if !p.enter() {
		return false
	}
	defer p.mu.Unlock()
	return p.core != nil && slices.Contains(p.core.ISR(), p.host.cfg.Self)
}

// Take takes a leader's answer to a fetch from where the replica stood: it cuts
// the log, or appends and moves the high watermark and the log start after the
// leader's. syncDue says that Sync must have returned before the leader
// is asked for more, because the next fetch says that we hold these records. The
// error is ErrMoved, or of the log, perhaps with a kerr code.
func (p Follower) Take(asked Following, got FromLeader) (syncDue bool, err error) {
	return p.standing(asked, func(wake []*await.Parked) ([]*await.Parked, bool, error) {
		if got.Diverging != nil {
			_, own := p.log.EpochEnd(got.Diverging.Epoch)
			if own == kafka.NoOffset {
				own = p.log.End() // nothing is known of that epoch here
			}
			wake = p.step(replica.Diverged{LeaderEnd: got.Diverging.End, OwnEnd: own}, wake)
			wake, err := p.relocate(wake)
			return wake, false, err
		}
		return p.copied(asked.Epoch, got, wake)
	})
}

// Misplaced finds the way back after the leader, whose log begins and ends at
// the given offsets, has called where we stand out of range. Errors are as of
// Take.
func (p Follower) Misplaced(asked Following, leaderStart, leaderEnd kafka.Offset) error {
	_, err := p.standing(asked, func(wake []*await.Parked) ([]*await.Parked, bool, error) {
		wake = p.step(replica.Misplaced{Leader: replica.Extent{Start: leaderStart, End: leaderEnd}}, wake)
		wake, err := p.relocate(wake)
		return wake, false, err
	})
	return err
}

// standing does something to the log of a follower that stands where it stood. mu
// is held over a truncation, syncs and all: a replica that is made leader
// meanwhile must not begin its epoch in a log that is about to be cut.
func (p Follower) standing(asked Following, do func([]*await.Parked) ([]*await.Parked, bool, error)) (syncDue bool, err error) {
	var room [8]*await.Parked
	wake := room[:0]
	if !p.enter() {
		return false, kerr.KafkaStorageError
	}
	switch {
	case p.online() != nil:
		err = p.online()
	case p.core.Role() != replica.Following || p.core.LeaderEpoch() != asked.Epoch || p.log.End() != asked.End:
		err = ErrMoved
	default:
		wake, syncDue, err = do(wake)
	}
	p.mu.Unlock()
	await.PokeAll(wake)
	return syncDue, err
}

// copied appends what the leader of an epoch sent. mu is held.
func (p Follower) copied(epoch kafka.Epoch, got FromLeader, wake []*await.Parked) ([]*await.Parked, bool, error) {
	due := false
	if len(got.Records) > 0 {
		stored, err := p.appendCopy(got.Records, epoch)
		if err != nil {
			return wake, false, err
		}
		p.traffic.replicationBytesIn.Add(len(got.Records))
		if p.joins(p.host.cfg.Self) {
			p.host.figures.ReassignmentIn.Add(len(got.Records))
		}
		p.sync.shown = p.log.End()
		wake = p.step(replica.Appended{End: p.log.End()}, wake)
		due = p.sync.due(stored.End, p.policy.Load().syncEvery, false)
	}
	wake = p.step(replica.LeaderSaid{HighWatermark: got.HighWatermark, LogStart: got.LogStart}, wake)
	if !p.out.RaiseStart {
		return wake, due, nil
	}
	// A leader deletes only what is committed. Until we know that it is, and hold
	// it, our log keeps its start.
	if err := p.log.SetStart(min(p.out.StartAt, p.core.HighWatermark())); err != nil {
		return wake, due, err
	}
	return p.step(replica.Trimmed{Start: p.log.Start()}, wake), due, nil
}

// appendCopy appends batches to a log that they continue. The leader's log may
// start within a batch, after DeleteRecords. A follower that begins there is sent
// the whole batch; its log has to make room for what lies below its start.
func (p Follower) appendCopy(b []byte, epoch kafka.Epoch) (storage.Appended, error) {
	start := p.log.Start()
	base, straddles := straddling(b, start, epoch)
	if start != p.log.End() || !straddles {
		return p.log.AppendFollower(b, epoch)
	}
	if err := p.log.TruncateFullyAndStartAt(base); err != nil {
		return storage.Appended{}, err
	}
	p.sync.cut(base)
	p.cutFuture()
	stored, err := p.log.AppendFollower(b, epoch)
	if err != nil {
		return stored, err
	}
	return stored, p.log.SetStart(start)
}

// straddling gives where the first batch begins, if it is whole, of no higher
// epoch, begins below an offset and reaches beyond it.
func straddling(b []byte, o kafka.Offset, epoch kafka.Epoch) (kafka.Offset, bool) {
	h, err := batch.ParseHeader(b)
	if err != nil || h.LeaderEpoch > epoch || h.BaseOffset < 0 || h.BaseOffset >= o || h.End() <= o || h.Size() > len(b) {
		return 0, false
	}
	return h.BaseOffset, batch.CheckCRC(b[:h.Size()])
}

// relocate cuts the log, or begins it anew, as the last step wants. mu is held.
func (p Follower) relocate(wake []*await.Parked) ([]*await.Parked, error) {
	switch {
	case p.out.Truncate:
		if err := p.log.TruncateTo(p.out.TruncateTo); err != nil {
			return wake, err
		}
		p.sync.cut(p.log.End())
		p.cutFuture()
		return p.step(replica.Truncated{End: p.log.End()}, wake), nil
	case p.out.Restart:
		if err := p.log.TruncateFullyAndStartAt(p.out.StartAt); err != nil {
			return wake, err
		}
		p.sync.shown = p.log.End()
		p.cutFuture()
		return p.step(replica.Trimmed{Start: p.log.Start()}, wake), nil
	}
	return wake, nil
}

// Sync makes durable what Take has appended.
func (p Follower) Sync() error {
	if !p.enter() {
		return nil
	}
	log := p.log
	p.mu.Unlock()
	if log == nil {
		return nil
	}
	end, err := log.Sync()
	if err != nil && p.switched(log) {
		return p.Sync()
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	if p.log == log {
		p.sync.synced = max(p.sync.synced, min(end, log.RecoveryPoint()))
	}
	p.mu.Unlock()
	return nil
}
