package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// aclRoutes are the APIs of rules (KIP-140) on a controller; without an authorizer they
// say that there is none.
func aclRoutes(c *ctrlnode.Node, view View, access *Access) []Route {
	if access == nil {
		return []Route{
			route(1, 3, describeACLs).on(OnController),
			route(1, 3, createACLs).on(OnController).forwarded(),
			route(1, 3, deleteACLs).on(OnController).forwarded(),
		}
	}
	h := acls{c, view}
	return []Route{
		route(1, 3, h.describe).on(OnController),
		later(1, 3, h.create).on(OnController).forwarded(),
		later(1, 3, h.delete).on(OnController).forwarded(),
	}
}

type acls struct {
	controller *ctrlnode.Node
	view       View
}

func (h acls) describe(_ Context, req *kmsg.DescribeACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeACLsResponse()
	none := ""
	resp.ErrorMessage, resp.Resources = &none, []kmsg.DescribeACLsResponseResource{}
	filter := auth.Filter{
		Kind: auth.Kind(req.ResourceType), Name: req.ResourceName, Pattern: auth.Pattern(req.ResourcePatternType),
		Principal: req.Principal, Host: req.Host, Operation: auth.Operation(req.Operation), Permission: auth.Permission(req.PermissionType),
	}
	if err := filter.Check(); err != nil {
		resp.ErrorCode, resp.ErrorMessage = code(err), kerr.Message(err)
		return resp
	}
	type pattern struct {
		kind, pattern int8
		name          string
	}
	at := map[pattern]int{}
	for _, acl := range h.view.Image().ACLs().All() {
		if !filter.Takes(acl) {
			continue
		}
		key := pattern{acl.ResourceType, acl.PatternType, acl.ResourceName}
		i, ok := at[key]
		if !ok {
			i = len(resp.Resources)
			at[key] = i
			r := kmsg.NewDescribeACLsResponseResource()
			r.ResourceType, r.ResourceName = kmsg.ACLResourceType(acl.ResourceType), acl.ResourceName
			r.ResourcePatternType = kmsg.ACLResourcePatternType(acl.PatternType)
			resp.Resources = append(resp.Resources, r)
		}
		resp.Resources[i].ACLs = append(resp.Resources[i].ACLs, kmsg.DescribeACLsResponseResourceACL{
			Principal: acl.Principal, Host: acl.Host,
			Operation: kmsg.ACLOperation(acl.Operation), PermissionType: kmsg.ACLPermissionType(acl.Permission),
		})
	}
	return resp
}

func (h acls) create(_ Context, req *kmsg.CreateACLsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Creations)); err != nil {
		reply(refusal(req, err))
		return
	}
	var want []image.ACL
	for _, c := range req.Creations {
		want = append(want, image.ACL{
			ResourceType: int8(c.ResourceType), ResourceName: c.ResourceName, PatternType: int8(c.ResourcePatternType),
			Principal: c.Principal, Host: c.Host, Operation: int8(c.Operation), Permission: int8(c.PermissionType),
		})
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]error] {
		return controller.CreateACLs(img, soft, want)
	}, func(results []error, err error) {
		if err != nil {
			reply(refusal(req, err))
			return
		}
		resp := kmsg.NewPtrCreateACLsResponse()
		for _, err := range results {
			resp.Results = append(resp.Results, kmsg.CreateACLsResponseResult{ErrorCode: code(err), ErrorMessage: neverNull(kerr.Message(err))})
		}
		reply(resp)
	})
}

// neverNull is a message as Kafka's authorizer gives it, which is never null.
func neverNull(message *string) *string {
	if message == nil {
		message = new(string)
	}
	return message
}

func (h acls) delete(_ Context, req *kmsg.DeleteACLsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Filters)); err != nil {
		reply(refusal(req, err))
		return
	}
	var filters []auth.Filter
	for _, f := range req.Filters {
		filters = append(filters, auth.Filter{
			Kind: auth.Kind(f.ResourceType), Name: f.ResourceName, Pattern: auth.Pattern(f.ResourcePatternType),
			Principal: f.Principal, Host: f.Host, Operation: auth.Operation(f.Operation), Permission: auth.Permission(f.PermissionType),
		})
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[[]controller.DeletedACLs] {
		return controller.DeleteACLs(img, filters)
	}, func(deleted []controller.DeletedACLs, err error) {
		if err != nil {
			reply(refusal(req, err))
			return
		}
		resp := kmsg.NewPtrDeleteACLsResponse()
		for _, d := range deleted {
			resp.Results = append(resp.Results, deletedRules(d))
		}
		reply(resp)
	})
}

func deletedRules(d controller.DeletedACLs) kmsg.DeleteACLsResponseResult {
	r := kmsg.NewDeleteACLsResponseResult()
	r.ErrorCode, r.ErrorMessage = code(d.Err), neverNull(kerr.Message(d.Err))
	r.MatchingACLs = make([]kmsg.DeleteACLsResponseResultMatchingACL, 0, len(d.Matches))
	for _, acl := range d.Matches {
		m := kmsg.NewDeleteACLsResponseResultMatchingACL()
		m.ErrorMessage = new(string)
		m.ResourceType, m.ResourceName = kmsg.ACLResourceType(acl.ResourceType), acl.ResourceName
		m.ResourcePatternType = kmsg.ACLResourcePatternType(acl.PatternType)
		m.Principal, m.Host = acl.Principal, acl.Host
		m.Operation, m.PermissionType = kmsg.ACLOperation(acl.Operation), kmsg.ACLPermissionType(acl.Permission)
		r.MatchingACLs = append(r.MatchingACLs, m)
	}
	return r
}
