package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AddRaftVoter (80), RemoveRaftVoter (81): KIP-853, AckWhenCommitted of KIP-1186.

func (w translator) receiveAddVoter(r *kmsg.AddRaftVoterRequest) (raft.Body, kmsg.Response) {
	if !w.sameCluster(r.ClusterID) {
		return nil, respondAddVoter(r, raft.ChangeAnswer{Err: kerr.InconsistentClusterId})
	}
	b := raft.AddVoterRequest{
		Voter:     kafka.ReplicaKey{Node: kafka.NodeID(r.VoterID), Dir: r.VoterDirectoryID},
		Endpoints: raft.Endpoints{}, AtOnce: r.Version >= 1 && !r.AckWhenCommitted,
	}
	for _, l := range r.Listeners {
		b.Endpoints = append(b.Endpoints, raft.Endpoint{Name: upper(l.Name), Host: l.Host, Port: l.Port})
	}
	return b, nil
}

func respondAddVoter(r *kmsg.AddRaftVoterRequest, a raft.ChangeAnswer) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AddRaftVoterResponse)
	resp.ErrorCode, resp.ErrorMessage = int16(a.Err), whyNot(a)
	return resp
}

// whyNot is the text beside an error; none beside success.
func whyNot(a raft.ChangeAnswer) *string {
	if a.Err == kerr.None {
		return nil
	}
	why := a.Why
	if why == "" {
		why = a.Err.String()
	}
	return &why
}

func (w translator) askAddVoter(b raft.AddVoterRequest) kmsg.Request {
	r := kmsg.NewPtrAddRaftVoterRequest()
	r.ClusterID, r.VoterID, r.VoterDirectoryID = &w.clusterID, int32(b.Voter.Node), b.Voter.Dir
	r.AckWhenCommitted = !b.AtOnce
	for _, e := range b.Endpoints {
		l := kmsg.NewAddRaftVoterRequestListener()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		r.Listeners = append(r.Listeners, l)
	}
	return r
}

func (w translator) receiveRemoveVoter(r *kmsg.RemoveRaftVoterRequest) (raft.Body, kmsg.Response) {
	if !w.sameCluster(r.ClusterID) {
		return nil, respondRemoveVoter(r, raft.ChangeAnswer{Err: kerr.InconsistentClusterId})
	}
	return raft.RemoveVoterRequest{Voter: kafka.ReplicaKey{Node: kafka.NodeID(r.VoterID), Dir: r.VoterDirectoryID}}, nil
}

func respondRemoveVoter(r *kmsg.RemoveRaftVoterRequest, a raft.ChangeAnswer) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.RemoveRaftVoterResponse)
	resp.ErrorCode, resp.ErrorMessage = int16(a.Err), whyNot(a)
	return resp
}

func (w translator) askRemoveVoter(b raft.RemoveVoterRequest) kmsg.Request {
	r := kmsg.NewPtrRemoveRaftVoterRequest()
	r.ClusterID, r.VoterID, r.VoterDirectoryID = &w.clusterID, int32(b.Voter.Node), b.Voter.Dir
	return r
}
