package image

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
)

// securityEdit is the security state of an image under change.
type securityEdit struct {
	quotas pmap.Edit[Entity, pmap.Map[string, float64]]
	acls   pmap.Edit[kafka.UUID, *ACL]
	scram  pmap.Edit[ScramKey, *Scram]
	tokens pmap.Edit[string, *Token]
}

func editSecurity(img *Image) securityEdit {
	return securityEdit{*img.quotas.Edit(), *img.acls.Edit(), *img.scram.Edit(), *img.tokens.Edit()}
}

func (e *securityEdit) done() securitySet {
	return securitySet{e.quotas.Done(), e.acls.Done(), e.scram.Done(), e.tokens.Done()}
}

func (e *securityEdit) setQuota(r *metarec.ClientQuotaRecord, changed *changes) error {
	entity := make(Entity, 0, len(r.Entity))
	for _, part := range r.Entity {
		entity = append(entity, EntityPart{part.EntityType, part.EntityName})
	}
	slices.SortFunc(entity, func(x, y EntityPart) int { return cmp.Compare(x.Type, y.Type) })
	values, ok := e.quotas.Get(entity)
	if !ok {
		values = pmap.Ordered[string, float64]()
	}
	if r.Remove {
		values = values.Without(r.Key)
	} else {
		values = values.With(r.Key, r.Value)
	}
	if values.Len() == 0 {
		e.quotas.Delete(entity)
	} else {
		e.quotas.Set(entity, values)
	}
	changed.quotas = true
	return nil
}

func (e *securityEdit) addACL(r *metarec.AccessControlEntryRecord, changed *changes) error {
	e.acls.Set(r.Id, &ACL{
		ID: r.Id, ResourceType: r.ResourceType, ResourceName: r.ResourceName, PatternType: r.PatternType,
		Principal: r.Principal, Host: r.Host, Operation: r.Operation, Permission: r.PermissionType,
	})
	changed.acls = true
	return nil
}

func (e *securityEdit) removeACL(r *metarec.RemoveAccessControlEntryRecord, changed *changes) error {
	if !e.acls.Delete(r.Id) {
		return fmt.Errorf("no access control entry has id %v", r.Id)
	}
	changed.acls = true
	return nil
}

func (e *securityEdit) setScram(r *metarec.UserScramCredentialRecord, changed *changes) error {
	e.scram.Set(ScramKey{r.Mechanism, r.Name}, &Scram{r.Salt, r.StoredKey, r.ServerKey, r.Iterations})
	changed.scram = true
	return nil
}

func (e *securityEdit) removeScram(r *metarec.RemoveUserScramCredentialRecord, changed *changes) error {
	if !e.scram.Delete(ScramKey{r.Mechanism, r.Name}) {
		return fmt.Errorf("user %q has no credential of mechanism %d", r.Name, r.Mechanism)
	}
	changed.scram = true
	return nil
}

func (e *securityEdit) setToken(r *metarec.DelegationTokenRecord, changed *changes) error {
	e.tokens.Set(r.TokenId, &Token{
		ID: r.TokenId, Owner: r.Owner, Requester: r.Requester, Renewers: r.Renewers,
		IssuedMs: r.IssueTimestamp, MaxTimestampMs: r.MaxTimestamp, ExpiryMs: r.ExpirationTimestamp,
	})
	changed.tokens = true
	return nil
}

func (e *securityEdit) removeToken(r *metarec.RemoveDelegationTokenRecord, changed *changes) error {
	if e.tokens.Delete(r.TokenId) {
		changed.tokens = true
	}
	return nil
}
