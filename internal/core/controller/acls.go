package controller

import (
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

// CreateACLs adds rules of who may do what; the ids in want do not count. Each is added
// or refused by itself; the good ones come in one batch. A rule that is there already is
// not written again.
func CreateACLs(img *image.Image, soft *Soft, want []image.ACL) Decision[[]error] {
	d := draftOn(img)
	known := map[image.ACL]bool{}
	for _, acl := range img.ACLs().All() {
		known[withoutID(*acl)] = true
	}
	replies := make([]error, len(want))
	for i, acl := range want {
		acl = withoutID(acl)
		if replies[i] = checkACL(img.Level(), &acl); replies[i] != nil || known[acl] {
			continue
		}
		known[acl] = true
		d.add(&metarec.AccessControlEntryRecord{
			Id: soft.newID(), ResourceType: acl.ResourceType, ResourceName: acl.ResourceName, PatternType: acl.PatternType,
			Principal: acl.Principal, Host: acl.Host, Operation: acl.Operation, PermissionType: acl.Permission,
		})
	}
	return bounded(atomically(d, replies))
}

func withoutID(acl image.ACL) image.ACL {
	acl.ID = image.ACL{}.ID
	return acl
}

// checkACL tells why a rule cannot be.
func checkACL(level image.Level, acl *image.ACL) error {
	invalid := func(format string, args ...any) error { return kerr.Errorf(kerr.InvalidRequest, format, args...) }
	switch kind := auth.Kind(acl.ResourceType); {
	case !kind.Known() || kind == auth.AnyKind:
		return invalid("Invalid resourceType %s", unknownOrAny(acl.ResourceType))
	case auth.Pattern(acl.PatternType) != auth.Literal && auth.Pattern(acl.PatternType) != auth.Prefixed:
		return invalid("Invalid patternType %s", unknownOrAny(acl.PatternType))
	case !auth.Operation(acl.Operation).Known() || auth.Operation(acl.Operation) == auth.AnyOperation:
		return invalid("Invalid operation %s", unknownOrAny(acl.Operation))
	case auth.Permission(acl.Permission) != auth.Deny && auth.Permission(acl.Permission) != auth.Allow:
		return invalid("Invalid permissionType %s", unknownOrAny(acl.Permission))
	case acl.ResourceName == "":
		return invalid("Invalid empty resource name")
	case kind == auth.Cluster && acl.ResourceName != auth.ClusterName:
		return invalid("The only valid name for the CLUSTER resource is %s", auth.ClusterName)
	case !strings.Contains(acl.Principal, ":"):
		return invalid("Could not parse principal from `%s` (no colon is present separating the principal type from the principal name)", acl.Principal)
	case acl.Host == "":
		return invalid("Host pattern cannot be null or empty")
	}
	return checkHost(level, acl.Host)
}

// checkHost looks at networks only: other hosts are compared as they are (KIP-1276).
func checkHost(level image.Level, host string) error {
	if !auth.IsNetwork(host) {
		return nil
	}
	if level < image.LevelCidrAcls {
		return kerr.Errorf(kerr.UnsupportedVersion, "networks in rules need %s %v or newer, the cluster has %v",
			image.MetadataVersion, image.LevelCidrAcls, level)
	}
	if _, err := auth.ParseNetwork(host); err != nil {
		return kerr.Errorf(kerr.InvalidRequest, "Invalid CIDR notation '%s': %v", host, err)
	}
	return nil
}

// unknownOrAny names a number that stands in filters only, or nowhere.
func unknownOrAny(number int8) string {
	if number == 1 {
		return "ANY"
	}
	return "UNKNOWN"
}

// DeletedACLs is the answer for one filter.
type DeletedACLs struct {
	Matches []*image.ACL
	Err     error
}

// DeleteACLs removes the rules that filters take, all or none of them.
func DeleteACLs(img *image.Image, filters []auth.Filter) Decision[[]DeletedACLs] {
	d := draftOn(img)
	gone := map[*image.ACL]bool{}
	replies := make([]DeletedACLs, len(filters))
	for i, f := range filters {
		if replies[i].Err = f.Check(); replies[i].Err != nil {
			continue
		}
		for id, acl := range img.ACLs().All() {
			if !f.Takes(acl) {
				continue
			}
			replies[i].Matches = append(replies[i].Matches, acl)
			if !gone[acl] {
				gone[acl] = true
				d.add(&metarec.RemoveAccessControlEntryRecord{Id: id})
			}
		}
	}
	if n := len(d.records); n > MaxRecords {
		return refusef[[]DeletedACLs](kerr.InvalidRequest, "the filters take %d rules, at most %d can be removed at once", n, MaxRecords)
	}
	return atomically(d, replies)
}
