package partitions

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// Back is a directory that was offline and works again.
type Back struct {
	ID   kafka.DirID
	Logs []LoadedLog // all that lie in it
	// Short are those of the logs that lack records below their high watermark.
	Short []kafka.TopicPartition
	// Refill are replicas to be made anew in it: they were lost with the disk that it
	// replaces.
	Refill []kafka.TopicIDPartition
	// Trusted is the operator's word that logs may be short, and that nothing is left of
	// replicas whose logs are not found.
	Trusted bool
}

// MayReturn tells why the replicas of a directory cannot come back yet: the metadata
// still counts on them as if it had not failed, while their logs may have lost their
// end. Other than to the last replica in sync that never happens for long.
func (m *Manager) MayReturn(dir kafka.DirID) error {
	img := m.Image()
	b, registered := img.Broker(m.cfg.Self)
	switch {
	case !registered:
		return fmt.Errorf("broker %d is not registered yet", m.cfg.Self)
	case slices.Contains(b.Dirs, dir):
		return fmt.Errorf("the controller does not know yet that directory %s has failed", dir)
	}
	for _, p := range m.All() {
		if p.dirNow() != dir {
			continue
		}
		_, part, ok := img.PartitionByID(p.ID)
		if ok && (part.Leader == m.cfg.Self || part.InSync(m.cfg.Self) && len(part.ISR) > 1) {
			return fmt.Errorf("the controller still counts on the replica of %s-%d in directory %s", p.Name.Topic, p.Name.Partition, dir)
		}
		if !p.released() {
			return fmt.Errorf("the replica of %s-%d is still in use", p.Name.Topic, p.Name.Partition)
		}
	}
	return nil
}

// Return puts the replicas of a directory back into service, as followers or as what
// metadata says by now, and makes what it has no log of, as at the start. It gives the
// replicas that were offline and may be no longer. The error says why the directory
// cannot be used; then nothing has changed, and admit was not called.
func (m *Manager) Return(b Back, admit func()) ([]kafka.TopicIDPartition, error) {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	if !m.started {
		return nil, fmt.Errorf("the replicas are not in place yet")
	}
	if err := m.MayReturn(b.ID); err != nil {
		return nil, err
	}
	if err := m.countedOn(b); err != nil {
		return nil, err
	}
	admit()
	m.made = false
	for _, l := range b.Logs {
		m.loaded[l.Name] = append(m.loaded[l.Name], l)
	}
	var changed []kafka.TopicIDPartition
	for _, p := range m.All() {
		if p.Status().Offline && m.bring(p, b) {
			changed = append(changed, p.ID)
		}
	}
	m.strays()
	return changed, nil
}

// countedOn refuses logs that are short although the metadata may make them lead.
func (m *Manager) countedOn(b Back) error {
	for _, tp := range b.Short {
		part, ok := m.Image().Partition(tp)
		if ok && !b.Trusted && lastWord(part, m.cfg.Self) {
			return fmt.Errorf("the log of %s-%d in directory %s ends below its high watermark, and this broker may have the last copy of it", tp.Topic, tp.Partition, b.ID)
		}
	}
	return nil
}

// lastWord tells whether a replica may be elected with what it has: as one that has
// every record, or as nobody else does. A broker that did not stop in good order is in no
// ELR either, so that where both are empty it may still have the last copy (KIP-966).
func lastWord(part *image.Partition, id kafka.NodeID) bool {
	return part.InSync(id) || slices.Contains(part.ELR, id) || alone(part, id)
}

// alone tells whether nobody else has every record of a partition.
func alone(part *image.Partition, id kafka.NodeID) bool {
	other := func(n kafka.NodeID) bool { return n != id }
	return !slices.ContainsFunc(part.ISR, other) && !slices.ContainsFunc(part.ELR, other)
}

// bring gives a replica that is offline its log, and its role.
func (m *Manager) bring(p *Partition, b Back) bool {
	_, part, ok := m.Image().PartitionByID(p.ID)
	if !ok {
		return false
	}
	wanted, assigned := part.DirOf(m.cfg.Self)
	if !assigned {
		return false
	}
	there := slices.ContainsFunc(m.loaded[p.Name], func(l LoadedLog) bool { return l.Topic == p.ID.Topic })
	switch {
	case !there && lastWord(part, m.cfg.Self) && !b.Trusted:
		m.cfg.Log.Error("replica is not where metadata has it and is not made anew, as it may be the last one",
			"topic", p.Name.Topic, "partition", int32(p.Name.Partition), "dir", wanted)
		return false
	case !there && slices.Contains(b.Refill, p.ID):
		m.make(p, b.ID, wanted)
	default:
		m.attach(p, wanted, false)
	}
	if p.Status().Offline {
		return false
	}
	p.membership().moves(part.Adding)
	if err := m.hand(p, m.assignment(m.Image(), part)); err != nil {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("replica cannot take its role", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "err", err)
	}
	return true
}

// Offline are the replicas that cannot be used.
func (m *Manager) Offline() []kafka.TopicIDPartition {
	var all []kafka.TopicIDPartition
	for _, p := range m.All() {
		if p.Status().Offline {
			all = append(all, p.ID)
		}
	}
	return all
}

// released tells whether the replica has given its log up. It is asked of one whose
// directory has failed and been let go of, so that nothing hangs in it.
func (p *state) released() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log == nil
}
