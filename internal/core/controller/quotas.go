package controller

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// The types of parts of an entity that a quota binds.
const (
	quotaUser   = "user"
	quotaClient = "client-id"
	quotaIP     = "ip"
)

// QuotaOp sets or removes one limit of an entity.
type QuotaOp struct {
	Key    string
	Value  float64
	Remove bool
}

// QuotaChange changes the limits of one entity.
type QuotaChange struct {
	Entity []image.EntityPart
	Ops    []QuotaOp
	// Refused is why the entity cannot be, where that is known already: an address
	// has to be looked up.
	Refused error
}

// QuotasToAlter is an AlterClientQuotas request.
type QuotasToAlter struct {
	Changes      []QuotaChange
	ValidateOnly bool
}

// AlteredQuota is the answer for one entity.
type AlteredQuota struct {
	Entity image.Entity
	Err    error
}

// AlterClientQuotas changes the limits of users, clients and addresses (KIP-546). An
// entity is changed or refused as a whole; the good ones come in one batch. What is so
// already is not written.
func AlterClientQuotas(img *image.Image, want QuotasToAlter) Decision[[]AlteredQuota] {
	d := draftOn(img)
	count := map[string]int{}
	entities := make([]image.Entity, len(want.Changes))
	for i, c := range want.Changes {
		entities[i] = entityOf(c.Entity)
		count[entities[i].String()]++
	}
	replies := make([]AlteredQuota, 0, len(want.Changes))
	for i, c := range want.Changes {
		name := entities[i].String()
		switch n := count[name]; {
		case n == 0:
			continue // answered already
		case n > 1:
			count[name] = 0
			replies = append(replies, AlteredQuota{entities[i], duplicateEntity(name)})
		default:
			replies = append(replies, AlteredQuota{entities[i], d.alterQuota(entities[i], c)})
		}
	}
	decided := bounded(atomically(d, replies))
	if want.ValidateOnly {
		decided.Records = nil
	}
	return decided
}

func duplicateEntity(name string) error {
	return kerr.Errorf(kerr.InvalidRequest, "Ignoring duplicate entity ClientQuotaEntity(entries={%s})", name)
}

// entityOf orders the parts of an entity. Of those of one type the last one counts.
func entityOf(parts []image.EntityPart) image.Entity {
	var entity image.Entity
	for i, part := range parts {
		same := func(p image.EntityPart) bool { return p.Type == part.Type }
		if !slices.ContainsFunc(parts[i+1:], same) {
			entity = append(entity, part)
		}
	}
	slices.SortFunc(entity, func(a, b image.EntityPart) int { return cmp.Compare(a.Type, b.Type) })
	return entity
}

// alterQuota checks an entity and its limits, and writes the difference.
func (d *draft) alterQuota(entity image.Entity, c QuotaChange) error {
	if err := checkEntity(entity); err != nil {
		return err
	}
	if c.Refused != nil {
		return c.Refused
	}
	stored, _ := d.img.Quotas().Get(entity)
	keys := quotaKeysOf(entity)
	seen := map[string]bool{}
	var records []*metarec.ClientQuotaRecord
	for _, op := range c.Ops {
		if seen[op.Key] {
			return duplicateEntity(entity.String())
		}
		seen[op.Key] = true
		if !op.Remove {
			if err := checkLimit(keys, op); err != nil {
				return err
			}
		}
		if old, had := stored.Get(op.Key); op.Remove && had || !op.Remove && (!had || old != op.Value) {
			records = append(records, quotaRecord(entity, op))
		}
	}
	for _, r := range records {
		d.add(r)
	}
	return nil
}

func quotaRecord(entity image.Entity, op QuotaOp) *metarec.ClientQuotaRecord {
	r := &metarec.ClientQuotaRecord{Key: op.Key, Value: op.Value, Remove: op.Remove}
	if op.Remove {
		r.Value = 0
	}
	for _, part := range entity {
		r.Entity = append(r.Entity, metarec.ClientQuotaRecordEntityData{EntityType: part.Type, EntityName: part.Name})
	}
	return r
}

// checkEntity tells whether a quota can bind such an entity: an address, or a user, a
// client, or both; each by name or, with none, whichever has no quota of its own.
func checkEntity(entity image.Entity) error {
	if len(entity) == 0 {
		return kerr.Errorf(kerr.InvalidRequest, "Invalid empty client quota entity")
	}
	for _, part := range entity {
		switch {
		case part.Type != quotaUser && part.Type != quotaClient && part.Type != quotaIP:
			return kerr.Errorf(kerr.InvalidRequest, "Unhandled client quota entity type: %s", part.Type)
		case part.Name != nil && *part.Name == "":
			return kerr.Errorf(kerr.InvalidRequest, "Empty %s not supported", part.Type)
		case part.Type == quotaIP && len(entity) > 1:
			return kerr.Errorf(kerr.InvalidRequest, "Invalid quota entity combination, IP entity should not be combined with User or ClientId")
		}
	}
	return nil
}

// quotaKey is a limit: whole numbers up to most, or any above 0.
type quotaKey struct {
	name  string
	whole bool
	most  float64
	kind  string // of a whole number, for messages
}

var clientLimits = []quotaKey{
	{"consumer_byte_rate", true, math.MaxInt64, "a LONG"},
	{mutationRateKey, false, math.Inf(1), ""},
	{"producer_byte_rate", true, math.MaxInt64, "a LONG"},
	{"request_percentage", false, math.Inf(1), ""},
}

var addressLimits = []quotaKey{{"connection_creation_rate", true, math.MaxInt32, "an INT"}}

// mutationRateKey is the limit of partitions a second that are made or deleted.
const mutationRateKey = "controller_mutation_rate"

func quotaKeysOf(entity image.Entity) []quotaKey {
	if entity[0].Type == quotaIP {
		return addressLimits
	}
	return clientLimits
}

// almostWhole is how far a whole number may be off.
const almostWhole = 1e-6

func checkLimit(keys []quotaKey, op QuotaOp) error {
	i := slices.IndexFunc(keys, func(k quotaKey) bool { return k.name == op.Key })
	switch {
	case i < 0:
		return kerr.Errorf(kerr.InvalidRequest, "Invalid configuration key %s", op.Key)
	case !(op.Value > 0): // not a number neither
		return kerr.Errorf(kerr.InvalidRequest, "Quota %s must be greater than 0", op.Key)
	case !keys[i].whole:
		return nil
	case op.Value > keys[i].most:
		return kerr.Errorf(kerr.InvalidRequest, "Proposed value for %s is too large for %s.", op.Key, keys[i].kind)
	case math.Abs(math.Round(op.Value)-op.Value) > almostWhole:
		return kerr.Errorf(kerr.InvalidRequest, "%s cannot be a fractional value.", op.Key)
	}
	return nil
}

// principalName is the name in a principal of the form "Type:name".
func principalName(principal string) string {
	_, name, typed := strings.Cut(principal, ":")
	if !typed {
		return principal
	}
	return name
}
