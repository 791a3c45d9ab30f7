package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// EndQuorumEpoch (54): KIP-595, candidates with directory ids of KIP-853.

func (w translator) receiveEnd(r *kmsg.EndQuorumEpochRequest) (raft.Body, kmsg.Response) {
	resp := r.ResponseKind().(*kmsg.EndQuorumEpochResponse)
	t, p := only(r.Topics, func(t kmsg.EndQuorumEpochRequestTopic) []kmsg.EndQuorumEpochRequestTopicPartition {
		return t.Partitions
	})
	code := w.addressed(r.ClusterID, t.Topic, p.Partition)
	if resp.ErrorCode = int16(code); code != kerr.None {
		return nil, resp
	}
	e := raft.EndRequest{Leader: kafka.NodeID(p.LeaderID), Epoch: kafka.Epoch(p.LeaderEpoch)}
	for _, id := range p.PreferredSuccessors {
		e.Preferred = append(e.Preferred, kafka.ReplicaKey{Node: kafka.NodeID(id)})
	}
	for _, c := range p.PreferredCandidates {
		e.Preferred = append(e.Preferred, kafka.ReplicaKey{Node: kafka.NodeID(c.CandidateID), Dir: c.CandidateDirectoryID})
	}
	for _, l := range r.LeaderEndpoints {
		e.Endpoints = append(e.Endpoints, raft.Endpoint{Name: upper(l.Name), Host: l.Host, Port: l.Port})
	}
	return e, nil
}

func respondEnd(from RequestInfo, req *kmsg.EndQuorumEpochRequest, a raft.EndAnswer) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.EndQuorumEpochResponse)
	p := kmsg.NewEndQuorumEpochResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch = int16(a.Err), int32(a.Hint.Leader), int32(a.Hint.Epoch)
	t := kmsg.NewEndQuorumEpochResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.EndQuorumEpochResponseTopicPartition{p}
	resp.Topics = append(resp.Topics, t)
	if at, ok := leaderAt(from, a.Hint); ok && req.Version >= 1 {
		e := kmsg.NewEndQuorumEpochResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(a.Hint.Leader), at.Host, at.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp
}

// askEnd fills both lists of successors: version 0 carries ids only. Endpoints
// stay empty as Kafka leaves them.
func (w translator) askEnd(e raft.EndRequest) kmsg.Request {
	r := kmsg.NewPtrEndQuorumEpochRequest()
	r.ClusterID = &w.clusterID
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = int32(e.Leader), int32(e.Epoch)
	for _, key := range e.Preferred {
		c := kmsg.NewEndQuorumEpochRequestTopicPartitionPreferredCandidate()
		c.CandidateID, c.CandidateDirectoryID = int32(key.Node), key.Dir
		p.PreferredCandidates = append(p.PreferredCandidates, c)
		p.PreferredSuccessors = append(p.PreferredSuccessors, int32(key.Node))
	}
	t := kmsg.NewEndQuorumEpochRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.EndQuorumEpochRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func (w translator) readEnd(r *kmsg.EndQuorumEpochResponse) (raft.Body, kerr.Code) {
	if r.ErrorCode != 0 {
		return nil, kerr.Code(r.ErrorCode)
	}
	t, p := only(r.Topics, func(t kmsg.EndQuorumEpochResponseTopic) []kmsg.EndQuorumEpochResponseTopicPartition {
		return t.Partitions
	})
	if !isMetadata(t.Topic, p.Partition) {
		return nil, kerr.InvalidRequest
	}
	hint := w.hint(p.LeaderID, p.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		hint.add(e.NodeID, e.Host, e.Port)
	}
	return raft.EndAnswer{Err: kerr.Code(p.ErrorCode), Hint: hint.Hint}, kerr.None
}
