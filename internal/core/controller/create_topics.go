package controller

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// MaxPartitions is the most that one request may create (KAFKA-17870).
const MaxPartitions = 10_000

// FromSettings asks for the controller's default number.
const FromSettings = -1

// NewTopic is a topic to create.
type NewTopic struct {
	Name        string
	Partitions  int32 // FromSettings: num.partitions
	Replication int16 // FromSettings: default.replication.factor
	// Assignments, if any, name all partitions and their replicas; the two
	// numbers must then be FromSettings.
	Assignments []Assignment
	Configs     []ConfigValue
}

// Assignment names the replicas of a partition, the preferred leader first.
type Assignment struct {
	Partition kafka.PartitionID
	Replicas  []kafka.NodeID
}

// ConfigValue is a key and its value; nil is not a value.
type ConfigValue struct {
	Key   string
	Value *string
}

// TopicsToCreate is a CreateTopics request.
type TopicsToCreate struct {
	Topics []NewTopic
	// ValidateOnly: check and reply, but change nothing but the budget, as in Kafka.
	ValidateOnly bool
	Budget       *Budget
}

// CreatedTopic is the answer for one topic.
type CreatedTopic struct {
	Name string
	Err  error
	// The rest is valid if Err is nil.
	ID          kafka.TopicID
	Partitions  int32
	Replication int16
	Configs     map[string]string
}

// CreateTopics creates topics. Each is created or refused by itself; the good
// ones come in one batch. A name that stands more than once is refused once.
func CreateTopics(img *image.Image, soft *Soft, want TopicsToCreate) Decision[[]CreatedTopic] {
	if n := requestedPartitions(soft, want); n > MaxPartitions {
		return refusef[[]CreatedTopic](kerr.PolicyViolation,
			"excessively large number of partitions per request: %d, at most %d are allowed", n, MaxPartitions)
	}
	c := topicCreator{draft: draftOn(img), soft: soft, budget: want.Budget, counts: map[string]int{}, similar: map[string]string{}, ids: map[kafka.TopicID]bool{}}
	for _, t := range want.Topics {
		c.counts[t.Name]++
	}
	var replies []CreatedTopic
	for _, t := range want.Topics {
		if n := c.counts[t.Name]; n > 1 {
			c.counts[t.Name] = 0 // the others of this name go without an answer
			replies = append(replies, CreatedTopic{Name: t.Name, Err: kerr.Errorf(kerr.InvalidRequest,
				"topic %q stands %d times in the request", t.Name, n)})
		} else if n == 1 {
			replies = append(replies, c.create(t))
		}
	}
	decided := bounded(atomically(c.draft, replies))
	if want.ValidateOnly {
		decided.Records = nil
	}
	return spend(decided, soft, want.Budget)
}

func requestedPartitions(soft *Soft, want TopicsToCreate) int {
	n := 0
	for _, t := range want.Topics {
		switch {
		case len(t.Assignments) > 0:
			n += len(t.Assignments)
		case t.Partitions == FromSettings:
			n += int(soft.DefaultPartitions)
		case t.Partitions > 0:
			n += int(t.Partitions)
		}
	}
	return n
}

// topicCreator creates the topics of one request.
type topicCreator struct {
	*draft
	soft   *Soft
	budget *Budget
	counts map[string]int // of each name in the request
	placer *placer        // made for the first topic that needs one
	// similar are names of the request by their form for metrics, where '.' and
	// '_' are the same.
	similar map[string]string
	ids     map[kafka.TopicID]bool // taken in this request
}

func (c *topicCreator) create(t NewTopic) CreatedTopic {
	reply := CreatedTopic{Name: t.Name}
	configs, err := c.check(t)
	if err != nil {
		reply.Err = err
		return reply
	}
	parts, err := c.partitions(t)
	if err != nil {
		reply.Err = err
		return reply
	}
	if err := c.budget.take(len(parts)); err != nil {
		reply.Err = err
		return reply
	}
	reply.ID = c.newTopicID()
	reply.Partitions, reply.Replication = int32(len(parts)), int16(len(parts[0]))
	reply.Configs = configs
	c.write(reply, parts)
	return reply
}

// check finds out whether the topic may have its name and its configuration.
func (c *topicCreator) check(t NewTopic) (map[string]string, error) {
	if t.Name == kafka.MetadataTopic {
		return nil, kerr.Errorf(kerr.InvalidRequest, "topic %q is the cluster's own and cannot be created", t.Name)
	}
	if err := kafka.CheckTopicName(t.Name); err != nil {
		return nil, kerr.Errorf(kerr.InvalidTopicException, "%v", err)
	}
	if old, ok := c.img.TopicNamed(t.Name); ok {
		return nil, kerr.Errorf(kerr.TopicAlreadyExists, "topic %q already exists, with id %v", t.Name, old.ID)
	}
	if other, ok := c.alike(t.Name); ok {
		return nil, kerr.Errorf(kerr.InvalidTopicException,
			"topic %q collides with existing topic %q: '.' and '_' are the same in metrics", t.Name, other)
	}
	return c.checkConfigs(t)
}

// alike finds a topic, of those that exist and those of the request, whose name
// differs in nothing but '.' and '_'.
func (c *topicCreator) alike(name string) (string, bool) {
	if other, ok := c.img.Alike(name); ok {
		return other, true
	}
	other, ok := c.similar[metricName(name)]
	return other, ok
}

func metricName(topic string) string { return strings.ReplaceAll(topic, ".", "_") }

func (c *topicCreator) checkConfigs(t NewTopic) (map[string]string, error) {
	values := make(map[string]string, len(t.Configs))
	for _, v := range t.Configs {
		if v.Value == nil {
			return nil, kerr.Errorf(kerr.InvalidConfig, "null value not supported for topic configs: %s", v.Key)
		}
		values[v.Key] = *v.Value
	}
	if err := checkLengths(values); err != nil {
		return nil, err
	}
	return values, c.soft.Keys.Check(image.TopicOf(t.Name), values)
}

// partitions gives the replicas of each partition.
func (c *topicCreator) partitions(t NewTopic) ([][]kafka.NodeID, error) {
	if len(t.Assignments) > 0 {
		return manualPartitions(c.img, t)
	}
	replication, partitions := int(t.Replication), t.Partitions
	if replication == FromSettings {
		replication = int(c.soft.DefaultReplication)
	}
	if partitions == FromSettings {
		partitions = c.soft.DefaultPartitions
	}
	switch {
	case replication <= 0:
		return nil, kerr.Errorf(kerr.InvalidReplicationFactor, "replication factor %d: it must be larger than 0, or -1 for the default", t.Replication)
	case partitions <= 0:
		return nil, kerr.Errorf(kerr.InvalidPartitions, "number of partitions %d: it must be larger than 0, or -1 for the default", t.Partitions)
	}
	if c.placer == nil {
		c.placer = newPlacer(c.img, c.soft.Rand)
	}
	if err := c.placer.check(replication); err != nil {
		return nil, err
	}
	parts := make([][]kafka.NodeID, partitions)
	for i := range parts {
		parts[i] = c.placer.place(replication)
	}
	return parts, nil
}

func manualPartitions(img *image.Image, t NewTopic) ([][]kafka.NodeID, error) {
	switch {
	case t.Replication != FromSettings:
		return nil, kerr.Errorf(kerr.InvalidRequest,
			"a manual partition assignment was given, but the replication factor is %d and not -1", t.Replication)
	case t.Partitions != FromSettings:
		return nil, kerr.Errorf(kerr.InvalidRequest,
			"a manual partition assignment was given, but the number of partitions is %d and not -1", t.Partitions)
	}
	ordered := slices.SortedFunc(slices.Values(t.Assignments), func(a, b Assignment) int { return cmp.Compare(a.Partition, b.Partition) })
	parts := make([][]kafka.NodeID, len(ordered))
	for i, a := range ordered {
		switch {
		case i > 0 && a.Partition == ordered[i-1].Partition:
			return nil, kerr.Errorf(kerr.InvalidReplicaAssignment, "found multiple manual partition assignments for partition %d", a.Partition)
		case a.Partition != kafka.PartitionID(i):
			return nil, kerr.Errorf(kerr.InvalidReplicaAssignment, "partitions must be numbered from 0 without a gap: %d is given, %d is not", a.Partition, i)
		}
		if err := checkAssignment(img, a.Replicas, len(ordered[0].Replicas)); err != nil {
			return nil, err
		}
		parts[i] = a.Replicas
	}
	return parts, nil
}

func (c *topicCreator) newTopicID() kafka.TopicID {
	for {
		id := c.soft.newID()
		if _, taken := c.img.TopicByID(id); !taken && !c.ids[id] {
			c.ids[id] = true
			return id
		}
	}
}

// write adds the records of a topic and keeps its name for the next ones of
// the request.
func (c *topicCreator) write(t CreatedTopic, parts [][]kafka.NodeID) {
	c.add(&metarec.TopicRecord{Name: t.Name, TopicId: t.ID})
	for _, key := range slices.Sorted(maps.Keys(t.Configs)) {
		value := t.Configs[key]
		c.add(image.ConfigRecord(image.TopicOf(t.Name), key, &value))
	}
	if _, ok := t.Configs[minInsyncKey]; ok && c.img.ElrEnabled() {
		c.add(&metarec.ClearElrRecord{TopicName: t.Name})
	}
	for i, replicas := range parts {
		c.addPartition(t.ID, kafka.PartitionID(i), replicas)
	}
	if strings.ContainsAny(t.Name, "._") {
		c.similar[metricName(t.Name)] = t.Name
	}
}

// addPartition writes a new partition: the active replicas are in sync, and
// the first of them leads.
func (d *draft) addPartition(topic kafka.TopicID, id kafka.PartitionID, replicas []kafka.NodeID) {
	p := image.Partition{Replicas: replicas, Leader: kafka.NoNode, Dirs: make([]kafka.DirID, len(replicas))}
	for i, n := range replicas {
		p.Dirs[i] = d.img.DefaultDir(n)
		if d.img.Active(n) {
			p.ISR = append(p.ISR, n)
		}
	}
	if len(p.ISR) > 0 {
		p.Leader = p.ISR[0]
	}
	r := p.Record(topic, id)
	d.addAt(r, d.level().TrimPartition(r))
}
