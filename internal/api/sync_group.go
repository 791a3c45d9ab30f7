package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncGroup answers SyncGroup.
type syncGroup struct{ groups Coordinator }

func (h syncGroup) serve(_ Context, req *kmsg.SyncGroupRequest, reply func(kmsg.Response)) {
	sync := &group.Sync{
		Call:         group.Call{Group: req.Group},
		Member:       group.Member{MemberID: req.MemberID, InstanceID: orEmpty(req.InstanceID), Generation: req.Generation},
		ProtocolType: req.ProtocolType, Protocol: req.Protocol,
		Assignments: make([]group.Assignment, len(req.GroupAssignment)),
	}
	for i, a := range req.GroupAssignment {
		sync.Assignments[i] = group.Assignment{MemberID: a.MemberID, Bytes: a.MemberAssignment}
	}
	h.groups.Submit(sync, func() {
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.ErrorCode = int16(sync.Err)
		if sync.Err == kerr.None {
			r := &sync.Reply
			resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &r.ProtocolType, &r.Protocol, r.Assignment
		}
		reply(resp)
	})
}
