package image

import "github.com/ottla/ottla/internal/base/metarec"

func (w *writer) configs(i *Image) {
	for resource, values := range i.configs.All() {
		for name, value := range values.All() {
			if !w.write(ConfigRecord(resource, name, &value), 0) {
				return
			}
		}
	}
}

// ConfigRecord sets one key of a resource; a nil value removes it.
func ConfigRecord(resource Resource, name string, value *string) *metarec.ConfigRecord {
	return &metarec.ConfigRecord{
		ResourceType: int8(resource.Type), ResourceName: resource.Name, Name: name, Value: value,
	}
}

func (w *writer) quotas(i *Image) {
	for entity, values := range i.quotas.All() {
		var parts []metarec.ClientQuotaRecordEntityData
		for _, part := range entity {
			parts = append(parts, metarec.ClientQuotaRecordEntityData{EntityType: part.Type, EntityName: part.Name})
		}
		for key, value := range values.All() {
			if !w.write(&metarec.ClientQuotaRecord{Entity: parts, Key: key, Value: value}, 0) {
				return
			}
		}
	}
}

func (w *writer) producerIDs(i *Image) {
	if i.nextProducerID > 0 {
		w.write(&metarec.ProducerIdsRecord{BrokerId: -1, BrokerEpoch: -1, NextProducerId: int64(i.nextProducerID)}, 0)
	}
}

func (w *writer) acls(i *Image) {
	for _, acl := range i.acls.All() {
		r := &metarec.AccessControlEntryRecord{
			Id: acl.ID, ResourceType: acl.ResourceType, ResourceName: acl.ResourceName, PatternType: acl.PatternType,
			Principal: acl.Principal, Host: acl.Host, Operation: acl.Operation, PermissionType: acl.Permission,
		}
		if !w.write(r, 0) {
			return
		}
	}
}

func (w *writer) scram(i *Image) {
	if i.scram.Len() > 0 && w.level < LevelScram {
		w.lost("the SCRAM credentials")
		return
	}
	for key, s := range i.scram.All() {
		r := &metarec.UserScramCredentialRecord{
			Name: key.User, Mechanism: key.Mechanism,
			Salt: s.Salt, StoredKey: s.StoredKey, ServerKey: s.ServerKey, Iterations: s.Iterations,
		}
		if !w.write(r, 0) {
			return
		}
	}
}

func (w *writer) tokens(i *Image) {
	if i.tokens.Len() > 0 && w.level < LevelDelegationTokens {
		w.lost("the delegation tokens")
		return
	}
	for _, t := range i.tokens.All() {
		r := &metarec.DelegationTokenRecord{
			Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers, TokenId: t.ID,
			IssueTimestamp: t.IssuedMs, MaxTimestamp: t.MaxTimestampMs, ExpirationTimestamp: t.ExpiryMs,
		}
		if !w.write(r, 0) {
			return
		}
	}
}
