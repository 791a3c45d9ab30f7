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
	offsetVersion = 4 // the first that says for which topic
	// expiringOffsetVersion is the only one that can say when an offset
	// expires, which clients of long ago could ask for.
	expiringOffsetVersion = 1
)

// journal writes the records of a step.
type journal struct {
	seq     Seq // of the unit that the next records belong to
	records []Record
	arena   []byte // holds their keys and values

	// What records are written from, so that writing allocates nothing.
	offsetKey   metarec.OffsetCommitKey
	offsetValue metarec.OffsetCommitValue
	groupKey    metarec.GroupMetadataKey
	groupValue  metarec.GroupMetadataValue
}

// keptArena is how many bytes for records are kept from step to step; a large
// group needs more once in a while.
const keptArena = 16 << 10

// begin forgets the records of the step before.
func (j *journal) begin() {
	if j.arena = j.arena[:0]; cap(j.arena) > keptArena {
		j.arena = nil
	}
	j.records = j.records[:0]
}

// put appends a record to the unit that was opened last. A nil value is a
// tombstone. Lengths were checked when the request came, so encoding succeeds.
func (j *journal) put(key, value metarec.Message, version int16) {
	start := len(j.arena)
	var err error
	j.arena, err = metarec.AppendCoordinatorKey(j.arena, key)
	invariant.Check(err == nil, "key of a group record: %v", err)
	r := Record{Seq: j.seq, Key: j.arena[start:len(j.arena):len(j.arena)]}
	if value != nil {
		start = len(j.arena)
		j.arena, err = metarec.AppendCoordinatorValue(j.arena, value, version)
		invariant.Check(err == nil, "value of a group record: %v", err)
		r.Value = j.arena[start:len(j.arena):len(j.arena)]
	}
	j.records = append(j.records, r)
}

// marker appends a transaction marker.
func (j *journal) marker(r *EndTransaction) {
	j.records = append(j.records, Record{Seq: j.seq, Marker: r})
}

// offset appends a committed offset.
func (j *journal) offset(group string, tp kafka.TopicPartition, v *committedOffset) {
	j.offsetKey = metarec.OffsetCommitKey{Group: group, Topic: tp.Topic, Partition: int32(tp.Partition)}
	j.offsetValue = metarec.OffsetCommitValue{
		Offset: int64(v.offset), LeaderEpoch: int32(v.leaderEpoch), Metadata: v.metadata,
		CommitTimestamp: v.committedAt, ExpireTimestamp: v.expiresAt, TopicId: v.topic,
	}
	version := int16(offsetVersion)
	if v.expiresAt != never {
		version = expiringOffsetVersion
	}
	j.put(&j.offsetKey, &j.offsetValue, version)
}

// noOffset appends the tombstone of a committed offset.
func (j *journal) noOffset(group string, tp kafka.TopicPartition) {
	j.offsetKey = metarec.OffsetCommitKey{Group: group, Topic: tp.Topic, Partition: int32(tp.Partition)}
	j.put(&j.offsetKey, nil, 0)
}

// group appends a group with the assignments given, which may not be its
// members' yet.
func (j *journal) group(g *classic, assigned func(*member) []byte) {
	j.groupKey = metarec.GroupMetadataKey{Group: g.id}
	j.groupValue = metarec.GroupMetadataValue{
		ProtocolType: g.protocolType, Generation: g.generation,
		Protocol: optional(g.protocol), Leader: optional(g.roster.leader),
		CurrentStateTimestamp: g.changed,
		Members:               j.groupValue.Members[:0],
	}
	for m := range g.roster.members.all() {
		j.groupValue.Members = append(j.groupValue.Members, metarec.GroupMetadataValueMemberMetadata{
			MemberId: m.id, GroupInstanceId: optional(m.instance),
			ClientId: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeout: int32(m.rebalanceTimeout / time.Millisecond),
			SessionTimeout:   int32(m.sessionTimeout / time.Millisecond),
			Subscription:     m.metadata(g.protocol), Assignment: assigned(m),
		})
	}
	j.put(&j.groupKey, &j.groupValue, groupVersion)
	clear(j.groupValue.Members) // do not keep the bytes alive
}

// noGroup appends the tombstone of a group.
func (j *journal) noGroup(group string) {
	j.groupKey = metarec.GroupMetadataKey{Group: group}
	j.put(&j.groupKey, nil, 0)
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
