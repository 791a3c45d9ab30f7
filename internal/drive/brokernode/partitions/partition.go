package partitions

import (
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Partition is one replica that this broker holds.
type Partition struct {
	Name kafka.TopicPartition
	ID   kafka.TopicIDPartition

	host    *Manager
	traffic *Traffic               // of the topic
	policy  atomic.Pointer[policy] // replaced whole

	mu   sync.Mutex
	core *replica.Core
	out  replica.Effects // of the last step, used again
	log  *storage.Log    // nil while offline, and once gone
	gone bool            // the replica was deleted
	dir  kafka.DirID
	sync syncing

	commits await.List // wait for the high watermark, a sync, or the low watermark
	reads   await.List // consumers that watch the high watermark
	tails   await.List // followers that watch the log end and the high watermark
}

func newPartition(host *Manager, name kafka.TopicPartition, topic kafka.TopicID, c config.LogConfig) *Partition {
	p := &Partition{
		Name: name, ID: kafka.TopicIDPartition{Topic: topic, Partition: name.Partition},
		host: host, traffic: host.traffic.enter(name.Topic),
	}
	p.policy.Store(newPolicy(c))
	return p
}

// Traffic counts what the topic takes and gives here.
func (p *Partition) Traffic() *Traffic { return p.traffic }

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
}

// Status tells what the partition is right now.
func (p *Partition) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Dir: p.dir, Offline: p.log == nil, Leader: kafka.NoNode, LeaderEpoch: kafka.NoEpoch}
	if p.core != nil {
		s.Role, s.Leader, s.LeaderEpoch, s.HighWatermark = p.core.Role(), p.core.Leader(), p.core.LeaderEpoch(), p.core.HighWatermark()
	}
	if p.log != nil {
		s.LogStart, s.LogEnd, s.Size = p.log.Start(), p.log.End(), p.log.Size()
	}
	return s
}

// Leader is who leads, in which epoch.
func (p *Partition) Leader() (kafka.NodeID, kafka.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.core == nil {
		return kafka.NoNode, kafka.NoEpoch
	}
	return p.core.Leader(), p.core.LeaderEpoch()
}

// online is nil while the log can be used. mu is held.
func (p *Partition) online() error {
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
func (p *Partition) leads(current kafka.Epoch) error {
	if err := p.online(); err != nil {
		return err
	}
	if err := p.core.Fence(current); err != nil {
		return err
	}
	return p.core.MustLead()
}

// step lets the core decide and collects whom the decision wakes. mu is held.
func (p *Partition) step(ev replica.Event, w []*await.Parked) []*await.Parked {
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

// AwaitCommit has parked poked whenever something moves that Acked looks at.
func (p *Partition) AwaitCommit(w *await.Watch) {
	p.mu.Lock()
	p.commits.Add(w)
	p.mu.Unlock()
}

// ForgetCommit ends AwaitCommit.
func (p *Partition) ForgetCommit(w *await.Watch) {
	p.mu.Lock()
	p.commits.Remove(w)
	p.mu.Unlock()
}
