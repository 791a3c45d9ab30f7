package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeQuotas answers DescribeClientQuotas (KIP-546): the stored quotas
// whose entity fits a filter.
type describeQuotas struct{ view View }

func (d describeQuotas) serve(_ Context, req *kmsg.DescribeClientQuotasRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	filter, err := quotaFilterOf(req)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = int16(kerr.Of(err)), kerr.Message(err)
		return resp
	}
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	for entity, values := range d.view.Image().Quotas().All() {
		if !filter.fits(entity) {
			continue
		}
		e := kmsg.NewDescribeClientQuotasResponseEntry()
		for _, part := range entity {
			e.Entity = append(e.Entity, kmsg.DescribeClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
		}
		for key, value := range values.All() {
			e.Values = append(e.Values, kmsg.DescribeClientQuotasResponseEntryValue{Key: key, Value: value})
		}
		resp.Entries = append(resp.Entries, e)
	}
	return resp
}

// quotaFilter says what an entity has to be like, by its types.
type quotaFilter struct {
	types  map[string]kmsg.DescribeClientQuotasRequestComponent
	strict bool // no other types
}

func quotaFilterOf(req *kmsg.DescribeClientQuotasRequest) (quotaFilter, error) {
	f := quotaFilter{types: map[string]kmsg.DescribeClientQuotasRequestComponent{}, strict: req.Strict}
	for _, c := range req.Components {
		switch c.EntityType {
		case "user", "client-id", "ip":
		case "":
			return f, kerr.Errorf(kerr.InvalidRequest, "empty entity type in a filter")
		default:
			return f, kerr.Errorf(kerr.UnsupportedVersion, "unknown entity type %q", c.EntityType)
		}
		if _, twice := f.types[c.EntityType]; twice {
			return f, kerr.Errorf(kerr.InvalidRequest, "entity type %s stands twice in the filter", c.EntityType)
		}
		switch c.MatchType {
		case kmsg.QuotasMatchTypeExact:
			if c.Match == nil {
				return f, kerr.Errorf(kerr.InvalidRequest, "a match of one %s needs its name", c.EntityType)
			}
		case kmsg.QuotasMatchTypeDefault, kmsg.QuotasMatchTypeAny:
			if c.Match != nil {
				return f, kerr.Errorf(kerr.InvalidRequest, "a name was given for a match of %s that takes none", c.EntityType)
			}
		default:
			return f, kerr.Errorf(kerr.InvalidRequest, "unknown match type %d", c.MatchType)
		}
		f.types[c.EntityType] = c
	}
	if _, ip := f.types["ip"]; ip && len(f.types) > 1 {
		return f, kerr.Errorf(kerr.InvalidRequest, "ip cannot be combined with other entity types")
	}
	return f, nil
}

func (f quotaFilter) fits(entity image.Entity) bool {
	matched := 0
	for _, part := range entity {
		c, asked := f.types[part.Type]
		switch {
		case !asked && f.strict:
			return false
		case !asked:
			continue
		}
		switch c.MatchType {
		case kmsg.QuotasMatchTypeExact:
			if part.Name == nil || *part.Name != *c.Match {
				return false
			}
		case kmsg.QuotasMatchTypeDefault:
			if part.Name != nil {
				return false
			}
		}
		matched++
	}
	return matched == len(f.types)
}
