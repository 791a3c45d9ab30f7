package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaveGroup answers LeaveGroup: of one member before version 3, of several
// with an error for each since then (KIP-345).
type leaveGroup struct{ groups Coordinator }

func (h leaveGroup) serve(_ Context, req *kmsg.LeaveGroupRequest, reply func(kmsg.Response)) {
	leave := &group.Leave{Call: group.Call{Group: req.Group}}
	if len(req.Members) > maxNamed {
		leave.Err = kerr.InvalidRequest
		reply(leaveResponse(req, leave))
		return
	}
	leave.Members = make([]group.LeavingMember, 0, max(len(req.Members), 1))
	if req.Version < 3 {
		leave.Members = append(leave.Members, group.LeavingMember{MemberID: req.MemberID})
	}
	for _, m := range req.Members {
		leave.Members = append(leave.Members, group.LeavingMember{MemberID: m.MemberID, InstanceID: orEmpty(m.InstanceID)})
	}
	h.groups.Submit(leave, func() { reply(leaveResponse(req, leave)) })
}

func leaveResponse(req *kmsg.LeaveGroupRequest, leave *group.Leave) kmsg.Response {
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.ErrorCode = int16(leave.Err)
	switch {
	case leave.Err != kerr.None:
	case req.Version < 3:
		resp.ErrorCode = int16(leave.Members[0].Err)
	default:
		resp.Members = make([]kmsg.LeaveGroupResponseMember, 0, len(leave.Members))
		for i, m := range leave.Members {
			resp.Members = append(resp.Members, kmsg.LeaveGroupResponseMember{
				MemberID: m.MemberID, InstanceID: req.Members[i].InstanceID, ErrorCode: int16(m.Err),
			})
		}
	}
	return resp
}
