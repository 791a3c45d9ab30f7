package raftnode

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeQuorum (55): KIP-595, times of KIP-836, nodes of KIP-853.

type describeQuorum struct {
	req   *kmsg.DescribeQuorumRequest
	reply func(kmsg.Response)
}

func (d *describeQuorum) run(l *loop) {
	if len(d.req.Topics) != 1 || len(d.req.Topics[0].Partitions) != 1 ||
		!isMetadata(d.req.Topics[0].Topic, d.req.Topics[0].Partitions[0].Partition) {
		d.reply(refuseDescribe(d.req, kerr.UnknownTopicOrPartition, ""))
		return
	}
	q, leads := l.core.Describe(l.n.clock.now())
	if !leads || l.fault != nil {
		d.reply(refuseDescribe(d.req, kerr.NotLeaderOrFollower, ""))
		return
	}
	d.reply(respondDescribe(d.req, q, l.n.clock.ms()))
}

func respondDescribe(req *kmsg.DescribeQuorumRequest, q raft.Quorum, nowMs int64) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(q.Leader), int32(q.Epoch), int64(q.HighWatermark)
	for _, s := range q.Voters {
		p.CurrentVoters = append(p.CurrentVoters, describeReplica(s, nowMs))
	}
	for _, s := range q.Observers {
		p.Observers = append(p.Observers, describeReplica(s, nowMs))
	}
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.DescribeQuorumResponseTopicPartition{p}
	resp.Topics = append(resp.Topics, t)
	if req.Version >= 2 {
		for _, s := range q.Voters {
			resp.Nodes = append(resp.Nodes, describeNode(s))
		}
	}
	return resp
}

func describeReplica(s raft.ReplicaState, nowMs int64) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	r.ReplicaID, r.ReplicaDirectoryID, r.LogEndOffset = int32(s.Key.Node), s.Key.Dir, int64(s.End)
	r.LastFetchTimestamp, r.LastCaughtUpTimestamp = ago(s.SinceFetch, nowMs), ago(s.SinceCaught, nowMs)
	return r
}

// ago turns an age into a time; -1 is never.
func ago(age time.Duration, nowMs int64) int64 {
	if age < 0 {
		return -1
	}
	return nowMs - age.Milliseconds()
}

func describeNode(s raft.ReplicaState) kmsg.DescribeQuorumResponseNode {
	node := kmsg.NewDescribeQuorumResponseNode()
	node.NodeID = int32(s.Key.Node)
	for _, e := range s.Endpoints {
		l := kmsg.NewDescribeQuorumResponseNodeListener()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		node.Listeners = append(node.Listeners, l)
	}
	return node
}

// refuseDescribe puts an error beside every partition that was asked for.
func refuseDescribe(req *kmsg.DescribeQuorumRequest, code kerr.Code, why string) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	if why == "" {
		why = code.String()
	}
	for _, asked := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = asked.Topic
		for _, one := range asked.Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = one.Partition, int16(code), &why
			p.LeaderID, p.LeaderEpoch, p.HighWatermark = -1, -1, -1
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
