package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// UpdateRaftVoter (82): KIP-853.

func (w translator) receiveUpdateVoter(r *kmsg.UpdateRaftVoterRequest) (raft.Body, kmsg.Response) {
	if !w.sameCluster(r.ClusterID) {
		resp := r.ResponseKind().(*kmsg.UpdateRaftVoterResponse)
		resp.ErrorCode = int16(kerr.InconsistentClusterId)
		return nil, resp
	}
	b := raft.UpdateVoterRequest{
		Epoch:    kafka.Epoch(r.CurrentLeaderEpoch),
		Voter:    kafka.ReplicaKey{Node: kafka.NodeID(r.VoterID), Dir: r.VoterDirectoryID},
		MinLevel: r.KRaftVersionFeature.MinSupportedVersion, MaxLevel: r.KRaftVersionFeature.MaxSupportedVersion,
	}
	for _, l := range r.Listeners {
		b.Endpoints = append(b.Endpoints, raft.Endpoint{Name: upper(l.Name), Host: l.Host, Port: l.Port})
	}
	return b, nil
}

func respondUpdateVoter(from RequestInfo, r *kmsg.UpdateRaftVoterRequest, a raft.UpdateVoterAnswer) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.UpdateRaftVoterResponse)
	resp.ErrorCode = int16(a.Err)
	resp.CurrentLeader.LeaderID, resp.CurrentLeader.LeaderEpoch = int32(a.Hint.Leader), int32(a.Hint.Epoch)
	if at, ok := leaderAt(from, a.Hint); ok {
		resp.CurrentLeader.Host, resp.CurrentLeader.Port = at.Host, int32(at.Port)
	}
	return resp
}

func (w translator) askUpdateVoter(b raft.UpdateVoterRequest) kmsg.Request {
	r := kmsg.NewPtrUpdateRaftVoterRequest()
	r.ClusterID, r.CurrentLeaderEpoch = &w.clusterID, int32(b.Epoch)
	r.VoterID, r.VoterDirectoryID = int32(b.Voter.Node), b.Voter.Dir
	r.KRaftVersionFeature.MinSupportedVersion, r.KRaftVersionFeature.MaxSupportedVersion = b.MinLevel, b.MaxLevel
	for _, e := range b.Endpoints {
		l := kmsg.NewUpdateRaftVoterRequestListener()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		r.Listeners = append(r.Listeners, l)
	}
	return r
}

// readUpdateVoter reads an answer; it has one error, which is that of the voter.
func (w translator) readUpdateVoter(r *kmsg.UpdateRaftVoterResponse) (raft.Body, kerr.Code) {
	leader := r.CurrentLeader
	hint := w.hint(leader.LeaderID, leader.LeaderEpoch)
	if 0 < leader.Port && leader.Port <= 1<<16-1 {
		hint.add(leader.LeaderID, leader.Host, uint16(leader.Port))
	}
	return raft.UpdateVoterAnswer{Err: kerr.Code(r.ErrorCode), Hint: hint.Hint}, kerr.None
}
