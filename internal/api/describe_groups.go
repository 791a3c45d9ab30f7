package api

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeGroups answers DescribeGroups. A group that does not exist is an
// error since version 6, before it is shown as Dead (KIP-1043).
type describeGroups struct{ groups Coordinator }

func (h describeGroups) serve(_ Context, req *kmsg.DescribeGroupsRequest, reply func(kmsg.Response)) {
	if len(req.Groups) > maxNamed {
		reply(tooManyToDescribe(req.Groups))
		return
	}
	ids := distinct(req.Groups, itself[string])
	asked := make([]group.Request, len(ids))
	for i, id := range ids {
		asked[i] = &group.Describe{Call: group.Call{Group: id}}
	}
	gather(h.groups, asked, func() {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		for _, a := range asked {
			resp.Groups = append(resp.Groups, describedGroup(req, a.(*group.Describe)))
		}
		reply(resp)
	})
}

// tooManyToDescribe refuses the first maxNamed groups, which stand for the rest.
func tooManyToDescribe(ids []string) kmsg.Response {
	resp, why := kmsg.NewPtrDescribeGroupsResponse(), tooManyNames(len(ids), "groups")
	for _, id := range ids[:maxNamed] {
		out := kmsg.NewDescribeGroupsResponseGroup()
		out.Group, out.ErrorCode, out.ErrorMessage = id, int16(kerr.InvalidRequest), why
		out.AuthorizedOperations = noOperations
		resp.Groups = append(resp.Groups, out)
	}
	return resp
}

func describedGroup(req *kmsg.DescribeGroupsRequest, d *group.Describe) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group, out.ErrorCode = d.Group, int16(d.Err)
	out.AuthorizedOperations = noOperations
	switch {
	case d.Err == kerr.GroupIdNotFound && req.Version < 6:
		out.ErrorCode, out.State = 0, group.Dead.String()
	case d.Err == kerr.GroupIdNotFound:
		text := fmt.Sprintf("Group %s not found.", d.Group)
		out.ErrorMessage, out.State = &text, group.Dead.String()
		return out
	case d.Err != kerr.None:
		return out
	default:
		describeMembers(&out, &d.Reply)
	}
	if req.IncludeAuthorizedOperations {
		out.AuthorizedOperations = allGroupOperations
	}
	return out
}

func describeMembers(out *kmsg.DescribeGroupsResponseGroup, d *group.Description) {
	out.State, out.ProtocolType, out.Protocol = d.State.String(), d.ProtocolType, d.Protocol
	for _, m := range d.Members {
		out.Members = append(out.Members, kmsg.DescribeGroupsResponseGroupMember{
			MemberID: m.ID, InstanceID: orNil(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
			ProtocolMetadata: m.Metadata, MemberAssignment: m.Assignment,
		})
	}
}
