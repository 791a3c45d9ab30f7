package group

import (
	"errors"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// loader applies the records of the partition while it is loaded.
type loader struct {
	groups *directory
	txns   transactions
	reader metarec.GroupReader
	order  order // of the last commit
	// topics are the names seen so far: the many partitions of a topic share
	// one. Nil after the load.
	topics map[string]string
}

// Replay applies one record of the partition while it is loaded. producer is
// the producer id of a transactional batch, else kafka.NoProducer: such a
// commit counts when ReplayMarker says so. Records of kinds that are not known
// are left alone. An error says that a record cannot be read.
func (s *Shard) Replay(producer kafka.ProducerID, keyBytes, valueBytes []byte) error {
	key, err := s.loader.reader.Key(keyBytes)
	if errors.Is(err, metarec.ErrUnknownType) {
		return nil
	}
	if err != nil {
		return err
	}
	value, _, err := s.loader.reader.Value(key, valueBytes)
	if err != nil {
		return err
	}
	s.loader.apply(producer, key, value)
	return nil
}

// ReplayMarker ends a transaction whose marker is committed: its offsets count from
// here, or never.
func (s *Shard) ReplayMarker(producer kafka.ProducerID, commit bool) {
	s.loader.txns.end(s.groups.byID, producer, commit)
}

func (l *loader) apply(producer kafka.ProducerID, key, value metarec.Message) {
	switch key := key.(type) {
	case *metarec.OffsetCommitKey:
		v, _ := value.(*metarec.OffsetCommitValue)
		l.offset(producer, key.Group, kafka.TopicPartition{Topic: key.Topic, Partition: kafka.PartitionID(key.Partition)}, v)
	case *metarec.LegacyOffsetCommitKey:
		var v *metarec.OffsetCommitValue
		if old, ok := value.(*metarec.LegacyOffsetCommitValue); ok {
			v = metarec.NewOffsetCommitValue()
			v.Offset, v.Metadata, v.CommitTimestamp = old.Offset, old.Metadata, old.CommitTimestamp
		}
		l.offset(producer, key.Group, kafka.TopicPartition{Topic: key.Topic, Partition: kafka.PartitionID(key.Partition)}, v)
	case *metarec.GroupMetadataKey:
		v, _ := value.(*metarec.GroupMetadataValue)
		l.group(key.Group, v)
	case *metarec.ConsumerGroupMetadataKey:
		l.groups.note(key.GroupId, Consumer, value != nil)
	case *metarec.ShareGroupMetadataKey:
		l.groups.note(key.GroupId, Share, value != nil)
	case *metarec.StreamsGroupMetadataKey:
		l.groups.note(key.GroupId, Streams, value != nil)
	}
}

// offset applies a committed offset, or its tombstone (v is nil).
func (l *loader) offset(producer kafka.ProducerID, id string, tp kafka.TopicPartition, v *metarec.OffsetCommitValue) {
	g := l.groups.byID[id]
	if v == nil {
		if g != nil {
			g.offsets.remove(tp)
		}
		return
	}
	if g == nil {
		g = l.groups.create(id)
	}
	l.order = min(l.order, sinceLoad-2) + 1
	c := committedOffset{
		offset: kafka.Offset(v.Offset), leaderEpoch: kafka.Epoch(v.LeaderEpoch), order: l.order, metadata: v.Metadata,
		committedAt: v.CommitTimestamp, expiresAt: v.ExpireTimestamp, topic: v.TopicId,
	}
	if g.offsets[tp] == nil {
		tp.Topic = l.shared(tp.Topic)
	}
	o := g.offsets.place(tp)
	if producer != kafka.NoProducer {
		l.txns.hold(producer, txnOffset{group: id, tp: tp, value: c}, o)
		return
	}
	o.committedOffset, o.set = c, true
}

// shared gives the copy of a topic's name that is kept.
func (l *loader) shared(topic string) string {
	kept, ok := l.topics[topic]
	if !ok {
		if l.topics == nil {
			l.topics = make(map[string]string)
		}
		kept = topic
		l.topics[topic] = kept
	}
	return kept
}

// group applies a group as it was stored, or its tombstone (v is nil). The
// offsets stay: they have records of their own.
func (l *loader) group(id string, v *metarec.GroupMetadataValue) {
	old := l.groups.byID[id]
	switch {
	case v == nil && old == nil:
		return
	case v == nil && len(old.offsets) == 0:
		l.groups.forget(old)
		return
	case old != nil:
		l.groups.forget(old)
	}
	g := l.groups.create(id)
	if old != nil {
		g.offsets = old.offsets
	}
	if v != nil {
		g.restore(v)
	}
}

// restore takes over what a record says about a group that is empty so far.
func (g *classic) restore(v *metarec.GroupMetadataValue) {
	g.persisted = true
	g.generation, g.protocolType = v.Generation, v.ProtocolType
	g.protocol = orEmpty(v.Protocol)
	g.changed = v.CurrentStateTimestamp
	for i := range v.Members {
		g.add(restoredMember(&v.Members[i], g.protocol), v.ProtocolType)
	}
	if g.roster.members.len() > 0 {
		g.state = Stable
		if leader := orEmpty(v.Leader); g.roster.byID[leader] != nil {
			g.roster.leader = leader
		}
	}
	g.resubscribe()
}

func restoredMember(v *metarec.GroupMetadataValueMemberMetadata, protocol string) *member {
	if v.RebalanceTimeout < 0 {
		v.RebalanceTimeout = v.SessionTimeout
	}
	return &member{
		id: v.MemberId, instance: orEmpty(v.GroupInstanceId), clientID: v.ClientId, clientHost: v.ClientHost,
		sessionTimeout:   time.Duration(v.SessionTimeout) * time.Millisecond,
		rebalanceTimeout: time.Duration(v.RebalanceTimeout) * time.Millisecond,
		protocols:        []Protocol{{Name: protocol, Metadata: v.Subscription}},
		assignment:       v.Assignment,
	}
}

// loaded lets time run for what was replayed: all members have a whole session
// to find their new coordinator.
func (l *loader) loaded() {
	l.topics = nil
	d := l.groups.desk
	d.timers.stop(&l.groups.scan)
	for _, id := range l.groups.ids() {
		g := l.groups.byID[id]
		for m := range g.roster.members.all() {
			m.heard(d)
		}
		if g.roster.members.len() > d.cfg.MaxSize {
			g.forming.prepare()
		}
	}
	l.groups.scanAgain()
}
