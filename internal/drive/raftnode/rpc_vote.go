package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Vote (52): KIP-595, directory ids of KIP-853, PreVote of KIP-996.

func (w translator) receiveVote(r *kmsg.VoteRequest) (raft.Body, kmsg.Response) {
	resp := r.ResponseKind().(*kmsg.VoteResponse)
	t, p := only(r.Topics, func(t kmsg.VoteRequestTopic) []kmsg.VoteRequestTopicPartition { return t.Partitions })
	code := w.addressed(r.ClusterID, t.Topic, p.Partition)
	if resp.ErrorCode = int16(code); code != kerr.None {
		return nil, resp
	}
	v := raft.VoteRequest{
		Voter:     raft.NoVote,
		Candidate: kafka.ReplicaKey{Node: kafka.NodeID(p.CandidateID), Dir: p.CandidateDirectoryID},
		Epoch:     kafka.Epoch(p.CandidateEpoch),
		LastEpoch: kafka.Epoch(p.LastOffsetEpoch), End: kafka.Offset(p.LastOffset),
		PreVote: r.Version >= 2 && p.PreVote,
	}
	if r.Version >= 1 && r.VoterID >= 0 {
		v.Voter = kafka.ReplicaKey{Node: kafka.NodeID(r.VoterID), Dir: p.VoterDirectoryID}
	}
	return v, nil
}

func respondVote(from RequestInfo, req *kmsg.VoteRequest, a raft.VoteAnswer) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.VoteResponse)
	p := kmsg.NewVoteResponseTopicPartition()
	p.ErrorCode, p.VoteGranted = int16(a.Err), a.Granted
	p.LeaderID, p.LeaderEpoch = int32(a.Hint.Leader), int32(a.Hint.Epoch)
	t := kmsg.NewVoteResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.VoteResponseTopicPartition{p}
	resp.Topics = append(resp.Topics, t)
	if at, ok := leaderAt(from, a.Hint); ok && req.Version >= 1 {
		e := kmsg.NewVoteResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(a.Hint.Leader), at.Host, at.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp
}

func (w translator) askVote(v raft.VoteRequest) kmsg.Request {
	r := kmsg.NewPtrVoteRequest()
	r.ClusterID, r.VoterID = &w.clusterID, int32(v.Voter.Node)
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID, p.CandidateDirectoryID = int32(v.Epoch), int32(v.Candidate.Node), v.Candidate.Dir
	p.VoterDirectoryID = v.Voter.Dir
	p.LastOffsetEpoch, p.LastOffset, p.PreVote = int32(v.LastEpoch), int64(v.End), v.PreVote
	t := kmsg.NewVoteRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.VoteRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func (w translator) readVote(r *kmsg.VoteResponse) (raft.Body, kerr.Code) {
	if r.ErrorCode != 0 {
		return nil, kerr.Code(r.ErrorCode)
	}
	t, p := only(r.Topics, func(t kmsg.VoteResponseTopic) []kmsg.VoteResponseTopicPartition { return t.Partitions })
	if !isMetadata(t.Topic, p.Partition) {
		return nil, kerr.InvalidRequest
	}
	hint := w.hint(p.LeaderID, p.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		hint.add(e.NodeID, e.Host, e.Port)
	}
	return raft.VoteAnswer{Err: kerr.Code(p.ErrorCode), Hint: hint.Hint, Granted: p.VoteGranted}, kerr.None
}
