package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// listGroups answers ListGroups with the groups that this broker coordinates,
// filtered by state (KIP-518) and type (KIP-848) whatever the case of letters.
type listGroups struct{ groups Coordinator }

func (h listGroups) serve(_ Context, req *kmsg.ListGroupsRequest, reply func(kmsg.Response)) {
	h.groups.List(func(all []group.Listed, err kerr.Code) {
		resp := kmsg.NewPtrListGroupsResponse()
		if resp.ErrorCode = int16(err); err == kerr.None {
			resp.Groups = listed(req, all)
		}
		reply(resp)
	})
}

func listed(req *kmsg.ListGroupsRequest, all []group.Listed) []kmsg.ListGroupsResponseGroup {
	slices.SortFunc(all, func(a, b group.Listed) int { return cmp.Compare(a.ID, b.ID) })
	states, types := filterOf(req.StatesFilter), filterOf(req.TypesFilter)
	var out []kmsg.ListGroupsResponseGroup
	for _, g := range all {
		if !states.passes(g.State.String()) || !types.passes(g.Type.String()) {
			continue
		}
		out = append(out, kmsg.ListGroupsResponseGroup{
			Group: g.ID, ProtocolType: g.ProtocolType, GroupState: g.State.String(), GroupType: g.Type.String(),
		})
	}
	return out
}

// filter is the names that pass, in small letters; an empty one lets all pass.
type filter map[string]struct{}

func filterOf(names []string) filter {
	f := make(filter, len(names))
	for _, name := range names {
		f[strings.ToLower(name)] = struct{}{}
	}
	return f
}

func (f filter) passes(name string) bool {
	_, named := f[strings.ToLower(name)]
	return named || len(f) == 0
}
