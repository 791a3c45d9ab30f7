package group

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// never is the time at which an offset without expiry of its own expires.
const never = -1

// committedOffset is what a commit says about one partition.
type committedOffset struct {
	offset      kafka.Offset
	leaderEpoch kafka.Epoch // -1: not known
	// order is the place of its record among those of the log, see order.
	order       order
	metadata    string
	committedAt int64 // ms
	expiresAt   int64 // ms, or never: by retention
	// topic is the topic it was committed for; zero where the record does not
	// say. A name may have been given to another topic since.
	topic kafka.TopicID
}

// order is the place of a commit among the others of a log: of two commits for one
// partition the one whose record is behind the other counts, even if it is a
// transaction's that ended before the other's. The cleaner would keep no other.
type order uint32

// sinceLoad is the order of all that is committed here: transactions commit offsets
// with other brokers, so their records were there when the log was loaded.
const sinceLoad order = math.MaxUint32

// of tells whether the offset may be of the topic that has the name now. Zero
// stands for what is not known.
func (c *committedOffset) of(topic kafka.TopicID) bool {
	return c.topic == topic || c.topic.IsZero() || topic.IsZero()
}

// offset is a partition's place in a group.
// Invariant: set, inflight > 0 or txns > 0; otherwise it is taken out.
type offset struct {
	committedOffset
	set      bool  // there is a committed offset
	inflight int32 // records about this partition that are not committed yet
	txns     int32 // open transactions that have an offset for it
}

// offsets are the places of a group's partitions.
type offsets map[kafka.TopicPartition]*offset

// place gives the partition's entry, making one.
func (o *offsets) place(tp kafka.TopicPartition) *offset {
	at := (*o)[tp]
	if at == nil {
		at = &offset{}
		if *o == nil {
			*o = make(offsets)
		}
		(*o)[tp] = at
	}
	return at
}

// settle takes the entry out when nothing is left of it.
func (o offsets) settle(tp kafka.TopicPartition, at *offset) {
	if !at.set && at.inflight == 0 && at.txns == 0 && o[tp] == at {
		delete(o, tp)
	}
}

// remove takes the committed offset of a partition out, if there is one.
func (o offsets) remove(tp kafka.TopicPartition) {
	if at := o[tp]; at != nil {
		at.set = false
		o.settle(tp, at)
	}
}

// partitions are the partitions that have entries, sorted.
func (o offsets) partitions() []kafka.TopicPartition {
	list := make([]kafka.TopicPartition, 0, len(o))
	for tp := range o { // any order: sorted below
		list = append(list, tp)
	}
	slices.SortFunc(list, byTopic)
	return list
}

func byTopic(a, b kafka.TopicPartition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return cmp.Compare(a.Partition, b.Partition)
}

// all lists what a fetch of all partitions has to read, sorted. current gives
// the id of the topic that has a name now.
func (o offsets) all(stable bool, current func(string) kafka.TopicID) []FetchOffset {
	var list []FetchOffset
	for _, tp := range o.partitions() {
		if at := o[tp]; at.set && at.of(current(tp.Topic)) || at.txns > 0 && stable {
			list = append(list, FetchOffset{TopicPartition: tp})
		}
	}
	return list
}

// read fills in one partition of the topic that has the name now. An offset that
// is not there is no error, and one of an earlier topic is not there.
func (o offsets) read(f *FetchOffset, stable bool, topic kafka.TopicID) {
	f.Offset, f.LeaderEpoch, f.Metadata = kafka.NoOffset, kafka.NoEpoch, ""
	if f.Err != kerr.None {
		return // refused before it came here
	}
	switch at := o[f.TopicPartition]; {
	case at == nil:
	case stable && at.txns > 0:
		f.Err = kerr.UnstableOffsetCommit
	case at.set && at.of(topic):
		f.Offset, f.LeaderEpoch, f.Metadata = at.offset, at.leaderEpoch, at.metadata
	}
}
