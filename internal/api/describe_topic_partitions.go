package api

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeTopicPartitions answers DescribeTopicPartitions: topics page by page,
// with what KIP-966 knows of a partition.
type describeTopicPartitions struct {
	view  View
	limit int // max.request.partition.size.limit, partitions of one answer
}

func (d describeTopicPartitions) serve(c Context, req *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	page := topicPage{
		img: d.view.Image(), listener: c.Conn.Listener,
		left: max(1, min(d.limit, int(req.ResponsePartitionLimit))),
		resp: kmsg.NewPtrDescribeTopicPartitionsResponse(),
	}
	page.resp.Topics = []kmsg.DescribeTopicPartitionsResponseTopic{}
	from, first := "", kafka.PartitionID(0)
	if cur := req.Cursor; cur != nil {
		from, first = cur.Topic, kafka.PartitionID(cur.Partition)
		if !cursorFits(req) {
			page.refuse(req, kerr.InvalidRequest)
			return page.resp
		}
	}
	if len(req.Topics) == 0 {
		page.all(from, first)
	} else {
		page.named(req, from, first)
	}
	return page.resp
}

// cursorFits: a cursor stands at a partition of a topic that was asked for.
func cursorFits(req *kmsg.DescribeTopicPartitionsRequest) bool {
	if req.Cursor.Partition < 0 {
		return false
	}
	return len(req.Topics) == 0 || slices.ContainsFunc(req.Topics,
		func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == req.Cursor.Topic })
}

// topicPage gathers topics in the order of their names until it is full.
type topicPage struct {
	img      *image.Image
	listener string
	left     int // partitions that still fit
	resp     *kmsg.DescribeTopicPartitionsResponse
}

// all describes every topic from a name on.
func (p *topicPage) all(from string, first kafka.PartitionID) {
	for name, id := range p.img.TopicNames().From(from) {
		t, ok := p.img.TopicByID(id)
		if ok && !p.add(t, startOf(name, from, first)) {
			return
		}
	}
}

// named describes the topics that were asked for, from a name on.
func (p *topicPage) named(req *kmsg.DescribeTopicPartitionsRequest, from string, first kafka.PartitionID) {
	names := make([]string, 0, len(req.Topics))
	for _, t := range req.Topics {
		if t.Topic >= from {
			names = append(names, t.Topic)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if p.left <= 0 {
			p.next(name, 0)
			return
		}
		t, ok := p.img.TopicNamed(name)
		if !ok {
			p.missing(name, unknownTopic(name), allTopicOperations)
		} else if !p.add(t, startOf(name, from, first)) {
			return
		}
	}
}

func startOf(name, from string, first kafka.PartitionID) kafka.PartitionID {
	if name == from {
		return first
	}
	return 0
}

// add describes a topic from a partition on; false: the page is full, and the
// cursor is set to what comes next.
func (p *topicPage) add(t *image.Topic, first kafka.PartitionID) bool {
	if p.left <= 0 {
		p.next(t.Name, 0)
		return false
	}
	r := kmsg.NewDescribeTopicPartitionsResponseTopic()
	r.Topic, r.TopicID, r.IsInternal = &t.Name, t.ID, kafka.IsInternal(t.Name)
	r.AuthorizedOperations = allTopicOperations
	r.Partitions = []kmsg.DescribeTopicPartitionsResponseTopicPartition{}
	more := kafka.PartitionID(-1)
	for id, part := range t.Partitions.From(first) {
		if p.left == 0 {
			more = id
			break
		}
		r.Partitions = append(r.Partitions, p.partition(id, part))
		p.left--
	}
	p.resp.Topics = append(p.resp.Topics, r)
	if more >= 0 {
		p.next(t.Name, more)
		return false
	}
	return true
}

func (p *topicPage) next(topic string, partition kafka.PartitionID) {
	p.resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: topic, Partition: int32(partition)}
}

// partition describes one partition. One without a leader is no error here: it
// says leader -1, and what KIP-966 knows of who could become it.
func (p *topicPage) partition(id kafka.PartitionID, part *image.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	leader, _ := leaderOf(p.img, part, p.listener, kerr.None)
	r := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	r.Partition = int32(id)
	r.LeaderID, r.LeaderEpoch = int32(leader), int32(part.LeaderEpoch)
	r.Replicas, r.ISR = nodeIDs(part.Replicas), nodeIDs(part.ISR)
	r.EligibleLeaderReplicas, r.LastKnownELR = nodeIDs(part.ELR), nodeIDs(part.LastELR)
	r.OfflineReplicas = offlineReplicas(p.img, part, p.listener)
	return r
}

func (p *topicPage) missing(name string, code kerr.Code, operations int32) {
	r := kmsg.NewDescribeTopicPartitionsResponseTopic()
	r.AuthorizedOperations = operations
	r.ErrorCode, r.Topic, r.IsInternal = int16(code), &name, kafka.IsInternal(name)
	r.Partitions = []kmsg.DescribeTopicPartitionsResponseTopicPartition{}
	p.resp.Topics = append(p.resp.Topics, r)
}

// refuse answers each topic with the same error.
func (p *topicPage) refuse(req *kmsg.DescribeTopicPartitionsRequest, code kerr.Code) {
	for _, t := range req.Topics {
		p.missing(t.Topic, code, noOperations)
	}
}
