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

// tellRefusedUpdate tells the operator of a leader of a voter whose addresses or
// levels it does not take: the cluster works, but no later leader finds that voter.
func (w translator) tellRefusedUpdate(asked, told raft.Body) {
	a, update := told.(raft.UpdateVoterAnswer)
	if !update || a.Why == "" {
		return
	}
	r := asked.(raft.UpdateVoterRequest)
	w.log.warn(r.Voter, "the voters are not updated with what one of them says of itself",
		"voter", r.Voter.Node, "directory", r.Voter.Dir, "advertised", r.Endpoints, "error", a.Err, "why", a.Why)
}

// tellRefusedSelf tells the operator of a voter that its leader does not take what
// it says of itself. A leader that is not ready yet refuses too: that is told when
// it goes on.
func (w translator) tellRefusedSelf(m raft.Message, addr string, told raft.Body) {
	a, update := told.(raft.UpdateVoterAnswer)
	if !update {
		return
	}
	switch a.Err {
	case kerr.None, kerr.UnsupportedVersion, kerr.NotLeaderOrFollower, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.BrokerNotAvailable:
		return
	}
	r := m.Body.(raft.UpdateVoterRequest)
	w.log.warnIfItGoesOn(addr, "the leader does not take the addresses that this voter advertises, so its entry among the voters stays as it was",
		"leader", m.To, "addr", addr, "advertised", r.Endpoints, "error", a.Err)
}
