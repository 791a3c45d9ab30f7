package image

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
)

// securitySet is who may do what, and how much.
type securitySet struct {
	quotas pmap.Map[Entity, pmap.Map[string, float64]]
	acls   pmap.Map[kafka.UUID, *ACL]
	scram  pmap.Map[ScramKey, *Scram]
	tokens pmap.Map[string, *Token]
}

var noSecurity = securitySet{
	quotas: pmap.By[Entity, pmap.Map[string, float64]](compareEntities),
	acls:   pmap.By[kafka.UUID, *ACL](kafka.UUID.Compare),
	scram:  pmap.By[ScramKey, *Scram](compareScram),
	tokens: pmap.Ordered[string, *Token](),
}

// Quotas are all client quotas: values by key for each entity.
func (s *securitySet) Quotas() pmap.Map[Entity, pmap.Map[string, float64]] { return s.quotas }

// ACLs are all access control entries, by id.
func (s *securitySet) ACLs() pmap.Map[kafka.UUID, *ACL] { return s.acls }

// Scram are all SCRAM credentials.
func (s *securitySet) Scram() pmap.Map[ScramKey, *Scram] { return s.scram }

// Tokens are all delegation tokens, by id.
func (s *securitySet) Tokens() pmap.Map[string, *Token] { return s.tokens }
