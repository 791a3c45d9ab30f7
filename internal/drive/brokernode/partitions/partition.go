package partitions

import (
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/await"
)

// Partition is one replica that this broker holds: what it is to clients and to
// followers of it. What it is to its own leader is Follower.
type Partition struct{ state }

func newPartition(host *Manager, name kafka.TopicPartition, topic kafka.TopicID, c config.LogConfig) *Partition {
	p := &Partition{state{
		Name: name, ID: kafka.TopicIDPartition{Topic: topic, Partition: name.Partition},
		host: host, traffic: host.traffic.enter(name.Topic),
	}}
	p.policy.Store(host.policyFor(c))
	return p
}

// AwaitCommit has parked poked whenever something moves that Acked looks at.
func (p *Partition) AwaitCommit(w *await.Watch) {
	if !p.enter() {
		return // Acked says so
	}
	p.commits.Add(w)
	p.mu.Unlock()
}

// ForgetCommit ends AwaitCommit.
func (p *Partition) ForgetCommit(w *await.Watch) {
	p.forget(func() { p.commits.Remove(w) })
}

// forget takes a watch out of the lists, on a disk that hangs once it answers.
func (p *state) forget(remove func()) {
	locked := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		remove()
	}
	if !p.enter() {
		go locked()
		return
	}
	defer p.mu.Unlock()
	remove()
}
