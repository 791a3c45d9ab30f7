package controller

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

// rule is a rule that can be.
func rule(change ...func(*image.ACL)) image.ACL {
	acl := image.ACL{
		ResourceType: int8(auth.Topic), ResourceName: "t", PatternType: int8(auth.Literal),
		Principal: "User:x", Host: "*", Operation: int8(auth.Read), Permission: int8(auth.Allow),
	}
	for _, f := range change {
		f(&acl)
	}
	return acl
}

// Answers are those of Apache Kafka 4.4, which takes any operation on any resource.
func TestCreateACLs(t *testing.T) {
	c := newCluster(t)
	f := func(code kerr.Code, word string, change func(*image.ACL)) {
		t.Helper()
		d := CreateACLs(c.img, c.soft, []image.ACL{rule(change), rule(func(a *image.ACL) { a.ResourceName = "good" })})
		refused(t, d.Reply[0], code, word)
		refused(t, d.Reply[1], kerr.None)
		want := []string{"AccessControlEntry"}
		if code == kerr.None {
			want = append(want, want[0])
		}
		wrote(t, d.Records, want...)
	}
	f(kerr.None, "", func(*image.ACL) {})
	f(kerr.None, "", func(a *image.ACL) { a.Operation = int8(auth.ClusterAction) })
	f(kerr.None, "", func(a *image.ACL) { a.Principal, a.Host = "Group:", "nohost" })
	f(kerr.None, "", func(a *image.ACL) { a.Host = "10.0.0.1/8" })
	f(kerr.None, "", func(a *image.ACL) { a.ResourceType, a.ResourceName = int8(auth.Cluster), auth.ClusterName })
	f(kerr.InvalidRequest, "Invalid resourceType ANY", func(a *image.ACL) { a.ResourceType = 1 })
	f(kerr.InvalidRequest, "Invalid resourceType UNKNOWN", func(a *image.ACL) { a.ResourceType = 9 })
	f(kerr.InvalidRequest, "Invalid patternType", func(a *image.ACL) { a.PatternType = int8(auth.Match) })
	f(kerr.InvalidRequest, "Invalid operation UNKNOWN", func(a *image.ACL) { a.Operation = 99 })
	f(kerr.InvalidRequest, "Invalid operation ANY", func(a *image.ACL) { a.Operation = 1 })
	f(kerr.InvalidRequest, "Invalid permissionType", func(a *image.ACL) { a.Permission = 1 })
	f(kerr.InvalidRequest, "Invalid empty resource name", func(a *image.ACL) { a.ResourceName = "" })
	f(kerr.InvalidRequest, "kafka-cluster", func(a *image.ACL) { a.ResourceType = int8(auth.Cluster) })
	f(kerr.InvalidRequest, "Could not parse principal from `x`", func(a *image.ACL) { a.Principal = "x" })
	f(kerr.InvalidRequest, "Host pattern cannot be null or empty", func(a *image.ACL) { a.Host = "" })
	f(kerr.InvalidRequest, "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]", func(a *image.ACL) { a.Host = "10.0.0.0/33" })
	f(kerr.InvalidRequest, "Invalid CIDR notation 'host/8': Could not parse [host/8]", func(a *image.ACL) { a.Host = "host/8" })
	c.add(&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 31})
	f(kerr.UnsupportedVersion, "4.4-IV1", func(a *image.ACL) { a.Host = "10.0.0.0/8" })
}

// "An existing identical binding succeeds without a record."
func TestARuleIsWrittenOnce(t *testing.T) {
	c := newCluster(t)
	d := CreateACLs(c.img, c.soft, []image.ACL{rule(), rule()})
	wrote(t, d.Records, "AccessControlEntry")
	do(c, d)
	d = CreateACLs(c.img, c.soft, []image.ACL{rule()})
	refused(t, d.Reply[0], kerr.None)
	wrote(t, d.Records)
}

func TestDeleteACLs(t *testing.T) {
	c := newCluster(t)
	other := rule(func(a *image.ACL) { a.ResourceName = "u" })
	do(c, CreateACLs(c.img, c.soft, []image.ACL{rule(), other}))
	all := auth.Filter{Kind: auth.AnyKind, Pattern: auth.AnyPattern, Operation: auth.AnyOperation, Permission: auth.AnyPermission}
	one, none, bad := all, all, all
	name, nobody := "t", "nobody"
	one.Name, none.Principal, bad.Kind = &name, &nobody, 9
	d := DeleteACLs(c.img, []auth.Filter{one, none, all, bad})
	wrote(t, d.Records, "RemoveAccessControlEntry", "RemoveAccessControlEntry")
	for i, want := range []int{1, 0, 2, 0} {
		if got := len(d.Reply[i].Matches); got != want {
			t.Errorf("filter %d takes %d rules, want %d", i, got, want)
		}
	}
	refused(t, d.Reply[3].Err, kerr.InvalidRequest, "resourceType")
	do(c, d)
	if c.img.ACLs().Len() != 0 {
		t.Errorf("%d rules are left", c.img.ACLs().Len())
	}
}

// "Atomic, at most 10,000 per call; DeleteAcls over the bound: 42."
func TestRulesOfOneRequestAreBounded(t *testing.T) {
	c := newCluster(t)
	many := make([]image.ACL, MaxRecords+1)
	for i := range many {
		many[i] = rule(func(a *image.ACL) { a.ResourceName = string(rune('a' + i)) })
	}
	refused(t, CreateACLs(c.img, c.soft, many).Err, kerr.PolicyViolation)
	do(c, CreateACLs(c.img, c.soft, many[:MaxRecords]))
	do(c, CreateACLs(c.img, c.soft, many[MaxRecords:]))
	all := auth.Filter{Kind: auth.AnyKind, Pattern: auth.AnyPattern, Operation: auth.AnyOperation, Permission: auth.AnyPermission}
	refused(t, DeleteACLs(c.img, []auth.Filter{all}).Err, kerr.InvalidRequest)
}
