package api

import (
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat answers Heartbeat.
type heartbeat struct{ groups Coordinator }

func (h heartbeat) serve(_ Context, req *kmsg.HeartbeatRequest, reply func(kmsg.Response)) {
	beat := &group.Heartbeat{
		Call:   group.Call{Group: req.Group},
		Member: group.Member{MemberID: req.MemberID, InstanceID: orEmpty(req.InstanceID), Generation: req.Generation},
	}
	h.groups.Submit(beat, func() {
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.ErrorCode = int16(beat.Err)
		reply(resp)
	})
}
