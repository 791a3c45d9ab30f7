package auth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

var operations = map[string]Operation{
	"all": AllOperations, "read": Read, "write": Write, "create": Create, "delete": Delete, "alter": Alter, "describe": Describe,
	"action": ClusterAction, "describeconfigs": DescribeConfigs, "alterconfigs": AlterConfigs,
}

var kinds = map[string]Kind{"topic": Topic, "group": Group, "cluster": Cluster}

// rules makes an image of lines such as "allow User:a read topic t from 10.0.0.1"; a
// name that ends in "..." is a prefix.
func rules(t *testing.T, lines ...string) *image.Image {
	t.Helper()
	records := []metarec.Message{&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33}}
	for i, line := range lines {
		var permission, principal, operation, kind, name string
		if _, err := fmt.Sscan(line, &permission, &principal, &operation, &kind, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r := &metarec.AccessControlEntryRecord{
			Id: kafka.UUID{15: byte(i + 1)}, ResourceType: int8(kinds[kind]), ResourceName: name, PatternType: int8(Literal),
			Principal: principal, Host: "*", Operation: int8(operations[operation]), PermissionType: int8(Allow),
		}
		if permission == "deny" {
			r.PermissionType = int8(Deny)
		}
		if prefix, ok := strings.CutSuffix(name, "..."); ok {
			r.ResourceName, r.PatternType = prefix, int8(Prefixed)
		}
		if _, host, ok := strings.Cut(line, " from "); ok {
			r.Host = host
		}
		records = append(records, r)
	}
	img, _, err := image.Apply(image.Empty(), records)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// "Any matching DENY: deny, regardless of specificity. Else any ALLOW: allow. Else if no
// entry at all matches the resource and allow.everyone.if.no.acl.found: allow; else
// deny."
func TestRulesDecide(t *testing.T) {
	open := false
	f := func(want bool, who, operation, kind, name string, lines ...string) {
		t.Helper()
		r := Rules{SuperUsers: ParseSuperUsers("User:root; User:boss"), OpenWithoutRules: open}
		somebody, host, _ := strings.Cut(who, "@")
		if host == "" {
			host = "10.0.0.1"
		}
		got := r.Allowed(rules(t, lines...), Somebody{"User:" + somebody, host}, operations[operation], Resource{kinds[kind], name})
		if got != want {
			t.Errorf("%s may %s %s %s: %v, with %q", who, operation, kind, name, got, lines)
		}
	}
	f(true, "root", "action", "cluster", ClusterName)
	f(true, "boss", "read", "topic", "t", "deny User:* all topic *")
	f(false, "a", "read", "topic", "t")
	f(true, "a", "read", "topic", "t", "allow User:a read topic t")
	f(false, "b", "read", "topic", "t", "allow User:a read topic t")
	f(false, "a", "write", "topic", "t", "allow User:a read topic t")
	f(false, "a", "read", "group", "t", "allow User:a read topic t")
	f(true, "a", "write", "topic", "t", "allow User:a all topic t")
	f(true, "a", "read", "topic", "t", "allow User:* read topic t")
	f(true, "a", "read", "topic", "t", "allow User:a read topic *")
	f(true, "a", "read", "topic", "team-x", "allow User:a read topic team-...")
	f(false, "a", "read", "topic", "tea", "allow User:a read topic team-...")
	f(false, "a", "read", "topic", "t", "allow User:a read topic t", "deny User:a read topic *")
	f(false, "a", "read", "topic", "t", "allow User:a read topic t", "deny User:* all topic t...")
	f(true, "a", "read", "topic", "t", "allow User:a read topic t", "deny User:b all topic t")

	f(true, "a", "describe", "topic", "t", "allow User:a read topic t")
	f(true, "a", "describe", "topic", "t", "allow User:a alter topic t")
	f(false, "a", "describe", "topic", "t", "allow User:a create topic t")
	f(true, "a", "describeconfigs", "topic", "t", "allow User:a alterconfigs topic t")
	f(true, "a", "describe", "topic", "t", "allow User:a describe topic t", "deny User:a read topic t") // DENY implies nothing

	f(true, "a@10.0.0.1", "read", "topic", "t", "allow User:a read topic t from 10.0.0.1")
	f(false, "a@10.0.0.2", "read", "topic", "t", "allow User:a read topic t from 10.0.0.1")
	f(true, "a@10.9.8.7", "read", "topic", "t", "allow User:a read topic t from 10.0.0.1/8")
	f(false, "a@11.0.0.1", "read", "topic", "t", "allow User:a read topic t from 10.0.0.0/8")
	f(true, "a@fe80::2", "read", "topic", "t", "allow User:a read topic t from fe80::/64")
	f(true, "a@::ffff:10.0.0.7", "read", "topic", "t", "allow User:a read topic t from 10.0.0.0/8")
	f(false, "a@10.0.0.1", "read", "topic", "t", "allow User:a read topic t", "deny User:a read topic t from 10.0.0.0/8")

	open = true
	f(true, "a", "read", "topic", "t")
	f(true, "a", "read", "topic", "t", "allow User:b read topic u")
	f(false, "a", "read", "topic", "t", "allow User:b read topic t")
	f(false, "a", "read", "topic", "t", "allow User:b read topic *")
}

// "Before ACLs are first loaded only super.users are authorized."
func TestWithoutMetadataOnlySuperUsersMay(t *testing.T) {
	r := Rules{SuperUsers: ParseSuperUsers("User:root"), OpenWithoutRules: true}
	for user, want := range map[string]bool{"User:root": true, "User:a": false} {
		if got := r.Allowed(image.Empty(), Somebody{user, "::1"}, ClusterAction, TheCluster); got != want {
			t.Errorf("%s: %v", user, got)
		}
	}
}

func TestNetworksAreAddressesWithALength(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.0/8": true, "10.0.0.1/8": true, "10.0.0.0/08": true, "0.0.0.0/0": true, "::/0": true, "fe80::/128": true,
		"10.0.0.0/33": false, "10.0.0/8": false, "fe80::/129": false, "10.0.0.0/": false, "/8": false, "host/8": false, "10.0.0.0/-1": false,
		"10.0.0.0": false, "fe80::%eth0/64": false,
	} {
		if _, err := ParseNetwork(text); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFiltersTakeRules(t *testing.T) {
	img := rules(t, "allow User:a read topic t", "deny User:b write topic te...", "allow User:a read topic *", "allow User:a alter cluster kafka-cluster")
	f := func(want string, change func(*Filter)) {
		t.Helper()
		filter := Filter{Kind: AnyKind, Pattern: AnyPattern, Operation: AnyOperation, Permission: AnyPermission}
		change(&filter)
		if err := filter.Check(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for id, acl := range img.ACLs().All() {
			if filter.Takes(acl) {
				got += fmt.Sprint(id[15])
			}
		}
		if got != want {
			t.Errorf("%+v takes %s, want %s", filter, got, want)
		}
	}
	name := func(text string, p Pattern) func(*Filter) {
		return func(f *Filter) { f.Kind, f.Name, f.Pattern = Topic, &text, p }
	}
	text := func(s string) *string { return &s }
	f("1234", func(*Filter) {})
	f("123", func(f *Filter) { f.Kind = Topic })
	f("134", func(f *Filter) { f.Principal = text("User:a") })
	f("13", func(f *Filter) { f.Operation = Read })
	f("2", func(f *Filter) { f.Permission = Deny })
	f("", func(f *Filter) { f.Host = text("10.0.0.1") })
	f("1", name("t", Literal))
	f("", name("t", Prefixed))
	f("2", name("te", AnyPattern))
	f("23", name("test", Match))
	f("13", name("t", Match))
	f("3", name("*", Literal))
	bad := Filter{Kind: 9, Pattern: AnyPattern, Operation: AnyOperation, Permission: AnyPermission}
	if bad.Check() == nil {
		t.Error("a type that nobody knows was taken")
	}
}
