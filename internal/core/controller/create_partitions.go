package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// MorePartitions asks for a topic to have more partitions.
type MorePartitions struct {
	Topic string
	Count int32 // of all partitions afterwards
	// Assignments, if not nil, are the replicas of each new partition.
	Assignments [][]kafka.NodeID
}

// PartitionsToCreate is a CreatePartitions request.
type PartitionsToCreate struct {
	Topics       []MorePartitions
	ValidateOnly bool
	Budget       *Budget
}

// GrownTopic is the answer for one topic.
type GrownTopic struct {
	Topic string
	Err   error
}

// CreatePartitions adds partitions to topics. Each topic is treated by itself;
// the good ones come in one batch.
func CreatePartitions(img *image.Image, soft *Soft, want PartitionsToCreate) Decision[[]GrownTopic] {
	d := draftOn(img)
	counts := map[string]int{}
	added := 0
	for _, t := range want.Topics {
		counts[t.Topic]++
		if topic, ok := img.TopicNamed(t.Topic); ok {
			added += max(0, int(t.Count)-topic.Partitions.Len())
		}
	}
	if added > MaxPartitions {
		return refusef[[]GrownTopic](kerr.PolicyViolation,
			"excessively large number of partitions per request: %d, at most %d are allowed", added, MaxPartitions)
	}
	var replies []GrownTopic
	for _, t := range want.Topics {
		n := counts[t.Topic]
		switch {
		case n == 0:
			continue // answered already
		case n > 1:
			counts[t.Topic] = 0
			replies = append(replies, GrownTopic{t.Topic, kerr.Errorf(kerr.InvalidRequest,
				"topic %q stands %d times in the request", t.Topic, n)})
		default:
			replies = append(replies, GrownTopic{t.Topic, d.grow(soft, t, want.Budget)})
		}
	}
	decided := bounded(atomically(d, replies))
	if want.ValidateOnly {
		decided.Records = nil
	}
	return spend(decided, soft, want.Budget)
}

func (d *draft) grow(soft *Soft, want MorePartitions, budget *Budget) error {
	topic, ok := d.img.TopicNamed(want.Topic)
	if !ok {
		return kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q does not exist", want.Topic)
	}
	now := topic.Partitions.Len()
	more := int(want.Count) - now
	if more <= 0 {
		return kerr.Errorf(kerr.InvalidPartitions, "topic %q has %d partitions, %d would not be an increase", want.Topic, now, want.Count)
	}
	replication := 1
	for _, p := range topic.Partitions.All() {
		replication = len(p.Replicas)
		break
	}
	parts, err := d.newPartitions(soft, want, more, replication)
	if err != nil {
		return err
	}
	if err := budget.take(more); err != nil {
		return err
	}
	for i, replicas := range parts {
		d.addPartition(topic.ID, kafka.PartitionID(now+i), replicas)
	}
	return nil
}

func (d *draft) newPartitions(soft *Soft, want MorePartitions, more, replication int) ([][]kafka.NodeID, error) {
	if want.Assignments != nil {
		if n := len(want.Assignments); n != more {
			return nil, kerr.Errorf(kerr.InvalidReplicaAssignment,
				"topic %q gets %d new partitions, but %d assignments were given", want.Topic, more, n)
		}
		for _, replicas := range want.Assignments {
			if err := checkAssignment(d.img, replicas, replication); err != nil {
				return nil, err
			}
		}
		return want.Assignments, nil
	}
	p := newPlacer(d.img, soft.Rand)
	if err := p.check(replication); err != nil {
		return nil, err
	}
	parts := make([][]kafka.NodeID, more)
	for i := range parts {
		parts[i] = p.place(replication)
	}
	return parts, nil
}
