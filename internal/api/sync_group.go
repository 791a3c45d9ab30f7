package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncGroup answers SyncGroup. Since version 5 a client has to name the protocol
// that it means (KIP-559).
type syncGroup struct{ groups Coordinator }

func (h syncGroup) serve(_ Context, req *kmsg.SyncGroupRequest, reply func(kmsg.Response)) {
	sync := &group.Sync{
		Call:         group.Call{Group: req.Group},
		Member:       group.Member{MemberID: req.MemberID, InstanceID: orEmpty(req.InstanceID), Generation: req.Generation},
		ProtocolType: req.ProtocolType, Protocol: req.Protocol,
	}
	if len(req.GroupAssignment) > maxNamed {
		sync.Err = kerr.InvalidRequest
		reply(syncResponse(sync))
		return
	}
	sync.Assignments = make([]group.Assignment, len(req.GroupAssignment))
	for i, a := range req.GroupAssignment {
		sync.Assignments[i] = group.Assignment{MemberID: a.MemberID, Bytes: a.MemberAssignment}
	}
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		sync.Err = kerr.InconsistentGroupProtocol
		reply(syncResponse(sync))
		return
	}
	h.groups.Submit(sync, func() { reply(syncResponse(sync)) })
}

func syncResponse(sync *group.Sync) kmsg.Response {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = int16(sync.Err)
	if sync.Err == kerr.None {
		r := &sync.Reply
		resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &r.ProtocolType, &r.Protocol, r.Assignment
	}
	return resp
}
