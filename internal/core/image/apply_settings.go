package image

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
)

func (a *applier) setConfig(r *metarec.ConfigRecord) error {
	resource := Resource{ResourceType(r.ResourceType), r.ResourceName}
	stored, ok := a.configs.Get(resource)
	if !ok {
		stored = noConfig
	}
	if r.Value == nil {
		stored = stored.Without(r.Name)
	} else {
		stored = stored.With(r.Name, *r.Value)
	}
	if stored.Len() == 0 {
		a.configs.Delete(resource)
	} else {
		a.configs.Set(resource, stored)
	}
	a.changed.configs[resource] = struct{}{}
	return nil
}

func (a *applier) setQuota(r *metarec.ClientQuotaRecord) error {
	entity := make(Entity, 0, len(r.Entity))
	for _, part := range r.Entity {
		entity = append(entity, EntityPart{part.EntityType, part.EntityName})
	}
	slices.SortFunc(entity, func(x, y EntityPart) int { return cmp.Compare(x.Type, y.Type) })
	values, ok := a.quotas.Get(entity)
	if !ok {
		values = pmap.Ordered[string, float64]()
	}
	if r.Remove {
		values = values.Without(r.Key)
	} else {
		values = values.With(r.Key, r.Value)
	}
	if values.Len() == 0 {
		a.quotas.Delete(entity)
	} else {
		a.quotas.Set(entity, values)
	}
	a.changed.quotas = true
	return nil
}

// finalizeFeature takes a level. One that this software cannot read stops the
// node: the records behind it may mean anything.
func (a *applier) finalizeFeature(r *metarec.FeatureLevelRecord) error {
	if r.Name == KRaftVersion {
		return nil // lives in the quorum's own records (KAFKA-18979)
	}
	if can := RangeOf(Replayable(), r.Name); !can.Contains(r.FeatureLevel) {
		return fmt.Errorf("level %d of %s is not supported, only %d to %d", r.FeatureLevel, r.Name, can.Min, can.Max)
	}
	if r.FeatureLevel == 0 {
		a.features.Delete(r.Name)
	} else {
		a.features.Set(r.Name, r.FeatureLevel)
	}
	a.changed.features = true
	return nil
}

func (a *applier) nextProducerIDs(r *metarec.ProducerIdsRecord) error {
	next := kafka.ProducerID(r.NextProducerId)
	if next <= a.next.nextProducerID {
		return fmt.Errorf("next producer id %d does not follow %d", next, a.next.nextProducerID)
	}
	a.next.nextProducerID = next
	a.changed.producerIDs = true
	return nil
}

func (a *applier) addACL(r *metarec.AccessControlEntryRecord) error {
	a.acls.Set(r.Id, &ACL{
		ID: r.Id, ResourceType: r.ResourceType, ResourceName: r.ResourceName, PatternType: r.PatternType,
		Principal: r.Principal, Host: r.Host, Operation: r.Operation, Permission: r.PermissionType,
	})
	a.changed.acls = true
	return nil
}

func (a *applier) removeACL(r *metarec.RemoveAccessControlEntryRecord) error {
	if !a.acls.Delete(r.Id) {
		return fmt.Errorf("no access control entry has id %v", r.Id)
	}
	a.changed.acls = true
	return nil
}

func (a *applier) setScram(r *metarec.UserScramCredentialRecord) error {
	a.scram.Set(ScramKey{r.Mechanism, r.Name}, &Scram{r.Salt, r.StoredKey, r.ServerKey, r.Iterations})
	a.changed.scram = true
	return nil
}

func (a *applier) removeScram(r *metarec.RemoveUserScramCredentialRecord) error {
	if !a.scram.Delete(ScramKey{r.Mechanism, r.Name}) {
		return fmt.Errorf("user %q has no credential of mechanism %d", r.Name, r.Mechanism)
	}
	a.changed.scram = true
	return nil
}

func (a *applier) setToken(r *metarec.DelegationTokenRecord) error {
	a.tokens.Set(r.TokenId, &Token{
		ID: r.TokenId, Owner: r.Owner, Requester: r.Requester, Renewers: r.Renewers,
		IssuedMs: r.IssueTimestamp, MaxTimestampMs: r.MaxTimestamp, ExpiryMs: r.ExpirationTimestamp,
	})
	a.changed.tokens = true
	return nil
}

func (a *applier) removeToken(r *metarec.RemoveDelegationTokenRecord) error {
	if a.tokens.Delete(r.TokenId) {
		a.changed.tokens = true
	}
	return nil
}
