package api

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterClientQuotas answers AlterClientQuotas (KIP-546).
type alterClientQuotas struct {
	controller *ctrlnode.Node
	// lookup resolves the name of a host.
	lookup func(ctx context.Context, host string) ([]string, error)
}

func (h alterClientQuotas) route() Route { return later(0, 1, h.serve).on(OnController).forwarded() }

func (h alterClientQuotas) serve(c Context, req *kmsg.AlterClientQuotasRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Entries)); err != nil {
		reply(refusal(req, err))
		return
	}
	hosts := hostsIn(req)
	if len(hosts) == 0 {
		h.alter(req, nil, reply)
		return
	}
	// Only this goroutine waits for the names: the connection is held up by the route
	// being a barrier, the decisions are not.
	go func() { h.alter(req, h.unknown(c.Ctx, hosts), reply) }()
}

func (h alterClientQuotas) alter(req *kmsg.AlterClientQuotasRequest, unknown map[string]bool, reply func(kmsg.Response)) {
	want := controller.QuotasToAlter{ValidateOnly: req.ValidateOnly}
	for _, e := range req.Entries {
		change := controller.QuotaChange{}
		for _, part := range e.Entity {
			change.Entity = append(change.Entity, image.EntityPart{Type: part.Type, Name: part.Name})
			if part.Name != nil && unknown[*part.Name] && part.Type == ipEntity {
				change.Refused = kerr.Errorf(kerr.InvalidRequest, "%s is not a valid IP or resolvable host.", *part.Name)
			}
		}
		for _, op := range e.Ops {
			change.Ops = append(change.Ops, controller.QuotaOp{Key: op.Key, Value: op.Value, Remove: op.Remove})
		}
		want.Changes = append(want.Changes, change)
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[[]controller.AlteredQuota] {
		return controller.AlterClientQuotas(img, want)
	}, func(altered []controller.AlteredQuota, err error) {
		if err != nil {
			reply(refusal(req, err))
			return
		}
		resp := kmsg.NewPtrAlterClientQuotasResponse()
		for _, a := range altered {
			entry := kmsg.NewAlterClientQuotasResponseEntry()
			entry.ErrorCode, entry.ErrorMessage = code(a.Err), kerr.Message(a.Err)
			for _, part := range a.Entity {
				entry.Entity = append(entry.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
			}
			resp.Entries = append(resp.Entries, entry)
		}
		reply(resp)
	})
}

const ipEntity = "ip"

// hostsIn are the names of hosts that a request has where an address can stand.
func hostsIn(req *kmsg.AlterClientQuotasRequest) []string {
	var hosts []string
	for _, e := range req.Entries {
		for _, part := range e.Entity {
			if part.Type != ipEntity || part.Name == nil || *part.Name == "" {
				continue
			}
			if _, err := netip.ParseAddr(*part.Name); err != nil {
				hosts = append(hosts, *part.Name)
			}
		}
	}
	return hosts
}

// lookupPatience is how long all names of one request may take to be looked up.
const lookupPatience = 5 * time.Second

// unknown are those names that nobody knows. What cannot be found out in time counts as
// unknown.
func (h alterClientQuotas) unknown(ctx context.Context, hosts []string) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	unknown := map[string]bool{}
	for _, host := range hosts {
		if _, looked := unknown[host]; looked {
			continue
		}
		_, err := h.lookup(ctx, host)
		unknown[host] = err != nil
	}
	return unknown
}

// lookupHost asks the system's resolver.
func lookupHost(ctx context.Context, host string) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, host)
}
