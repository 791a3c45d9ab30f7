package partitions

import (
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// state is a replica, who waits for it, and the lock over all of that. The types
// that embed it say what is done with it.
type state struct {
	Name kafka.TopicPartition
	ID   kafka.TopicIDPartition

	host    *Manager
	traffic *Traffic                       // of the topic
	policy  atomic.Pointer[policy]         // replaced whole
	joining atomic.Pointer[[]kafka.NodeID] // whom a reassignment adds; nil without one
	dir     atomic.Pointer[kafka.DirID]    // nil before there was a log
	fate    atomic.Pointer[fate]           // of the directory; nil before there was a log

	mu   sync.Mutex
	core *replica.Core
	out  replica.Effects // of the last step, used again
	log  *storage.Log    // nil while offline, and once gone
	gone bool            // the replica was deleted
	sync syncing
	move *moving // nil unless the replica moves to another directory
	left *moving // the move that ended when the source failed

	commits await.List // wait for the high watermark, a sync, or the low watermark
	reads   await.List // consumers that watch the high watermark
	tails   await.List // followers that watch the log end and the high watermark
}

// Traffic counts what the topic takes and gives here.
func (p *state) Traffic() *Traffic { return p.traffic }

// Fetched counts an answer with so many bytes of records to a reader.
func (p *state) Fetched(r Reader, bytes int, err error) {
	p.traffic.Fetched(r, bytes, err)
	if bytes > 0 && r.isFollower() && p.joins(r.Follower) {
		p.host.figures.ReassignmentOut.Add(bytes)
	}
}

// Status is what a partition is at one moment.
type Status struct {
	Role          replica.Role
	Leader        kafka.NodeID
	LeaderEpoch   kafka.Epoch
	HighWatermark kafka.Offset
	LogStart      kafka.Offset
	LogEnd        kafka.Offset
	Size          int64 // bytes of segments
	Dir           kafka.DirID
	Offline       bool
	// Future is the copy of a move to another directory; nil without one.
	Future *FutureStatus
}

// Status tells what the partition is right now.
func (p *state) Status() Status {
	if !p.enter() {
		return Status{Dir: p.dirNow(), Offline: true, Leader: kafka.NoNode, LeaderEpoch: kafka.NoEpoch}
	}
	defer p.mu.Unlock()
	s := Status{Dir: p.dirNow(), Offline: p.log == nil, Leader: kafka.NoNode, LeaderEpoch: kafka.NoEpoch}
	if p.core != nil {
		s.Role, s.Leader, s.LeaderEpoch, s.HighWatermark = p.core.Role(), p.core.Leader(), p.core.LeaderEpoch(), p.core.HighWatermark()
	}
	if p.log != nil {
		s.LogStart, s.LogEnd, s.Size = p.log.Start(), p.log.End(), p.log.Size()
	}
	s.Future = p.futureStatus()
	return s
}

// Leader is who leads, in which epoch.
func (p *state) Leader() (kafka.NodeID, kafka.Epoch) {
	if !p.enter() {
		return kafka.NoNode, kafka.NoEpoch
	}
	defer p.mu.Unlock()
	if p.core == nil {
		return kafka.NoNode, kafka.NoEpoch
	}
	return p.core.Leader(), p.core.LeaderEpoch()
}

// online is nil while the log can be used. mu is held.
func (p *state) online() error {
	switch {
	case p.gone:
		return kerr.NotLeaderOrFollower
	case p.log == nil:
		return kerr.KafkaStorageError
	}
	return nil
}

// leads checks that the partition can be used, that the caller knows the same
// leader epoch, and that we lead. mu is held.
func (p *state) leads(current kafka.Epoch) error {
	if err := p.knows(current); err != nil {
		return err
	}
	return p.core.MustLead()
}

// serves is leads for a reader, who may be content with any replica. mu is held.
func (p *state) serves(r Reader, current kafka.Epoch) error {
	if r.AnyReplica {
		return p.knows(current)
	}
	return p.leads(current)
}

// knows checks that the partition can be used and that the caller knows the same
// leader epoch. mu is held.
func (p *state) knows(current kafka.Epoch) error {
	if err := p.online(); err != nil {
		return err
	}
	return p.core.Fence(current)
}

// step lets the core decide and collects whom the decision wakes. mu is held.
func (p *state) step(ev replica.Event, w []*await.Parked) []*await.Parked {
	p.core.Step(p.host.now(), ev, &p.out)
	_, trimmed := ev.(replica.Trimmed)
	if p.out.HighWatermarkMoved {
		p.host.moves.Add(1)
	}
	if p.out.Turned || p.out.HighWatermarkMoved || p.out.LowWatermarkMoved || p.out.ISRChanged {
		w = p.commits.AppendTo(w)
	}
	if p.out.Turned || p.out.HighWatermarkMoved || trimmed {
		w = p.tails.AppendTo(p.reads.AppendTo(w))
	}
	return w
}

func (p *state) dirNow() kafka.DirID {
	if dir := p.dir.Load(); dir != nil {
		return *dir
	}
	return kafka.DirID{}
}

// checkpoint is the high watermark to write down.
func (p *state) checkpoint() (kafka.Offset, bool) {
	if !p.enter() {
		return 0, false
	}
	defer p.mu.Unlock()
	if p.log == nil {
		return 0, false
	}
	return p.core.HighWatermark(), true
}

// proposeISR hands on the proposal of the last step. mu is held.
func (p *state) proposeISR() {
	if p.out.Propose != nil && p.host.cfg.ISR != nil {
		p.host.cfg.ISR.Propose(p.ID, p.out.Propose)
	}
}
