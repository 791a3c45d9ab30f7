package partitions

import (
	"maps"
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/replica"
)

// Publish follows metadata from one image to the next: it deletes replicas
// whose topic or assignment is gone, makes new ones, and hands out roles and
// configurations. It is called by one goroutine, for each image in order; the
// first call also sets stray logs aside. When it returns, replicas serve in
// their new roles.
func (m *Manager) Publish(delta image.Delta, img *image.Image) {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	defer func() {
		if len(delta.Partitions) > 100 || len(delta.Brokers) > 0 {
		}
	}()
	m.image.Store(img)
	m.made = false
	for _, t := range delta.Deleted {
		m.deleteTopic(t)
	}
	m.configure(&delta, img)
	changed := m.changed(&delta, img)
	for _, id := range changed {
		if t, part, ok := img.PartitionByID(id); ok {
			m.place(delta.Before, img, t, id, part)
		}
	}
	if !m.started {
		m.started = true
		m.strays()
	}
}

// changed are the partitions to look at. What a broker is and may do matters to the
// partitions that we lead and it follows.
func (m *Manager) changed(delta *image.Delta, img *image.Image) []kafka.TopicIDPartition {
	list := delta.Partitions
	if len(delta.Brokers) == 0 {
		return list
	}
	seen := make(map[kafka.TopicIDPartition]bool, len(list))
	for _, id := range list {
		seen[id] = true
	}
	list = slices.Clip(list)
	for _, p := range m.All() {
		if _, part, ok := img.PartitionByID(p.ID); ok && part.Leader == m.cfg.Self && followedBy(part, delta.Brokers) && !seen[p.ID] {
			list = append(list, p.ID)
		}
	}
	return list
}

func followedBy(part *image.Partition, any []kafka.NodeID) bool {
	return len(part.Replicas) > 1 && slices.ContainsFunc(any, part.HasReplica)
}

// place makes sure that a partition has a replica here exactly if metadata says
// so, and that it plays its role.
func (m *Manager) place(before, img *image.Image, t *image.Topic, id kafka.TopicIDPartition, part *image.Partition) {
	m.mu.RLock()
	p := m.byID[id]
	m.mu.RUnlock()
	wanted, assigned := part.DirOf(m.cfg.Self)
	switch {
	case !assigned && p != nil:
		m.drop(p, false)
		return
	case !assigned:
		return
	case p == nil:
		p = newPartition(m, kafka.TopicPartition{Topic: t.Name, Partition: id.Partition}, t.ID, m.policyOf(t.Name, img))
		_, _, known := before.PartitionByID(id)
		m.attach(p, wanted, m.started && !known)
		m.add(p)
		if dir := p.dirNow(); !m.cfg.Dirs.Online(dir) {
			p.membership().failed(dir) // DirFailed may have looked before the replica was there
		}
	case m.cfg.Dirs.Online(p.dirNow()) && !p.movesTo(wanted):
		m.report(p, wanted)
	}
	p.membership().moves(part.Adding)
	if err := m.hand(p, m.assignment(img, part)); err != nil {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("replica cannot take its role", "topic", t.Name, "partition", int32(id.Partition), "err", err)
	}
}

// attach finds or makes the log of a replica. A replica that cannot have one
// stays offline and answers KAFKA_STORAGE_ERROR.
//
// A replica that has existed before is not made anew while a directory does not
// work: its records may lie there. Where metadata knows no directory of it, it would
// count as usable, so it is told to be lost (KIP-858).
func (m *Manager) attach(p *Partition, wanted kafka.DirID, fresh bool) {
	if m.settle(p, wanted) {
		return
	}
	target := wanted
	if !m.cfg.Dirs.Online(wanted) {
		if !fresh && m.cfg.Dirs.AnyOffline() {
			if image.Unplaced(wanted) {
				m.cfg.Assign.Assign(p.ID, kafka.DirLost)
			}
			return
		}
		target = kafka.DirID{}
	}
	if wish, ok := m.wish(p.Name); ok && m.cfg.Dirs.Online(wish) {
		target = wish
	}
	m.make(p, target, wanted)
}

// make makes the log of a replica, in a directory or, where target is zero, in any.
func (m *Manager) make(p *Partition, target, wanted kafka.DirID) {
	m.setAsideAll(p.Name)
	create := m.cfg.Dirs.Create
	if m.made {
		create = m.cfg.Dirs.CreateLater
	}
	m.made = true
	log, dir, err := create(p.Name, p.ID.Topic, target, *p.Policy())
	if err != nil {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("replica cannot be made", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "err", err)
		return
	}
	p.membership().attach(log, dir, 0)
	m.report(p, wanted)
}

// report tells the controller where a replica lies, if it believes otherwise, and
// takes back what it need not be told any more. What was there before directories
// had ids is in the only one that there is: when there are several, the registration
// says so for all of it at once (KIP-858).
func (m *Manager) report(p *Partition, believed kafka.DirID) {
	dir := p.dirNow()
	switch {
	case dir == believed:
		m.cfg.Assign.Unassign(p.ID)
	case believed != kafka.DirMigrating || m.cfg.Dirs.Several():
		m.cfg.Assign.Assign(p.ID, dir)
	}
}

// strays sets aside what no partition of the first image has claimed.
func (m *Manager) strays() {
	for name := range maps.Clone(m.loaded) {
		m.setAsideAll(name)
	}
}

func (m *Manager) setAsideAll(name kafka.TopicPartition) {
	list := m.loaded[name]
	delete(m.loaded, name)
	for _, l := range list {
		m.setAside(l)
	}
}

// setAside makes room for another topic of the same name. An empty log of an unknown
// topic is what a crash leaves in the middle of its creation: nobody misses it.
func (m *Manager) setAside(l LoadedLog) {
	name := l.Name
	if l.Future && m.serves(kafka.TopicIDPartition{Topic: l.Topic, Partition: name.Partition}) {
		m.discard(name, l.Log) // of a move that has ended without it
		return
	}
	if l.Topic.IsZero() && l.Log.End() == 0 {
		if err := m.cfg.Dirs.Delete(l.Log); err != nil {
			m.figures.ApplyErrors.Add(1)
			m.cfg.Log.Error("half a log stays in place", "topic", name.Topic, "partition", int32(name.Partition), "err", err)
		}
		return
	}
	m.cfg.Log.Warn("log is not in the metadata and is set aside", "topic", name.Topic, "partition", int32(name.Partition), "topic_id", l.Topic)
	if err := m.cfg.Dirs.Stray(l.Log); err != nil {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("stray log stays in place", "topic", name.Topic, "partition", int32(name.Partition), "err", err)
	}
}

func (m *Manager) deleteTopic(t *image.Topic) {
	for n := range t.Partitions.All() {
		m.wish(kafka.TopicPartition{Topic: t.Name, Partition: n}) // nobody is left to have it
		m.mu.RLock()
		p := m.byID[kafka.TopicIDPartition{Topic: t.ID, Partition: n}]
		m.mu.RUnlock()
		if p != nil {
			m.drop(p, true)
		}
	}
}

// drop ends a replica and deletes its log.
func (m *Manager) drop(p *Partition, deleted bool) {
	m.remove(p)
	m.cfg.Assign.Unassign(p.ID)
	log, future := p.membership().detach(deleted), p.dropMove()
	m.discard(p.Name, future)
	if log == nil {
		return
	}
	if err := m.cfg.Dirs.Delete(log); err != nil {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("log cannot be deleted", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "err", err)
	}
}

func (m *Manager) assignment(img *image.Image, part *image.Partition) replica.Assigned {
	a := replica.Assigned{Leader: part.Leader, LeaderEpoch: part.LeaderEpoch, Epoch: part.Epoch, ISR: part.ISR}
	a.Replicas = make([]replica.Member, 0, len(part.Replicas))
	for i, id := range part.Replicas {
		member := replica.Member{Node: id, BrokerEpoch: kafka.NoBrokerEpoch}
		if b, ok := img.Broker(id); ok {
			member.BrokerEpoch, member.Active = b.Epoch, b.Active() && b.Online(part.Dirs[i])
		}
		a.Replicas = append(a.Replicas, member)
	}
	return a
}

// configure hands out configurations that changed.
func (m *Manager) configure(delta *image.Delta, img *image.Image) {
	all := false
	for _, r := range delta.Configs {
		all = all || r == image.AllBrokers || r == image.BrokerOf(m.cfg.Self)
	}
	if all {
		m.defaults = config.TopicDefaults(m.effective(img))
		for _, p := range m.All() {
			p.membership().configure(m.policyOf(p.Name.Topic, img))
		}
		return
	}
	for _, r := range delta.Configs {
		if r.Type == image.TopicResource && (delta.Before == nil || sayOther(delta.Before.Config(r), img.Config(r))) {
			m.configureTopic(r.Name, img)
		}
	}
}

// sayOther tells whether two versions of a topic's settings say different things to
// its logs. Lists of throttled replicas, which change again and again while
// partitions move, say nothing to them.
func sayOther(before, after pmap.Map[string, string]) bool {
	for key, value := range after.All() {
		if old, had := before.Get(key); (!had || old != value) && config.OfLog(key) {
			return true
		}
	}
	for key := range before.All() {
		if !after.Has(key) && config.OfLog(key) {
			return true
		}
	}
	return false
}

func (m *Manager) configureTopic(name string, img *image.Image) {
	t, ok := img.TopicNamed(name)
	if !ok {
		return
	}
	policy := m.policyOf(name, img)
	for n := range t.Partitions.All() {
		m.mu.RLock()
		p := m.byID[kafka.TopicIDPartition{Topic: t.ID, Partition: n}]
		m.mu.RUnlock()
		if p != nil {
			p.membership().configure(policy)
		}
	}
}

// effective is the broker's configuration with what metadata changes of it.
func (m *Manager) effective(img *image.Image) *config.Config {
	return config.Layers{
		Broker:  stored(img, image.Resource{Type: image.BrokerResource, Name: strconv.Itoa(int(m.cfg.Self))}),
		Cluster: stored(img, image.AllBrokers),
		Static:  m.cfg.Broker,
	}.Effective()
}

func (m *Manager) policyOf(topic string, img *image.Image) config.LogConfig {
	return m.defaults.Overlay(stored(img, image.TopicOf(topic)))
}

func stored(img *image.Image, r image.Resource) map[string]string {
	c := img.Config(r)
	if c.Len() == 0 {
		return nil
	}
	return maps.Collect(c.All())
}
