package api

import (
	"math"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetCommit answers OffsetCommit. Partitions that do not exist have an error
// of their own, the others are committed.
type offsetCommit struct {
	view   View
	groups Coordinator
}

func (h offsetCommit) serve(_ Context, req *kmsg.OffsetCommitRequest, reply func(kmsg.Response)) {
	commit := &group.CommitOffsets{
		Call:         group.Call{Group: req.Group},
		Member:       group.Member{MemberID: req.MemberID, InstanceID: orEmpty(req.InstanceID), Generation: req.Generation},
		UnknownGroup: kerr.IllegalGeneration,
		Retention:    -1,
	}
	if req.Version >= 9 {
		commit.UnknownGroup = kerr.GroupIdNotFound
	}
	if req.Version <= 4 && req.RetentionTimeMillis >= 0 {
		commit.Retention = time.Duration(min(req.RetentionTimeMillis, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	if partitionsOf(req) > maxNamed {
		commit.Err = kerr.InvalidRequest
		reply(commitResponse(req, commit))
		return
	}
	if !addOffsets(h.view.Image(), req, commit) {
		reply(commitResponse(req, commit)) // nothing left for the coordinator
		return
	}
	h.groups.Submit(commit, func() { reply(commitResponse(req, commit)) })
}

// partitionsOf counts the partitions that a request names.
func partitionsOf(req *kmsg.OffsetCommitRequest) (n int) {
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	return n
}

// addOffsets adds all partitions of the request, in its order, and tells whether
// one of them can be committed.
func addOffsets(img *image.Image, req *kmsg.OffsetCommitRequest, commit *group.CommitOffsets) (some bool) {
	n := partitionsOf(req)
	commit.Offsets = make([]group.CommitOffset, 0, n)
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := findTopic(img, req.Version >= 10, t.Topic, t.TopicID)
		var id kafka.TopicID
		if topic.known != nil {
			id = topic.known.ID
		}
		for _, p := range t.Partitions {
			c := group.CommitOffset{
				TopicPartition: kafka.TopicPartition{Topic: topic.name, Partition: kafka.PartitionID(p.Partition)}, TopicID: id,
				Offset: kafka.Offset(p.Offset), LeaderEpoch: kafka.NoEpoch,
				Metadata: orEmpty(p.Metadata), Err: topic.partition(p.Partition),
			}
			if req.Version >= 6 {
				c.LeaderEpoch = kafka.Epoch(p.LeaderEpoch)
			}
			some = some || c.Err == kerr.None
			commit.Offsets = append(commit.Offsets, c)
		}
	}
	return some || n == 0
}

// commitResponse has a code for each partition. A commit without offsets was
// refused as a whole.
func commitResponse(req *kmsg.OffsetCommitRequest, commit *group.CommitOffsets) kmsg.Response {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	next := 0
	for i := range req.Topics {
		t, out := &req.Topics[i], &resp.Topics[i]
		out.Topic, out.TopicID = t.Topic, t.TopicID
		out.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			code := commit.Err // of the whole commit
			if next < len(commit.Offsets) && commit.Offsets[next].Err != kerr.None {
				code = commit.Offsets[next].Err
			}
			out.Partitions[j] = kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)}
			next++
		}
	}
	return resp
}
