package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BeginQuorumEpoch (53): KIP-595, endpoints of KIP-853.

func (w translator) receiveBegin(r *kmsg.BeginQuorumEpochRequest) (raft.Body, kmsg.Response) {
	resp := r.ResponseKind().(*kmsg.BeginQuorumEpochResponse)
	t, p := only(r.Topics, func(t kmsg.BeginQuorumEpochRequestTopic) []kmsg.BeginQuorumEpochRequestTopicPartition {
		return t.Partitions
	})
	code := w.addressed(r.ClusterID, t.Topic, p.Partition)
	if resp.ErrorCode = int16(code); code != kerr.None {
		return nil, resp
	}
	b := raft.BeginRequest{Voter: raft.NoVote, Leader: kafka.NodeID(p.LeaderID), Epoch: kafka.Epoch(p.LeaderEpoch)}
	if r.Version >= 1 {
		if r.VoterID >= 0 {
			b.Voter = kafka.ReplicaKey{Node: kafka.NodeID(r.VoterID), Dir: p.VoterDirectoryID}
		}
		for _, e := range r.LeaderEndpoints {
			b.Endpoints = append(b.Endpoints, raft.Endpoint{Name: upper(e.Name), Host: e.Host, Port: e.Port})
		}
	}
	return b, nil
}

func respondBegin(from RequestInfo, req *kmsg.BeginQuorumEpochRequest, a raft.BeginAnswer) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.BeginQuorumEpochResponse)
	p := kmsg.NewBeginQuorumEpochResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch = int16(a.Err), int32(a.Hint.Leader), int32(a.Hint.Epoch)
	t := kmsg.NewBeginQuorumEpochResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.BeginQuorumEpochResponseTopicPartition{p}
	resp.Topics = append(resp.Topics, t)
	if at, ok := leaderAt(from, a.Hint); ok && req.Version >= 1 {
		e := kmsg.NewBeginQuorumEpochResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(a.Hint.Leader), at.Host, at.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp
}

func (w translator) askBegin(b raft.BeginRequest) kmsg.Request {
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	r.ClusterID, r.VoterID = &w.clusterID, int32(b.Voter.Node)
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.VoterDirectoryID, p.LeaderID, p.LeaderEpoch = b.Voter.Dir, int32(b.Leader), int32(b.Epoch)
	t := kmsg.NewBeginQuorumEpochRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.BeginQuorumEpochRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	for _, e := range b.Endpoints {
		l := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		r.LeaderEndpoints = append(r.LeaderEndpoints, l)
	}
	return r
}

func (w translator) readBegin(r *kmsg.BeginQuorumEpochResponse) (raft.Body, kerr.Code) {
	if r.ErrorCode != 0 {
		return nil, kerr.Code(r.ErrorCode)
	}
	t, p := only(r.Topics, func(t kmsg.BeginQuorumEpochResponseTopic) []kmsg.BeginQuorumEpochResponseTopicPartition {
		return t.Partitions
	})
	if !isMetadata(t.Topic, p.Partition) {
		return nil, kerr.InvalidRequest
	}
	hint := w.hint(p.LeaderID, p.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		hint.add(e.NodeID, e.Host, e.Port)
	}
	return raft.BeginAnswer{Err: kerr.Code(p.ErrorCode), Hint: hint.Hint}, kerr.None
}
