package group

import (
	"errors"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Replay applies one record of the partition while it is loaded. producer is
// the producer id of a transactional batch, else kafka.NoProducer: such a
// commit counts when ReplayMarker says so. Records of kinds that are not known
// are left alone. An error says that a record cannot be read.
func (s *Shard) Replay(producer kafka.ProducerID, keyBytes, valueBytes []byte) error {
	key, err := metarec.ReadGroupKey(keyBytes)
	if errors.Is(err, metarec.ErrUnknownType) {
		return nil
	}
	if err != nil {
		return err
	}
	value, _, err := metarec.ReadGroupValue(key, valueBytes)
	if err != nil {
		return err
	}
	switch key := key.(type) {
	case *metarec.OffsetCommitKey:
		v, _ := value.(*metarec.OffsetCommitValue)
		s.replayOffset(producer, key.Group, kafka.TopicPartition{Topic: key.Topic, Partition: kafka.PartitionID(key.Partition)}, v)
	case *metarec.LegacyOffsetCommitKey:
		var v *metarec.OffsetCommitValue
		if old, ok := value.(*metarec.LegacyOffsetCommitValue); ok {
			v = metarec.NewOffsetCommitValue()
			v.Offset, v.Metadata, v.CommitTimestamp = old.Offset, old.Metadata, old.CommitTimestamp
		}
		s.replayOffset(producer, key.Group, kafka.TopicPartition{Topic: key.Topic, Partition: kafka.PartitionID(key.Partition)}, v)
	case *metarec.GroupMetadataKey:
		v, _ := value.(*metarec.GroupMetadataValue)
		s.replayGroup(key.Group, v)
	case *metarec.ConsumerGroupMetadataKey:
		s.replayForeign(key.GroupId, Consumer, value != nil)
	case *metarec.ShareGroupMetadataKey:
		s.replayForeign(key.GroupId, Share, value != nil)
	case *metarec.StreamsGroupMetadataKey:
		s.replayForeign(key.GroupId, Streams, value != nil)
	}
	return nil
}

// replayOffset applies a committed offset, or its tombstone (v is nil).
func (s *Shard) replayOffset(producer kafka.ProducerID, group string, tp kafka.TopicPartition, v *metarec.OffsetCommitValue) {
	g := s.groups[group]
	if g == nil && v != nil {
		g = s.newClassic(group)
	}
	switch {
	case v == nil && g == nil:
	case v == nil:
		if o := g.offsets[tp]; o != nil {
			o.set = false
			g.settle(tp, o)
		}
	default:
		c := committedOffset{
			offset: kafka.Offset(v.Offset), leaderEpoch: kafka.Epoch(v.LeaderEpoch), metadata: v.Metadata,
			committedAt: v.CommitTimestamp, expiresAt: v.ExpireTimestamp,
		}
		o := g.place(tp)
		if producer != kafka.NoProducer {
			s.holdBack(producer, txnOffset{group: group, tp: tp, value: c}, o)
			return
		}
		o.committedOffset, o.set = c, true
	}
}

// txnOffset is an offset of a transaction that has not ended.
type txnOffset struct {
	group string
	tp    kafka.TopicPartition
	value committedOffset
}

func (s *Shard) holdBack(producer kafka.ProducerID, t txnOffset, o *offset) {
	if s.txns == nil {
		s.txns = make(map[kafka.ProducerID][]txnOffset)
	}
	s.txns[producer] = append(s.txns[producer], t)
	o.txns++
}

// ReplayMarker ends a transaction: its offsets count from here, or never.
func (s *Shard) ReplayMarker(producer kafka.ProducerID, commit bool) {
	for _, t := range s.txns[producer] {
		g := s.groups[t.group]
		if g == nil {
			continue // deleted since
		}
		o := g.offsets[t.tp]
		if o == nil {
			continue
		}
		o.txns = max(o.txns-1, 0)
		if commit {
			o.committedOffset, o.set = t.value, true
		}
		g.settle(t.tp, o)
	}
	delete(s.txns, producer)
}

// replayGroup applies a group as it was stored, or its tombstone (v is nil).
// The offsets stay: they have records of their own.
func (s *Shard) replayGroup(id string, v *metarec.GroupMetadataValue) {
	old := s.groups[id]
	switch {
	case v == nil && old == nil:
		return
	case v == nil && len(old.offsets) == 0:
		s.forget(old)
		return
	case old != nil:
		s.forget(old)
	}
	g := s.newClassic(id)
	if old != nil {
		g.offsets = old.offsets
	}
	if v == nil {
		return
	}
	g.persisted = true
	g.generation, g.protocolType = v.Generation, v.ProtocolType
	g.protocol = orEmpty(v.Protocol)
	g.changed = v.CurrentStateTimestamp
	for i := range v.Members {
		g.add(s.replayMember(g, &v.Members[i]), v.ProtocolType)
	}
	if len(g.members) > 0 {
		g.state = Stable
		if leader := orEmpty(v.Leader); g.byID[leader] != nil {
			g.leader = leader
		}
	}
	g.resubscribe()
}

func (s *Shard) replayMember(g *classic, v *metarec.GroupMetadataValueMemberMetadata) *member {
	if v.RebalanceTimeout < 0 {
		v.RebalanceTimeout = v.SessionTimeout
	}
	m := &member{
		id: v.MemberId, instance: orEmpty(v.GroupInstanceId), clientID: v.ClientId, clientHost: v.ClientHost,
		sessionTimeout:   time.Duration(v.SessionTimeout) * time.Millisecond,
		rebalanceTimeout: time.Duration(v.RebalanceTimeout) * time.Millisecond,
		protocols:        []Protocol{{Name: g.protocol, Metadata: v.Subscription}},
		assignment:       v.Assignment,
	}
	m.session.fire = func() { s.sessionTimeout(g, m) }
	return m
}

// replayForeign notes a group of another kind, or that it is gone.
func (s *Shard) replayForeign(id string, kind Type, there bool) {
	if !there {
		delete(s.foreign, id)
		return
	}
	if s.foreign == nil {
		s.foreign = make(map[string]Type)
	}
	s.foreign[id] = kind
}

func (s *Shard) isForeign(id string) bool {
	_, yes := s.foreign[id]
	return yes
}

// loaded lets time run for what was replayed: all members have a whole session
// to find their new coordinator.
func (s *Shard) loaded() {
	s.timers.stop(&s.scan)
	for _, id := range s.ids() {
		g := s.groups[id]
		for _, m := range g.members {
			s.expect(m, m.sessionTimeout)
		}
		if len(g.members) > s.cfg.MaxSize {
			s.prepareRebalance(g)
		}
	}
	if len(s.groups) > 0 {
		s.timers.set(&s.scan, s.now.At.Add(s.cfg.CheckInterval))
	}
}
