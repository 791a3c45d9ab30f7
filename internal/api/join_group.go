package api

import (
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinGroup answers JoinGroup.
type joinGroup struct{ groups Coordinator }

func (h joinGroup) serve(c Context, req *kmsg.JoinGroupRequest, reply func(kmsg.Response)) {
	join := &group.Join{
		Call:     group.Call{Group: req.Group},
		MemberID: req.MemberID, InstanceID: orEmpty(req.InstanceID),
		ClientID: c.ClientID, ClientHost: "/" + c.Conn.ClientHost,
		SessionTimeout: millis(req.SessionTimeoutMillis), RebalanceTimeout: millis(req.RebalanceTimeoutMillis),
		ProtocolType: req.ProtocolType,
		NeedsID:      req.Version >= 4, CanSkip: req.Version >= 9,
	}
	if req.Version == 0 {
		join.RebalanceTimeout = join.SessionTimeout
	}
	// One beyond the bound is enough to be refused for.
	named := req.Protocols[:min(len(req.Protocols), group.MaxProtocols+1)]
	join.Protocols = make([]group.Protocol, len(named))
	for i, p := range named {
		join.Protocols[i] = group.Protocol{Name: p.Name, Metadata: p.Metadata}
	}
	h.groups.Submit(join, func() { reply(joinResponse(req.Version, join)) })
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

func joinResponse(version int16, join *group.Join) kmsg.Response {
	r := &join.Reply
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode = int16(join.Err)
	resp.Generation, resp.MemberID = r.Generation, r.MemberID
	if version < 7 { // the name cannot be null yet
		resp.Protocol = &r.Protocol
	}
	if join.Err != kerr.None {
		return resp
	}
	resp.ProtocolType, resp.Protocol = &r.ProtocolType, &r.Protocol
	resp.LeaderID, resp.SkipAssignment = r.Leader, r.SkipAssignment
	resp.Members = make([]kmsg.JoinGroupResponseMember, len(r.Members))
	for i, m := range r.Members {
		resp.Members[i] = kmsg.JoinGroupResponseMember{MemberID: m.ID, InstanceID: orNil(m.InstanceID), ProtocolMetadata: m.Metadata}
	}
	return resp
}
