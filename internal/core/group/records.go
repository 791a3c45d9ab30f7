package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Versions of the values that are written; Apache Kafka 4.4 writes the same.
const (
	groupVersion  = 3
	offsetVersion = 3
	// expiringOffsetVersion is the only one that can say when an offset
	// expires, which clients of long ago could ask for.
	expiringOffsetVersion = 1
)

// put appends a record to the unit that was opened last. A nil value is a
// tombstone. Lengths were checked when the request came, so encoding succeeds.
func (s *Shard) put(key, value metarec.Message, version int16) {
	start := len(s.arena)
	var err error
	s.arena, err = metarec.AppendCoordinatorKey(s.arena, key)
	invariant.Check(err == nil, "key of a group record: %v", err)
	r := Record{Seq: s.queue.last, Key: s.arena[start:len(s.arena):len(s.arena)]}
	if value != nil {
		start = len(s.arena)
		s.arena, err = metarec.AppendCoordinatorValue(s.arena, value, version)
		invariant.Check(err == nil, "value of a group record: %v", err)
		r.Value = s.arena[start:len(s.arena):len(s.arena)]
	}
	s.out.Append = append(s.out.Append, r)
}

// putOffset appends a committed offset.
func (s *Shard) putOffset(group string, tp kafka.TopicPartition, v *committedOffset) {
	s.offsetKey = metarec.OffsetCommitKey{Group: group, Topic: tp.Topic, Partition: int32(tp.Partition)}
	s.offsetValue = metarec.OffsetCommitValue{
		Offset: int64(v.offset), LeaderEpoch: int32(v.leaderEpoch), Metadata: v.metadata,
		CommitTimestamp: v.committedAt, ExpireTimestamp: v.expiresAt,
	}
	version := int16(offsetVersion)
	if v.expiresAt != never {
		version = expiringOffsetVersion
	}
	s.put(&s.offsetKey, &s.offsetValue, version)
}

// dropOffset appends the tombstone of a committed offset.
func (s *Shard) dropOffset(group string, tp kafka.TopicPartition) {
	s.offsetKey = metarec.OffsetCommitKey{Group: group, Topic: tp.Topic, Partition: int32(tp.Partition)}
	s.put(&s.offsetKey, nil, 0)
}

// dropGroup appends the tombstone of a group.
func (s *Shard) dropGroup(group string) {
	s.groupKey = metarec.GroupMetadataKey{Group: group}
	s.put(&s.groupKey, nil, 0)
}

// persist appends the group as it is; u waits for the record.
func (s *Shard) persist(u unit, g *classic) {
	s.persistWith(u, g, func(m *member) []byte { return m.assignment })
}

// persistWith appends the group with assignments that are not the members' yet.
func (s *Shard) persistWith(u unit, g *classic, assigned func(*member) []byte) {
	g.persisted = true
	s.open(u)
	s.groupKey = metarec.GroupMetadataKey{Group: g.id}
	s.groupValue = metarec.GroupMetadataValue{
		ProtocolType: g.protocolType, Generation: g.generation,
		Protocol: optional(g.protocol), Leader: optional(g.leader),
		CurrentStateTimestamp: g.changed,
		Members:               s.groupValue.Members[:0],
	}
	for _, m := range g.members {
		s.groupValue.Members = append(s.groupValue.Members, metarec.GroupMetadataValueMemberMetadata{
			MemberId: m.id, GroupInstanceId: optional(m.instance),
			ClientId: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeout: int32(m.rebalanceTimeout / time.Millisecond),
			SessionTimeout:   int32(m.sessionTimeout / time.Millisecond),
			Subscription:     m.metadata(g.protocol), Assignment: assigned(m),
		})
	}
	s.put(&s.groupKey, &s.groupValue, groupVersion)
	clear(s.groupValue.Members) // do not keep the bytes alive
}

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmpty is "" for nil.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
