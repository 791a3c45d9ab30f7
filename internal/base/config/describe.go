package config

import (
	"maps"
	"slices"
	"strings"
)

// Source is the layer a value comes from, with the numbers of DescribeConfigs.
type Source int8

// The sources of a value.
const (
	FromTopic   Source = 1
	FromBroker  Source = 2
	FromCluster Source = 3
	FromFile    Source = 4
	FromDefault Source = 5
)

// Synonym is a value a setting has in one layer.
type Synonym struct {
	Name   string
	Value  *string // nil when it must not be shown
	Source Source
}

// Described is a setting as DescribeConfigs tells it.
type Described struct {
	Name      string
	Value     *string // nil when there is none or it must not be shown
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Type      Type // 0 when the key is unknown
	Doc       string
	Synonyms  []Synonym // strongest first
}

// DescribeTopic tells all settings of a topic, or those wanted, by name.
// overrides are the topic's own.
func (l Layers) DescribeTopic(overrides map[string]string, wanted []string) []Described {
	defaults := l.Effective()
	var all []Described
	for i := range topicKeys {
		k := &topicKeys[i]
		if k.Has(Internal) || wanted != nil && !slices.Contains(wanted, k.Name) {
			continue
		}
		d := Described{Name: k.Name, Type: k.Type, Doc: k.Doc, Source: FromDefault}
		value := k.canonical(topicValue(defaults, k))
		if own, set := overrides[k.Name]; set {
			value = k.canonical(own)
			d.Synonyms = append(d.Synonyms, Synonym{k.Name, &own, FromTopic})
		}
		d.Value = &value
		if names := brokersNames(k.Name); len(names) > 0 {
			d.Synonyms = append(d.Synonyms, l.synonyms(names[0], names, false)...)
		}
		if len(d.Synonyms) > 0 {
			d.Source = d.Synonyms[0].Source
		}
		all = append(all, d)
	}
	return all
}

// brokersNames are the broker's keys behind a topic's key, the one that counts
// first.
func brokersNames(topicKey string) (names []string) {
	for _, s := range synonymsOf(topicKey) {
		names = append(names, s.name)
	}
	return names
}

// topicValue is what a topic's key is without an override.
func topicValue(c *Config, k *Key) string {
	for _, s := range synonymsOf(k.Name) {
		if text, set := c.text(s.name); set {
			return inUnit(strings.TrimSpace(text), s.unit)
		}
	}
	return k.Default
}

// synonyms are the values of keys that mean the same, strongest first. As in
// Kafka the list begins with the key that was asked for: what stronger layers say
// by other names is left out.
func (l Layers) synonyms(asked string, names []string, sensitive bool) []Synonym {
	var all []Synonym
	for _, layer := range []struct {
		values map[string]string
		source Source
	}{{l.Broker, FromBroker}, {l.Cluster, FromCluster}, {l.Static.set, FromFile}} {
		for _, name := range names {
			if value, set := layer.values[name]; set {
				all = append(all, Synonym{name, shown(value, sensitive), layer.source})
			}
		}
	}
	for _, name := range names {
		if k := Lookup(name); k != nil && k.HasDefault() && k.Scope != DynamicKey {
			all = append(all, Synonym{name, shown(k.Default, sensitive), FromDefault})
		}
	}
	for len(all) > 0 && all[0].Name != asked {
		all = all[1:]
	}
	return all
}

func shown(value string, sensitive bool) *string {
	if sensitive {
		return nil
	}
	return &value
}

// DescribeBroker tells all settings of a broker, or those wanted, by name:
// those of the table, and those set that nobody knows. A stored value that is not
// obeyed is not shown: see DescribeCluster and Idle.
func (l Layers) DescribeBroker(wanted []string) []Described {
	l = l.inForce().withBothIDs()
	c := l.Effective()
	var all []Described
	for i := range brokerKeys {
		k := &brokerKeys[i]
		_, set := c.text(k.Name)
		if !set && (k.Has(Internal) || k.Scope == DynamicKey) {
			continue
		}
		all = append(all, l.describe(c, k.Name, k))
	}
	for name := range c.set {
		if Lookup(name) == nil {
			all = append(all, l.describe(c, name, lookupPrefixed(name)))
		}
	}
	if wanted != nil {
		all = slices.DeleteFunc(all, func(d Described) bool { return !slices.Contains(wanted, d.Name) })
	}
	slices.SortFunc(all, func(a, b Described) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// DescribeCluster tells what is set for all brokers at run time, as it was written: no
// broker has read it.
func (l Layers) DescribeCluster(wanted []string) []Described {
	var all []Described
	for _, name := range slices.Sorted(maps.Keys(l.Cluster)) {
		if wanted != nil && !slices.Contains(wanted, name) {
			continue
		}
		d := l.describe(&Config{set: l.Cluster}, name, lookupPrefixed(name))
		d.Source, d.Value = FromCluster, shown(l.Cluster[name], d.Sensitive)
		d.Synonyms = slices.DeleteFunc(d.Synonyms, func(s Synonym) bool { return s.Source != FromCluster })
		all = append(all, d)
	}
	return all
}

// withBothIDs says the node's id by both of its names, as Kafka does.
func (l Layers) withBothIDs() Layers {
	for _, pair := range [...][2]string{{"node.id", "broker.id"}, {"broker.id", "node.id"}} {
		if id, set := l.Static.text(pair[0]); set && !l.Static.Has(pair[1]) {
			both := maps.Clone(l.Static.set)
			both[pair[1]] = id
			l.Static = &Config{set: both, node: l.Static.node}
		}
	}
	return l
}

// describe tells one setting of a broker; k is nil for a key nobody knows,
// whose value may be a secret for all we know.
func (l Layers) describe(c *Config, name string, k *Key) Described {
	d := Described{Name: name, Source: FromDefault, ReadOnly: true, Sensitive: true}
	if k != nil {
		d.Type, d.Doc, d.Sensitive = k.Type, k.Doc, k.Sensitive()
		// Kafka calls what stands under a listener's prefix read-only, although it can
		// be changed.
		d.ReadOnly = !k.Changeable() || k.Name != name
	}
	if text, set := c.text(name); set {
		d.Value = shown(k.canonical(text), d.Sensitive)
	} else if k != nil && k.HasDefault() {
		d.Value = shown(k.Default, d.Sensitive)
	}
	if d.Synonyms = l.synonyms(name, brokerSynonyms(name), d.Sensitive); len(d.Synonyms) > 0 {
		d.Source = d.Synonyms[0].Source
	}
	return d
}
