package group

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
)

// maxString is how long a string may be in the records of a group.
const maxString = 1<<15 - 1

// MaxProtocols is how many protocols a Join may name. Clients have one to four;
// one that names more has INVALID_REQUEST.
const MaxProtocols = 1000

// join decides about a JoinGroup request. It answers at once, or parks the
// request until the group's next generation begins.
func (s *Shard) join(r *Join) {
	if err := s.joinable(r); err != kerr.None {
		s.desk.refuseJoin(r, err)
		return
	}
	r.Protocols = unique(r.Protocols)
	g := s.groups.byID[r.Group]
	switch {
	case g == nil && r.MemberID != "":
		s.desk.refuseJoin(r, kerr.UnknownMemberId)
	case g == nil && !new(classic).supports(r.ProtocolType, r.Protocols):
		s.desk.refuseJoin(r, kerr.InconsistentGroupProtocol)
	case g == nil:
		s.groups.create(r.Group).door.joinNew(r)
	case g.state == Dead:
		s.desk.refuseJoin(r, kerr.CoordinatorNotAvailable)
	default:
		g.door.join(r)
	}
}

// joinable checks what needs no group.
func (s *Shard) joinable(r *Join) kerr.Code {
	switch {
	case r.Group == "" || len(r.Group) > maxString:
		return kerr.InvalidGroupId
	case r.SessionTimeout < s.desk.cfg.MinSessionTimeout || r.SessionTimeout > s.desk.cfg.MaxSessionTimeout:
		return kerr.InvalidSessionTimeout
	case s.groups.isForeign(r.Group):
		return kerr.InconsistentGroupProtocol
	case len(r.Protocols) > MaxProtocols:
		return kerr.InvalidRequest
	}
	// 40 bytes are left for the random part of the member's id.
	long := max(len(r.MemberID), len(r.InstanceID)+40, len(r.ClientID)+40, len(r.ClientHost), len(r.ProtocolType))
	for _, p := range r.Protocols {
		long = max(long, len(p.Name))
	}
	if long > maxString {
		return kerr.InvalidRequest
	}
	return kerr.None
}

// unique keeps the first of protocols that have the same name.
func unique(protocols []Protocol) []Protocol {
	seen := make(map[string]struct{}, len(protocols))
	return slices.DeleteFunc(protocols, func(p Protocol) bool {
		_, again := seen[p.Name]
		seen[p.Name] = struct{}{}
		return again
	})
}
