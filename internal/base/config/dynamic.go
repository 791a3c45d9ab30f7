package config

import (
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
)

// CheckBrokerConfig tells why one broker cannot be given a setting while it
// runs: the error is kerr.InvalidRequest with Kafka's message. A name that
// nobody knows is taken: it may be a plugin's.
func CheckBrokerConfig(name, value string) error {
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
	return nil
}

// CheckClusterConfig is CheckBrokerConfig for the default of all brokers, which
// must not hold what differs from one broker to the next.
func CheckClusterConfig(name, value string) error {
	if k := lookupPrefixed(name); k != nil && (k.Scope == PerBroker || k.Name != name && k.Scope != Cluster) {
		return notNow("Cannot update these configs at default cluster level, broker id must be specified: [%s]", name)
	}
	return CheckBrokerConfig(name, value)
}

func notNow(format string, args ...any) error {
	return kerr.Errorf(kerr.InvalidRequest, "Invalid config value for resource: "+format, args...)
}

// Layers are a broker's settings from the strongest to the weakest: dynamic
// ones of this broker, dynamic ones of all brokers, the file, the defaults.
type Layers struct {
	Broker  map[string]string // from the metadata log, of this broker
	Cluster map[string]string // from the metadata log, of all brokers
	Static  *Config
}

// Effective is the configuration that all layers make together. A dynamic
// value that this release cannot read leaves the layer below.
func (l Layers) Effective() *Config {
	merged := &Config{set: make(map[string]string, len(l.Static.set)+len(l.Cluster)+len(l.Broker)), node: l.Static.node}
	for name, value := range l.Static.set {
		merged.set[name] = value
	}
	for _, layer := range []map[string]string{l.Cluster, l.Broker} {
		for name, value := range layer {
			if k := lookupPrefixed(name); k == nil || k.Scope != Static && k.Check(value) == nil {
				merged.set[name] = value
			}
		}
	}
	return merged
}

// brokerSynonyms are the broker's keys that say the same in other units, the
// one that counts first; the key alone when there are none.
func brokerSynonyms(name string) []string {
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
