package api

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteGroups answers DeleteGroups (KIP-229); version 3 has a message. A group
// that is named again is answered once, as in Apache Kafka.
type deleteGroups struct{ groups Coordinator }

func (h deleteGroups) serve(_ Context, req *kmsg.DeleteGroupsRequest, reply func(kmsg.Response)) {
	if len(req.Groups) > maxNamed {
		reply(tooManyToDelete(req.Groups))
		return
	}
	req.Groups = distinct(req.Groups, itself[string])
	asked := make([]group.Request, len(req.Groups))
	for i, id := range req.Groups {
		asked[i] = &group.Delete{Call: group.Call{Group: id}}
	}
	gather(h.groups, asked, func() {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		for _, a := range asked {
			d := a.(*group.Delete)
			resp.Groups = append(resp.Groups, kmsg.DeleteGroupsResponseGroup{
				Group: d.Group, ErrorCode: int16(d.Err), ErrorMessage: whyNotDeleted(d),
			})
		}
		reply(resp)
	})
}

// tooManyToDelete refuses the first maxNamed groups, which stand for the rest.
func tooManyToDelete(ids []string) kmsg.Response {
	resp, why := kmsg.NewPtrDeleteGroupsResponse(), tooManyNames(len(ids), "groups")
	for _, id := range ids[:maxNamed] {
		resp.Groups = append(resp.Groups, kmsg.DeleteGroupsResponseGroup{
			Group: id, ErrorCode: int16(kerr.InvalidRequest), ErrorMessage: why,
		})
	}
	return resp
}

// whyNotDeleted is a sentence about the group; codes that are not about it speak
// for themselves, as in Apache Kafka.
func whyNotDeleted(d *group.Delete) *string {
	text := ""
	switch d.Err {
	case kerr.GroupIdNotFound:
		text = fmt.Sprintf("Group %s not found.", d.Group)
	case kerr.NonEmptyGroup:
		text = fmt.Sprintf("Group %s has members.", d.Group)
	default:
		return nil
	}
	return &text
}
