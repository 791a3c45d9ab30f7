package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

// said writes a described setting in one line.
func said(d Described) string {
	show := func(v *string) string {
		if v == nil {
			return "-"
		}
		return *v
	}
	var synonyms []string
	for _, s := range d.Synonyms {
		synonyms = append(synonyms, fmt.Sprintf("%d:%s=%s", s.Source, s.Name, show(s.Value)))
	}
	return fmt.Sprintf("%s source=%d synonyms={%s}", show(d.Value), d.Source, strings.Join(synonyms, ", "))
}

func only(t *testing.T, all []Described) Described {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d settings", len(all))
	}
	return all[0]
}

// Rule (broker.md 10.5): a topic's value comes from the topic, then from the
// broker's dynamic, the cluster's dynamic, the file's and the default value of
// its synonyms, which are listed in this order.
func TestDescribeTopic(t *testing.T) {
	static, err := New(map[string]string{"log.segment.bytes": "2000000", "log.retention.hours": "1"})
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{Static: static, Cluster: map[string]string{"log.segment.bytes": "3000000", "min.insync.replicas": "1"}, Broker: map[string]string{"message.max.bytes": "9"}}
	f := func(key, override, want string) {
		t.Helper()
		overrides := map[string]string{}
		if override != "" {
			overrides[key] = override
		}
		if got := said(only(t, l.DescribeTopic(overrides, []string{key}))); got != want {
			t.Errorf("%s\n got %s\nwant %s", key, got, want)
		}
	}
	f("segment.bytes", "4000000", "4000000 source=1 synonyms={1:segment.bytes=4000000, 3:log.segment.bytes=3000000, 4:log.segment.bytes=2000000, 5:log.segment.bytes=1073741824}")
	f("segment.bytes", "", "3000000 source=3 synonyms={3:log.segment.bytes=3000000, 4:log.segment.bytes=2000000, 5:log.segment.bytes=1073741824}")
	f("max.message.bytes", "", "9 source=2 synonyms={2:message.max.bytes=9, 5:message.max.bytes=1048588}")
	f("min.insync.replicas", "", "1 source=3 synonyms={3:min.insync.replicas=1, 5:min.insync.replicas=1}")
	f("retention.ms", "", "3600000 source=5 synonyms={}")
	f("flush.ms", "", "9223372036854775807 source=5 synonyms={}")
	f("remote.storage.enable", "", "false source=5 synonyms={}")
	if n := len(l.DescribeTopic(nil, nil)); n != len(TopicKeys())-1 {
		t.Errorf("%d settings are told", n)
	}
}

// Rule: passwords and unknown keys are not shown; only dynamic keys can be
// written; the cluster's resource has only what was set there.
func TestDescribeBroker(t *testing.T) {
	static, err := New(map[string]string{"node.id": "1", "ssl.key.password": "secret", "my.plugin": "secret", "listener.name.a.ssl.key.password": "secret"})
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{Static: static, Cluster: map[string]string{"num.io.threads": "09"}, Broker: map[string]string{
		"log.index.size.max.bytes": "007", "log.cleaner.io.max.bytes.per.second": "1e9", "log.cleanup.policy": "compact , delete",
		"unclean.leader.election.enable": "TRUE", "leader.replication.throttled.rate": "7", "log.retention.ms": "5", "listener.name.a.max.connections": "3",
	}}
	f := func(key, want string, readOnly bool) {
		t.Helper()
		d := only(t, l.DescribeBroker([]string{key}))
		if got := said(d); got != want || d.ReadOnly != readOnly {
			t.Errorf("%s\n got %s, read only %v\nwant %s", key, got, d.ReadOnly, want)
		}
	}
	f("node.id", "1 source=4 synonyms={4:node.id=1}", true)
	f("broker.id", "1 source=4 synonyms={4:broker.id=1, 5:broker.id=-1}", true)
	f("ssl.key.password", "- source=4 synonyms={4:ssl.key.password=-}", false)
	f("listener.name.a.ssl.key.password", "- source=4 synonyms={4:listener.name.a.ssl.key.password=-, 4:ssl.key.password=-}", true)
	f("my.plugin", "- source=4 synonyms={4:my.plugin=-}", true)
	f("num.io.threads", "9 source=3 synonyms={3:num.io.threads=09, 5:num.io.threads=8}", false)
	f("log.retention.ms", "5 source=2 synonyms={2:log.retention.ms=5, 5:log.retention.hours=168}", false)
	f("log.retention.minutes", "- source=5 synonyms={}", true)
	f("log.index.size.max.bytes", "7 source=2 synonyms={2:log.index.size.max.bytes=007, 5:log.index.size.max.bytes=10485760}", false)
	f("log.cleaner.io.max.bytes.per.second", "1.0E9 source=2 synonyms={2:log.cleaner.io.max.bytes.per.second=1e9, 5:log.cleaner.io.max.bytes.per.second=1.7976931348623157E308}", false)
	f("log.cleanup.policy", "compact,delete source=2 synonyms={2:log.cleanup.policy=compact , delete, 5:log.cleanup.policy=delete}", false)
	f("unclean.leader.election.enable", "true source=2 synonyms={2:unclean.leader.election.enable=TRUE, 5:unclean.leader.election.enable=false}", false)
	f("leader.replication.throttled.rate", "7 source=2 synonyms={2:leader.replication.throttled.rate=7}", false)
	f("listener.name.a.max.connections", "3 source=2 synonyms={2:listener.name.a.max.connections=3, 5:max.connections=2147483647}", true)
	f("log.retention.hours", "168 source=5 synonyms={5:log.retention.hours=168}", true)
	if got := said(only(t, l.DescribeCluster(nil))); got != "09 source=3 synonyms={3:num.io.threads=09}" {
		t.Errorf("cluster: %s", got)
	}
}

// Rule: a broker's id stands under both of its names, whichever the file uses.
func TestBothNamesOfTheIDAreTold(t *testing.T) {
	static, err := New(map[string]string{"broker.id": "4"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"broker.id", "node.id"} {
		if d := only(t, (Layers{Static: static}).DescribeBroker([]string{name})); *d.Value != "4" || d.Source != FromFile {
			t.Errorf("%s: %s", name, said(d))
		}
	}
}

// Rule (broker.md 10.4): static keys, and what differs between brokers, are
// refused where they do not belong; unknown names are taken.
func TestCheckBrokerConfig(t *testing.T) {
	f := func(check func(string, string) error, name, value, want string) {
		t.Helper()
		err := check(name, value)
		got := ""
		if err != nil {
			got = *kerr.Message(err)
			if kerr.Of(err) != kerr.InvalidRequest {
				t.Errorf("%s: code %v", name, kerr.Of(err))
			}
		}
		if got != want {
			t.Errorf("%s=%s\n got %q\nwant %q", name, value, got, want)
		}
	}
	f(CheckBrokerConfig, "log.segment.bytes", "2000000", "")
	f(CheckBrokerConfig, "log.segment.bytes", "1", "Invalid value 1 for configuration log.segment.bytes: Value must be at least 1048576")
	f(CheckBrokerConfig, "node.id", "1", "Cannot update these configs dynamically: [node.id]")
	f(CheckBrokerConfig, "my.plugin", "1", "")
	f(CheckBrokerConfig, "ssl.keystore.location", "x", "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]")
	const cannot = "This release cannot do that, and the node would be less secure or less durable than these configs say: "
	f(CheckBrokerConfig, "listener.name.a.ssl.keystore.location", "x", cannot+"[listener.name.a.ssl.keystore.location=x]")
	f(CheckBrokerConfig, "sasl.enabled.mechanisms", "PLAIN", cannot+"[sasl.enabled.mechanisms=PLAIN]")
	f(CheckBrokerConfig, "sasl.enabled.mechanisms", "GSSAPI", "")
	f(CheckBrokerConfig, "principal.builder.class", "x", cannot+"[principal.builder.class=x]")
	f(CheckClusterConfig, "max.connection.creation.rate", "5", "")
	f(CheckClusterConfig, "listener.name.a.max.connection.creation.rate", "5", "")
	f(CheckClusterConfig, "config.providers", "x", cannot+"[config.providers=x]")
	f(CheckClusterConfig, "listener.name.A.max.connections", "5", cannot+"[listener.name.A.max.connections=5]")
	f(CheckClusterConfig, "listener.name.a.b.max.connections", "5", cannot+"[listener.name.a.b.max.connections=5]")
	f(CheckBrokerConfig, "listeners", "A://:1", "This release reads these configs only when a node starts; set them in the node's file and restart it: [listeners=A://:1]")
	f(CheckBrokerConfig, "cordoned.log.dirs", "*", "")
	f(CheckClusterConfig, "log.segment.bytes", "2000000", "")
	f(CheckClusterConfig, "sasl.login.refresh.buffer.seconds", "x", "Invalid value x for configuration sasl.login.refresh.buffer.seconds: Not a number of type SHORT")
	f(CheckClusterConfig, "cordoned.log.dirs", "*", "Cannot update these configs at default cluster level, broker id must be specified: [cordoned.log.dirs]")
	f(CheckClusterConfig, "listener.name.a.ssl.keystore.location", "x", "Cannot update these configs at default cluster level, broker id must be specified: [listener.name.a.ssl.keystore.location]")
	f(CheckClusterConfig, "listener.name.a.max.connections", "5", "")
	f(CheckClusterConfig, "leader.replication.throttled.rate", "5", "")
}
