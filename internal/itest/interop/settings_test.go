package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

const ofBrokers = kmsg.ConfigResourceTypeBroker

// The settings of a node are told as Apache Kafka tells them, key by key, and changed
// while it runs as there. What differs stands in one of the lists below, with its
// reason; an entry that is no longer true fails, too.
func TestSettingsAreToldAndChangedAsApacheKafkaDoes(t *testing.T) {
	t.Parallel()
	theirs, ours := twoConfigured(t)
	told := theirs.described(ofBrokers, "1")
	compareTold(t, told, ours.described(ofBrokers, "1"))
	for _, key := range slices.Sorted(maps.Keys(told)) {
		if told[key].ReadOnly {
			notChanged(t, theirs, ours, key)
		} else {
			changed(t, theirs, ours, told[key])
		}
	}
	t.Run("levels of loggers", func(t *testing.T) { loggersAlike(t, theirs, ours) })
	for _, key := range dynamicOnly {
		changed(t, theirs, ours, setting{DescribeConfigsResponseResourceConfig: kmsg.DescribeConfigsResponseResourceConfig{Name: key, ConfigType: kmsg.ConfigTypeLong}})
	}
}

// dynamicOnly are keys that Kafka tells of only once they are set.
var dynamicOnly = []string{
	"leader.replication.throttled.rate", "follower.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second",
	"listener.name.plaintext.max.connections", "listener.name.plaintext.max.connection.creation.rate", "nobody.knows",
}

// toldOtherwise are keys that the two kinds of node describe differently.
var toldOtherwise = map[string]string{
	"allow.everyone.if.no.acl.found":     "Kafka leaves it to the authorizer, which tells nobody; we know it",
	"super.users":                        "Kafka leaves it to the authorizer, which tells nobody; we know it",
	"ottla.directory.assignment.wait.ms": "ours",
	"ottla.disks.hang.limit.ms":          "ours",
	"ottla.disks.probe.interval.ms":      "ours",
	"ottla.fast.fencing.enable":          "ours",
	"ottla.log.level":                    "ours",
	"ottla.metrics.listener":             "ours",
	"ottla.scrub.bytes.per.second":       "ours",
	"ottla.scrub.interval.ms":            "ours",
	"listeners":                          "read at the start only, and told as read-only",
	"listener.security.protocol.map":     "read at the start only, and told as read-only",
}

func compareTold(t *testing.T, theirs, ours map[string]setting) {
	t.Helper()
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		_, listed := toldOtherwise[key]
		switch same := theirs[key].line == ours[key].line; {
		case !same && !listed:
			t.Errorf("%s\nApache Kafka: %s\nours:         %s", key, theirs[key].line, ours[key].line)
		case same && listed:
			t.Errorf("%s is told as Apache Kafka does: take it off the list", key)
		}
	}
}

// notChanged holds the refusals of a key that is read at the start against each other.
func notChanged(t *testing.T, theirs, ours *configured, key string) {
	t.Helper()
	value := "1"
	for _, name := range []string{"1", ""} {
		if a, b := theirs.alter(ofBrokers, name, key, &value), ours.alter(ofBrokers, name, key, &value); a != b {
			t.Errorf("%s of %q\nApache Kafka: %s\nours:         %s", key, name, a, b)
		}
	}
}

// neverChanged are keys, by name or by the beginning of it, of which we refuse values
// that Kafka takes.
var neverChanged = map[string]string{
	"listeners":        "a node of ours opens its listeners when it starts",
	"ssl.":             "no listener of ours has TLS yet, and to take the key would be to promise it",
	"sasl.":            "no listener of ours has SASL yet, and to take the key would be to promise it",
	"config.providers": "a provider is a Java class",
}

// moreTaken are keys of which we take values that Kafka refuses.
var moreTaken = map[string]string{
	"metric.reporters": "reporters are Java classes: the key has no effect, and its value is not looked at",
}

// listed finds the entry of a list for a key.
func listed(list map[string]string, key string) bool {
	for entry := range list {
		if key == entry || strings.HasSuffix(entry, ".") && strings.HasPrefix(key, entry) {
			return true
		}
	}
	return false
}

// changed tries values of a key on both nodes, at one broker and for all. They must
// take and refuse the same ones, with the same codes, and tell what they took alike.
func changed(t *testing.T, theirs, ours *configured, of setting) {
	t.Helper()
	key, refused := of.Name, false
	for _, name := range []string{"1", ""} {
		stored := false
		for _, value := range candidates(of) {
			a, b := theirs.alter(ofBrokers, name, key, &value), ours.alter(ofBrokers, name, key, &value)
			stored = stored || a.code == 0 || b.code == 0
			if a != b && b.code != 0 {
				named(t, b, key, value, of.IsSensitive)
			}
			both := a.code == 0 && b.code == 0
			switch {
			case both && name == "1":
				toldAlike(t, theirs, ours, key, value)
			case a.code == b.code:
			case a.code == 0 && listed(neverChanged, key):
				refused = true
			case b.code == 0 && listed(moreTaken, key):
			default:
				t.Errorf("%s=%s of %q\nApache Kafka: %s\nours:         %s", key, value, name, a, b)
			}
			if both && name == "" {
				toldForAllAlike(t, theirs, ours, key)
				break // one is enough to see that it is taken for all
			}
		}
		if stored {
			theirs.reset(name, key)
			ours.reset(name, key)
		}
	}
	if _, exactly := neverChanged[key]; exactly && !refused {
		t.Errorf("%s is taken as Apache Kafka does: take it off the list", key)
	}
}

// toldAlike waits until both nodes show a value at one broker, and compares what they say.
func toldAlike(t *testing.T, theirs, ours *configured, key, value string) {
	t.Helper()
	theirs.holds(key, kmsg.ConfigSourceDynamicBrokerConfig, value)
	ours.holds(key, kmsg.ConfigSourceDynamicBrokerConfig, value)
	if a, b := theirs.described(ofBrokers, "1", key)[key], ours.described(ofBrokers, "1", key)[key]; a.line != b.line {
		t.Errorf("%s=%s\nApache Kafka: %s\nours:         %s", key, value, a.line, b.line)
	}
}

// toldForAllAlike compares what both nodes tell of a key that is set for all brokers,
// once they do.
func toldForAllAlike(t *testing.T, theirs, ours *configured, key string) {
	t.Helper()
	itest.Within(t, 20*time.Second, func() error {
		a, b := theirs.described(ofBrokers, "", key)[key], ours.described(ofBrokers, "", key)[key]
		if a.line != b.line || a.line == "" {
			return fmt.Errorf("%s of all brokers\nApache Kafka: %s\nours:         %s", key, a.line, b.line)
		}
		return nil
	})
}

// reset takes a key back and waits until it counts no more.
func (n *configured) reset(name, key string) {
	n.t.Helper()
	if n.alter(ofBrokers, name, key, nil); !strings.HasPrefix(key, "min.insync") {
		n.holds(key, kmsg.ConfigSourceDefaultConfig, "")
	}
}

// withoutValue are refusals of Kafka's that have no value, whatever the key.
var withoutValue = []string{"Broker-level min.insync.replicas", "Cannot update these configs at default cluster level"}

// named wants a refusal's message to have the key and the value, unless that is a secret
// or Kafka says the same without it.
func named(t *testing.T, r refusal, key, value string, secret bool) {
	t.Helper()
	bare := secret || slices.ContainsFunc(withoutValue, func(text string) bool { return strings.HasPrefix(r.message, text) })
	if !strings.Contains(r.message, key) || !bare && !strings.Contains(r.message, strings.TrimLeft(value, "0")) {
		t.Errorf("%s=%s is refused with %s", key, value, r)
	}
}

// candidates are values to try, good ones and bad ones, by the type of a key.
func candidates(of setting) []string {
	switch of.ConfigType {
	case kmsg.ConfigTypeBoolean:
		return []string{"true", "FALSE", "maybe"}
	case kmsg.ConfigTypeInt, kmsg.ConfigTypeShort, kmsg.ConfigTypeLong:
		if strings.Contains(of.Name, "max.connection") { // a low one would shut us out
			return []string{"x", "-1", "0", "1048577"}
		}
		return []string{"x", "-131073", "0", "2", "008", "1048577"}
	case kmsg.ConfigTypeDouble:
		return []string{"x", "-1", "0.25", "2", "1e9"}
	}
	switch of.Name {
	case "listeners":
		return []string{*of.Value}
	case "log.cleanup.policy":
		return []string{"compact , delete", "delete", "compress"}
	case "compression.type", "log.message.timestamp.type":
		return []string{"gzip", "LogAppendTime", "gunzip"}
	case "cordoned.log.dirs":
		return []string{"*", "", "/nowhere"}
	case "max.connections.per.ip.overrides":
		return []string{"127.0.0.2:3", "127.0.0.2", "127.0.0.2:x"}
	case "ssl.client.auth":
		return []string{"required", "sometimes"}
	}
	return []string{"no.such.Thing"}
}
