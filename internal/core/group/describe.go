package group

import "github.com/ottla/ottla/internal/base/kerr"

// describe shows a group. What members said is shown once it is settled.
func (s *Shard) describe(r *Describe) {
	g := s.groups.shown(r.Group)
	if g == nil {
		r.Reply = Description{State: Dead}
		s.desk.answer(r, kerr.GroupIdNotFound)
		return
	}
	r.Reply = g.description()
	s.desk.answer(r, kerr.None)
}

// description shows the group.
func (g *classic) description() Description {
	about := Description{State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		about.Protocol = g.protocol
	}
	about.Members = make([]DescribedMember, 0, g.roster.members.len())
	for m := range g.roster.members.all() {
		d := DescribedMember{ID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost, Assignment: m.assignment}
		if g.state == Stable {
			d.Metadata = m.metadata(g.protocol)
		}
		about.Members = append(about.Members, d)
	}
	return about
}
