package fetcher

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// take hands the parts of the answer to a request to their replicas. It returns
// when all that must be durable before the next request is.
func (s *source) take(request uint64, resp *kmsg.FetchResponse) error {
	var unsynced []*partitions.Partition
	var misplaced []kafka.TopicIDPartition
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			if err := s.ctx.Err(); err != nil {
				return err // another source has taken over
			}
			id := kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(t.Partitions[j].Partition)}
			m := s.members[id]
			if m == nil || !m.listed || m.since > request {
				continue // taken out meanwhile, or asked for anew behind this request
			}
			if kerr.Code(t.Partitions[j].ErrorCode) == kerr.OffsetOutOfRange {
				misplaced = append(misplaced, id)
				continue
			}
			if s.takeOne(id, m, &t.Partitions[j]) {
				unsynced = append(unsynced, m.part)
			}
		}
	}
	syncAll(unsynced)
	return s.findBack(misplaced)
}

// takeOne hands the answer for one partition to its replica, and tells whether it
// has to be synced.
func (s *source) takeOne(id kafka.TopicIDPartition, m *member, p *kmsg.FetchResponseTopicPartition) (syncDue bool) {
	s.look(id)
	if code := kerr.Code(p.ErrorCode); code != kerr.None {
		s.refused(id, m, code)
		return false
	}
	from := partitions.FromLeader{
		HighWatermark: kafka.Offset(p.HighWatermark), LogStart: kafka.Offset(p.LogStartOffset), Records: p.RecordBatches,
	}
	if p.DivergingEpoch.EndOffset >= 0 {
		from.Diverging = &partitions.Divergence{Epoch: kafka.Epoch(p.DivergingEpoch.Epoch), End: kafka.Offset(p.DivergingEpoch.EndOffset)}
		s.host.cfg.Log.Info("log diverges from the leader's", "topic", m.part.Name.Topic, "partition", int32(id.Partition),
			"leader", int32(s.key.node), "end", int64(m.sent.End), "last_epoch", int32(m.sent.LastEpoch),
			"leader_epoch", p.DivergingEpoch.Epoch, "leader_end", p.DivergingEpoch.EndOffset)
	}
	syncDue, err := m.part.Follower().Take(m.sent, from)
	switch {
	case errors.Is(err, partitions.ErrMoved):
	case err != nil:
		s.host.cfg.Log.Warn("records of the leader not taken", "topic", m.part.Name.Topic, "partition", int32(id.Partition), "leader", int32(s.key.node), "err", err)
		m.failed.Store(true)
		s.restOf(id, m)
	default:
		m.failed.Store(false)
		m.rest.over()
		s.took(m, p)
	}
	return syncDue
}

// took notes how far a replica is behind what is committed, and what it took.
func (s *source) took(m *member, p *kmsg.FetchResponseTopicPartition) {
	s.host.figures.Bytes.Add(len(p.RecordBatches))
	if q := s.host.cfg.Quota; q.Lists(m.part.Name) {
		q.Record(len(p.RecordBatches))
	}
	if at, ok := m.part.Follower().Stands(); ok {
		lag := max(p.HighWatermark-int64(at.End), 0)
		m.lag.Store(lag)
		m.caughtUp = lag == 0
	}
}

// refused reacts to an error of the leader. One that calls our leader epoch old
// will say so until we know the new one, and Publish brings that; the others are
// of a leader, or of a follower, that does not know yet what the other does.
func (s *source) refused(id kafka.TopicIDPartition, m *member, code kerr.Code) {
	s.host.cfg.Log.Debug("fetch refused", "topic", m.part.Name.Topic, "partition", int32(id.Partition), "leader", int32(s.key.node), "err", code)
	if code == kerr.FencedLeaderEpoch {
		s.remove(id)
		return
	}
	s.restOf(id, m)
}

// restOf leaves a member out of the requests for a while. In the session its
// error would be the answer to each of them, at once.
func (s *source) restOf(id kafka.TopicIDPartition, m *member) {
	s.unlist(id, m)
	m.rest.begin(time.Now(), s.host.cfg.Limits.Backoff)
	s.resting[id] = m
}

// endRests takes up those who have rested.
func (s *source) endRests(now time.Time) {
	for id, m := range s.resting {
		if !now.Before(m.rest.until) {
			m.rest.end()
			delete(s.resting, id)
			s.look(id)
		}
	}
}

// nextRest is when the first rest ends, -1 without any.
func (s *source) nextRest(now time.Time) time.Duration {
	next := time.Duration(-1)
	for _, m := range s.resting {
		if left := max(m.rest.until.Sub(now), 0); next < 0 || left < next {
			next = left
		}
	}
	return next
}

// syncsAtOnce is how many logs are synced at one time. They share disks.
const syncsAtOnce = 8

func syncAll(list []*partitions.Partition) {
	var work sync.WaitGroup
	room := make(chan struct{}, syncsAtOnce)
	for _, p := range list {
		room <- struct{}{}
		work.Go(func() {
			_ = p.Follower().Sync() // a log that fails takes its directory offline by itself
			<-room
		})
	}
	work.Wait()
}

// Timestamps of ListOffsets.
const (
	latest   int64 = -1
	earliest int64 = -2
)

// findBack asks the leader where its logs begin and end, for replicas that stand
// outside of them.
func (s *source) findBack(ids []kafka.TopicIDPartition) error {
	if len(ids) == 0 {
		return nil
	}
	ends, err := s.offsets(ids, latest)
	if err != nil {
		return err
	}
	starts, err := s.offsets(ids, earliest)
	if err != nil {
		return err
	}
	for _, id := range ids {
		m := s.members[id]
		end, okEnd := ends[m.part.Name]
		start, okStart := starts[m.part.Name]
		s.look(id)
		if !okEnd || !okStart {
			s.restOf(id, m)
			continue
		}
		s.host.cfg.Log.Warn("offset out of the leader's range", "topic", m.part.Name.Topic, "partition", int32(id.Partition),
			"leader", int32(s.key.node), "end", int64(m.sent.End), "leader_start", int64(start), "leader_end", int64(end))
		if err := m.part.Follower().Misplaced(m.sent, start, end); err != nil && !errors.Is(err, partitions.ErrMoved) {
			s.host.cfg.Log.Warn("log cannot follow the leader's", "topic", m.part.Name.Topic, "partition", int32(id.Partition), "err", err)
		}
		if at, ok := m.part.Follower().Stands(); ok && at == m.sent {
			s.restOf(id, m) // nothing came of it: it may be better the next time
		}
	}
	return nil
}

// offsets asks the leader for one offset of each partition, and leaves out those
// that it refuses.
func (s *source) offsets(ids []kafka.TopicIDPartition, timestamp int64) (map[kafka.TopicPartition]kafka.Offset, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = int32(s.host.cfg.Self)
	var byTopic topics[kmsg.ListOffsetsRequestTopic]
	for _, id := range ids {
		m := s.members[id]
		t := byTopic.of(id.Topic, func() kmsg.ListOffsetsRequestTopic {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = m.part.Name.Topic
			return t
		})
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.Timestamp = int32(id.Partition), int32(m.sent.Epoch), timestamp
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = byTopic.list
	got, err := s.send(req).wait()
	if err != nil {
		return nil, err
	}
	resp, ok := got.(*kmsg.ListOffsetsResponse)
	if !ok {
		return nil, fmt.Errorf("leader %d answered with something else", s.key.node)
	}
	found := map[kafka.TopicPartition]kafka.Offset{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if kerr.Code(p.ErrorCode) == kerr.None && p.Offset >= 0 {
				found[kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(p.Partition)}] = kafka.Offset(p.Offset)
			}
		}
	}
	return found, nil
}
