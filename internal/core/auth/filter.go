package auth

import (
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Filter chooses rules. Nil texts and the Any numbers take everything.
type Filter struct {
	Kind       Kind
	Name       *string
	Pattern    Pattern
	Principal  *string
	Host       *string
	Operation  Operation
	Permission Permission
}

// Check refuses a filter with a number that nobody knows.
func (f *Filter) Check() error {
	for _, part := range []struct {
		name  string
		known bool
	}{
		{"resourceType", f.Kind.Known()}, {"patternType", f.Pattern.Known()},
		{"operation", f.Operation.Known()}, {"permissionType", f.Permission.Known()},
	} {
		if !part.known {
			return kerr.Errorf(kerr.InvalidRequest, "the filter contains an unknown %s", part.name)
		}
	}
	return nil
}

// Takes tells whether the filter takes a rule.
func (f *Filter) Takes(acl *image.ACL) bool {
	return (f.Kind == AnyKind || f.Kind == Kind(acl.ResourceType)) && f.takesName(acl) &&
		same(f.Principal, acl.Principal) && same(f.Host, acl.Host) &&
		(f.Operation == AnyOperation || f.Operation == Operation(acl.Operation)) &&
		(f.Permission == AnyPermission || f.Permission == Permission(acl.Permission))
}

func same(want *string, text string) bool { return want == nil || *want == text }

func (f *Filter) takesName(acl *image.ACL) bool {
	pattern := Pattern(acl.PatternType)
	switch {
	case f.Pattern != AnyPattern && f.Pattern != Match && f.Pattern != pattern:
		return false
	case f.Name == nil, *f.Name == acl.ResourceName:
		return true
	case f.Pattern != Match:
		return false
	case pattern == Prefixed:
		return strings.HasPrefix(*f.Name, acl.ResourceName)
	}
	return acl.ResourceName == wildcard
}
