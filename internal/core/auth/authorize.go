package auth

import (
	"strings"

	"github.com/ottla/ottla/internal/core/image"
)

// Resource is what somebody wants to do something to.
type Resource struct {
	Kind Kind
	Name string
}

// TheCluster is the cluster as a whole.
var TheCluster = Resource{Cluster, ClusterName}

// Somebody is who asks: a principal of the form "Type:name", from an address.
type Somebody struct{ Principal, Host string }

// Rules are what counts beside the rules in the metadata (Kafka's StandardAuthorizer).
type Rules struct {
	// SuperUsers may do everything (super.users).
	SuperUsers map[string]bool
	// OpenWithoutRules lets everybody do everything to a resource that no rule is
	// about (allow.everyone.if.no.acl.found).
	OpenWithoutRules bool
}

// ParseSuperUsers reads super.users: principals between semicolons.
func ParseSuperUsers(text string) map[string]bool {
	users := map[string]bool{}
	for name := range strings.SplitSeq(text, ";") {
		if name = strings.TrimSpace(name); name != "" {
			users[name] = true
		}
	}
	return users
}

// Allowed tells whether somebody may do something. A rule that denies wins over any that
// allows; without one that allows it is denied. Until the metadata is known, only super
// users may do anything.
func (r *Rules) Allowed(img *image.Image, who Somebody, op Operation, to Resource) bool {
	if r.SuperUsers[who.Principal] {
		return true
	}
	if img.Level() == 0 {
		return false
	}
	about, allowed := false, false
	for _, acl := range img.ACLs().All() {
		if !covers(acl, to) {
			continue
		}
		about = true
		if !fits(acl, who) {
			continue
		}
		switch {
		case Permission(acl.Permission) == Deny && denies(Operation(acl.Operation), op):
			return false
		case Permission(acl.Permission) == Allow && allows(Operation(acl.Operation), op):
			allowed = true
		}
	}
	return allowed || !about && r.OpenWithoutRules
}

// covers tells whether a rule is about a resource.
func covers(acl *image.ACL, to Resource) bool {
	if Kind(acl.ResourceType) != to.Kind {
		return false
	}
	if Pattern(acl.PatternType) == Prefixed {
		return strings.HasPrefix(to.Name, acl.ResourceName)
	}
	return acl.ResourceName == to.Name || acl.ResourceName == wildcard
}

// fits tells whether a rule is about somebody.
func fits(acl *image.ACL, who Somebody) bool {
	return (acl.Principal == who.Principal || acl.Principal == "User:"+wildcard) && hostFits(acl.Host, who.Host)
}

func denies(rule, op Operation) bool { return rule == op || rule == AllOperations }

// allows knows what one permission implies: who may read, write, delete or alter
// something may see it.
func allows(rule, op Operation) bool {
	switch {
	case denies(rule, op):
		return true
	case op == Describe:
		return rule == Read || rule == Write || rule == Delete || rule == Alter
	case op == DescribeConfigs:
		return rule == AlterConfigs
	}
	return false
}
