package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// throttled tells whether a follower's fetch gets no records of a partition unless
// the follower is in sync: the partition is throttled here, and the leaders' quota is
// used up (KIP-73). The fetch waits then as if there were none, and looks again when
// its time is up.
func (w *fetchWait) throttled(p *partitions.Partition) bool {
	q := w.handler.quota
	return q != nil && w.fromFollower() && q.Lists(p.Name) && q.Exceeded()
}

func (w *fetchWait) fromFollower() bool { return w.reader.Follower != kafka.NoNode }

// highest is the highest of a partition's high watermarks that a fetch can bring to a
// follower: one that a quota holds back learns of none beyond its log, and is not to
// ask for it again and again.
func highest(d *partitions.Data, followerEnd kafka.Offset) kafka.Offset {
	if d.Held {
		return min(d.HighWatermark, followerEnd)
	}
	return d.HighWatermark
}

// What an answer is beside its records, in bytes: the frame with its size, and a
// partition with its topic's id.
const (
	answerFrame    = 16
	partitionFrame = 56
)

// spend takes what an answer says of throttled partitions from the leaders' quota,
// for replicas in sync too: the quota is of all replication of what is throttled. As in
// Apache Kafka the frame of an answer counts though it may hold nothing throttled.
func (w *fetchWait) spend() {
	q := w.handler.quota
	if q == nil || !w.fromFollower() || !q.Any() {
		return
	}
	bytes := answerFrame
	for i := range w.answers {
		a := &w.answers[i]
		if a.part.found != nil && q.Lists(a.part.found.Name) {
			bytes += partitionFrame + int(a.records.Len)
		}
	}
	q.Record(bytes)
}
