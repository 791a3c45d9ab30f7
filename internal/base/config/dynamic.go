package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
)

// CheckBrokerConfig tells why one broker cannot be given a setting while it
// runs: the error is kerr.InvalidRequest, with Kafka's message where Kafka
// refuses it too. A name that nobody knows is taken: it may be a plugin's. Rules
// between settings are CheckChange's.
func CheckBrokerConfig(name, value string) error { return checkDynamic(name, value, false) }

// CheckClusterConfig is CheckBrokerConfig for the default of all brokers, which
// must not hold what differs from one broker to the next.
func CheckClusterConfig(name, value string) error { return checkDynamic(name, value, true) }

// checkDynamic checks in Kafka's order, so that of several reasons the same one is
// told.
func checkDynamic(name, value string, ofCluster bool) error {
	k := lookupPrefixed(name)
	prefixed := k != nil && k.Name != name
	switch {
	case k == nil:
		return nil
	case k.Scope == Static && !(prefixed && k.Has(ByListener|BySASL)):
		return notNow("Cannot update these configs dynamically: [%s]", name)
	case k.Has(NeedPrefix) && !prefixed:
		return notNow("These security configs can be dynamically updated only per-listener using the listener prefix: [%s]", name)
	}
	if err := k.Check(value); err != nil {
		return notNow("%s", err.Error())
	}
	switch {
	case ofCluster && (k.Scope == PerBroker || prefixed && k.Scope != Cluster):
		return notNow("Cannot update these configs at default cluster level, broker id must be specified: [%s]", name)
	case k.Has(AtStart):
		return notNow("This release reads these configs only when a node starts; set them in the node's file and restart it: [%s=%s]", name, value)
	case refusedValue(name, k, value):
		return notNow("This release cannot do that, and the node would be less secure or less durable than these configs say: [%s=%s]", name, shownIn(k, value))
	}
	return nil
}

// shownIn is a value as messages may hold it.
func shownIn(k *Key, value string) string {
	if k.Sensitive() {
		return "[hidden]"
	}
	return value
}

// refusedValue tells whether a value asks for what this release cannot do and
// must not seem to.
func refusedValue(name string, k *Key, value string) bool {
	return useOf(name, k) == Refused && !k.isDefault(value)
}

func notNow(format string, args ...any) error {
	return kerr.Errorf(kerr.InvalidRequest, format, args...)
}

// Layers are a broker's settings from the strongest to the weakest: dynamic
// ones of this broker, dynamic ones of all brokers, the file, the defaults.
type Layers struct {
	Broker  map[string]string // from the metadata log, of this broker
	Cluster map[string]string // from the metadata log, of all brokers
	Static  *Config
}

// Effective is the configuration that all layers make together. A dynamic
// value that this release cannot read or obey leaves the layer below.
func (l Layers) Effective() *Config {
	merged := &Config{set: make(map[string]string, len(l.Static.set)+len(l.Cluster)+len(l.Broker)), node: l.Static.node}
	for name, value := range l.Static.set {
		merged.set[name] = value
	}
	for _, layer := range []map[string]string{l.Cluster, l.Broker} {
		for name, value := range layer {
			if obeyed(name, value) {
				merged.set[name] = value
			}
		}
	}
	return merged
}

// obeyed tells whether a stored value takes the place of the file's.
func obeyed(name, value string) bool {
	k := lookupPrefixed(name)
	return k == nil || k.Changeable() && k.Check(value) == nil && !refusedValue(name, k, value)
}

// inForce are the layers without the stored values that are not obeyed.
func (l Layers) inForce() Layers {
	return Layers{Broker: onlyObeyed(l.Broker), Cluster: onlyObeyed(l.Cluster), Static: l.Static}
}

func onlyObeyed(layer map[string]string) map[string]string {
	kept := maps.Clone(layer)
	maps.DeleteFunc(kept, func(name, value string) bool { return !obeyed(name, value) })
	return kept
}

// Idle are the stored values that change nothing here, by name, with why. A log
// that Kafka has written may hold some that CheckBrokerConfig refuses.
func (l Layers) Idle() []Warning {
	var all []Warning
	for _, layer := range []struct {
		values map[string]string
		of     string
	}{{l.Cluster, "all brokers"}, {l.Broker, "this broker"}} {
		for _, name := range slices.Sorted(maps.Keys(layer.values)) {
			if why := idle(name, layer.values[name]); why != "" {
				all = append(all, Warning{Key: name, Text: fmt.Sprintf("%s, stored for %s: %s", name, layer.of, why)})
			}
		}
	}
	return all
}

// idle is why a stored value changes nothing; empty where it does, or where
// nobody knows the key.
func idle(name, value string) string {
	k := lookupPrefixed(name)
	switch {
	case k == nil:
		return ""
	case refusedValue(name, k, value):
		return "this release cannot do that, and the node is less secure or less durable than the setting says; delete it"
	case !k.Changeable():
		return "is read from the node's file at its start only"
	case k.Check(value) != nil:
		return "the value cannot be read; what the file says counts"
	case useOf(name, k) == Unused:
		return "has no effect in this release"
	}
	return ""
}

// brokerSynonyms are the broker's keys that say the same in other units, or without
// the prefix of a listener, the one that counts first; the key alone when there are
// none.
func brokerSynonyms(name string) []string {
	if base, ok := withoutPrefix(name); ok {
		return []string{name, base}
	}
	for _, topicKey := range [...]string{"retention.ms", "segment.ms", "segment.jitter.ms", "flush.ms"} {
		var group []string
		found := false
		for _, s := range synonymsOf(topicKey) {
			group = append(group, s.name)
			found = found || s.name == name
		}
		if found && !(topicKey == "flush.ms" && strings.Contains(name, "scheduler")) {
			return group
		}
	}
	return []string{name}
}

// withoutPrefix takes listener.name.<listener>. off a name, and the mechanism of a
// key that may stand under one.
func withoutPrefix(name string) (string, bool) {
	rest, prefixed := strings.CutPrefix(name, "listener.name.")
	if !prefixed {
		return name, false
	}
	_, base, prefixed := strings.Cut(rest, ".")
	if k := lookupPrefixed(name); k != nil && k.Has(BySASL) {
		base = k.Name
	}
	return base, prefixed
}
