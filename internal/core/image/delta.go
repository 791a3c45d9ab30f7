package image

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Delta names what differs between two images. What it names may also have
// gone through several changes; the images hold the states at both ends. All
// lists are in order and without repetition.
type Delta struct {
	// Before is the image that the delta starts from.
	Before *Image
	// Created are topics that were not there before, Deleted those that are no
	// longer, as they were.
	Created []kafka.TopicID
	Deleted []*Topic
	// Partitions were added or changed. Those of deleted topics are not listed.
	Partitions []kafka.TopicIDPartition
	// Brokers and Controllers were registered, changed or unregistered.
	Brokers, Controllers []kafka.NodeID
	// Configs are resources with a changed value.
	Configs []Resource

	Features, Quotas, ProducerIDs, ACLs, Scram, Tokens bool
}

// Empty tells whether nothing differs.
func (d *Delta) Empty() bool {
	return len(d.Created) == 0 && len(d.Deleted) == 0 && len(d.Partitions) == 0 && len(d.Brokers) == 0 &&
		len(d.Controllers) == 0 && len(d.Configs) == 0 &&
		!d.Features && !d.Quotas && !d.ProducerIDs && !d.ACLs && !d.Scram && !d.Tokens
}

// list gathers keys as records touch them, in any order and more than once.
type list[K comparable] []K

func (l *list[K]) add(k K) {
	if n := len(*l); n == 0 || (*l)[n-1] != k {
		*l = append(*l, k)
	}
}

// sorted puts the keys in order, each once.
func (l *list[K]) sorted(compare func(a, b K) int) []K {
	slices.SortFunc(*l, compare)
	*l = slices.Compact(*l)
	return *l
}

// changes gathers what records touched.
type changes struct {
	topics      list[kafka.TopicID] // created or deleted
	partitions  touched
	brokers     list[kafka.NodeID]
	controllers list[kafka.NodeID]
	configs     list[Resource]

	features, quotas, producerIDs, acls, scram, tokens bool
}

func (c *changes) clone() *changes {
	own := &changes{}
	own.merge(c)
	return own
}

func (c *changes) merge(o *changes) {
	c.topics = append(c.topics, o.topics...)
	c.partitions.addAll(&o.partitions)
	c.brokers = append(c.brokers, o.brokers...)
	c.controllers = append(c.controllers, o.controllers...)
	c.configs = append(c.configs, o.configs...)
	c.features = c.features || o.features
	c.quotas = c.quotas || o.quotas
	c.producerIDs = c.producerIDs || o.producerIDs
	c.acls = c.acls || o.acls
	c.scram = c.scram || o.scram
	c.tokens = c.tokens || o.tokens
}

// delta tells what the changes amount to: what was created and deleted in
// between is not there at either end and leaves no trace (KAFKA-19497).
func (c *changes) delta(before, after *Image) Delta {
	d := Delta{
		Before: before, Features: c.features, Quotas: c.quotas, ProducerIDs: c.producerIDs,
		ACLs: c.acls, Scram: c.scram, Tokens: c.tokens,
		Brokers:     c.brokers.sorted(cmp.Compare),
		Controllers: c.controllers.sorted(cmp.Compare),
		Configs:     c.configs.sorted(compareResources),
	}
	for _, id := range c.topics.sorted(kafka.TopicID.Compare) {
		old, had := before.topics.Get(id)
		_, has := after.topics.Get(id)
		switch {
		case had && !has:
			d.Deleted = append(d.Deleted, old)
		case has && !had:
			d.Created = append(d.Created, id)
		}
	}
	for _, t := range c.partitions.sorted() {
		topic, ok := after.topics.Get(t.topic)
		if !ok {
			continue
		}
		for _, n := range t.ids {
			if topic.Partitions.Has(n) {
				d.Partitions = append(d.Partitions, kafka.TopicIDPartition{Topic: t.topic, Partition: n})
			}
		}
	}
	return d
}

// touched gathers partitions by their topic. Records mostly come topic by topic,
// so the last one is at hand.
type touched struct {
	all  map[kafka.TopicID]*touchedTopic
	last *touchedTopic
}

type touchedTopic struct {
	topic kafka.TopicID
	ids   []kafka.PartitionID // as they come, until sorted
}

func (c *touched) add(topic kafka.TopicID, id kafka.PartitionID) {
	if c.last == nil || c.last.topic != topic {
		c.last = c.of(topic)
	}
	c.last.ids = append(c.last.ids, id)
}

func (c *touched) of(topic kafka.TopicID) *touchedTopic {
	t := c.all[topic]
	if t == nil {
		if c.all == nil {
			c.all = map[kafka.TopicID]*touchedTopic{}
		}
		t = &touchedTopic{topic: topic}
		c.all[topic] = t
	}
	return t
}

func (c *touched) addAll(o *touched) {
	for id, t := range o.all { // in any order: sorted gives them
		mine := c.of(id)
		mine.ids = append(mine.ids, t.ids...)
	}
}

// sorted gives the topics in order, each with its partitions in order and once.
func (c *touched) sorted() []*touchedTopic {
	all := slices.SortedFunc(maps.Values(c.all), func(a, b *touchedTopic) int { return a.topic.Compare(b.topic) })
	for _, t := range all {
		slices.Sort(t.ids)
		t.ids = slices.Compact(t.ids)
	}
	return all
}

// Between compares two images that may come from anywhere, for example one
// from before and one from a snapshot: it looks at all they hold.
func Between(before, after *Image) Delta {
	c := &changes{}
	diff(before.topics.All(), after.topics.Get, func(a, b *Topic) bool { return a == b || a.same(b) }, func(id kafka.TopicID) {
		c.topics.add(id)
		c.partitionsOf(id, before, after)
	})
	diff(after.topics.All(), before.topics.Get, func(a, b *Topic) bool { return true }, func(id kafka.TopicID) {
		c.topics.add(id)
		c.partitionsOf(id, before, after)
	})
	both(before.brokers, after.brokers, (*Broker).same, &c.brokers)
	both(before.controllers, after.controllers, (*Controller).same, &c.controllers)
	both(before.configs, after.configs, sameMaps[string, string], &c.configs)
	c.features = !sameMaps(before.features, after.features)
	c.quotas = !sameUnder(before.quotas, after.quotas, sameMaps[string, float64])
	c.producerIDs = before.nextProducerID != after.nextProducerID
	c.acls = !sameUnder(before.acls, after.acls, sameValues[ACL])
	c.scram = !sameUnder(before.scram, after.scram, (*Scram).same)
	c.tokens = !sameUnder(before.tokens, after.tokens, (*Token).same)
	return c.delta(before, after)
}

// partitionsOf notes the partitions of a topic that are new or differ.
func (c *changes) partitionsOf(id kafka.TopicID, before, after *Image) {
	now, ok := after.topics.Get(id)
	if !ok {
		return
	}
	old, had := before.topics.Get(id)
	for n, p := range now.Partitions.All() {
		if had {
			if q, ok := old.Partitions.Get(n); ok && (p == q || p.Equal(q)) {
				continue
			}
		}
		c.partitions.add(id, n)
	}
}
