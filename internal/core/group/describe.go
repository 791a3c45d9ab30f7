package group

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
)

// describe shows a group. What members said is shown once it is settled.
func (s *Shard) describe(r *Describe) {
	g := s.groups[r.Group]
	if g == nil || g.state == Dead || s.isForeign(r.Group) {
		r.Reply = Description{State: Dead}
		s.answer(r, kerr.GroupIdNotFound)
		return
	}
	r.Reply = Description{State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		r.Reply.Protocol = g.protocol
	}
	for _, m := range g.members {
		d := DescribedMember{ID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost, Assignment: m.assignment}
		if g.state == Stable {
			d.Metadata = m.metadata(g.protocol)
		}
		r.Reply.Members = append(r.Reply.Members, d)
	}
	s.answer(r, kerr.None)
}

// list shows all groups, those of other kinds too.
func (s *Shard) list(r *List) {
	r.Groups = make([]Listed, 0, len(s.groups)+len(s.foreign))
	for id, g := range s.groups { // any order: sorted below
		if g.state == Dead || s.isForeign(id) {
			continue
		}
		r.Groups = append(r.Groups, Listed{ID: id, ProtocolType: g.protocolType, State: g.state})
	}
	for id, kind := range s.foreign { // any order: sorted below
		r.Groups = append(r.Groups, Listed{ID: id, ProtocolType: kind.String(), State: Empty, Type: kind})
	}
	slices.SortFunc(r.Groups, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
	s.answer(r, kerr.None)
}
