package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Reassignment moves a partition to other brokers (KIP-455).
type Reassignment struct {
	Partition kafka.TopicPartition
	// Replicas are the brokers to end up on, nil cancels what is under way.
	Replicas []kafka.NodeID
}

// ReassignmentsToAlter is an AlterPartitionReassignments request.
type ReassignmentsToAlter struct {
	Partitions []Reassignment
	// KeepFactor refuses another number of replicas (KIP-860).
	KeepFactor bool
}

// Reassigned is the answer for one partition.
type Reassigned struct {
	Partition kafka.TopicPartition
	Err       error
}

// AlterReassignments starts, redirects and cancels reassignments. Each is
// treated by itself; the good ones come in one batch.
func AlterReassignments(img *image.Image, soft *Soft, want ReassignmentsToAlter) Decision[[]Reassigned] {
	d := draftOn(img)
	var replies []Reassigned
	seen := map[kafka.TopicPartition]bool{}
	for _, r := range want.Partitions {
		if !seen[r.Partition] {
			seen[r.Partition] = true
			replies = append(replies, Reassigned{r.Partition, d.reassign(soft, r, want.KeepFactor)})
		}
	}
	return bounded(atomically(d, replies))
}

func (d *draft) reassign(soft *Soft, r Reassignment, keepFactor bool) error {
	t, ok := d.img.TopicNamed(r.Partition.Topic)
	if !ok {
		return kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q does not exist", r.Partition.Topic)
	}
	p, ok := t.Partitions.Get(r.Partition.Partition)
	if !ok {
		return kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q has no partition %d", r.Partition.Topic, r.Partition.Partition)
	}
	c := changeOf(d.img, soft, image.Place{Topic: t, Partition: r.Partition.Partition}, p)
	err := error(nil)
	if r.Replicas == nil {
		err = c.cancel(uncleanEnabled(d.img, soft.Settings, t.Name))
	} else if err = checkReplicas(d.img, r.Replicas); err == nil {
		err = c.moveTo(r.Replicas, keepFactor)
	}
	if err == nil {
		d.change(c)
	}
	return err
}

// moveTo makes target the replicas to end up with. What an earlier
// reassignment was adding is not settled yet and stays so.
func (c *partitionChange) moveTo(target []kafka.NodeID, keepFactor bool) error {
	settled := except(c.old.Replicas, c.old.Adding...)
	if pending := len(except(c.old.Replicas, c.old.Removing...)); keepFactor && pending != len(target) {
		return kerr.Errorf(kerr.InvalidReplicationFactor,
			"the replication factor is %d, the reassignment would make it %d", pending, len(target))
	}
	c.adding = slices.Sorted(slices.Values(except(target, settled...)))
	c.removing = slices.Sorted(slices.Values(except(c.old.Replicas, target...)))
	c.replicas = slices.Concat(target, c.removing)
	return nil
}

// cancel goes back to the replicas of before. If none of them is in sync, going
// back loses records, which the topic must allow.
func (c *partitionChange) cancel(lossAllowed bool) error {
	if !c.old.Reassigning() {
		return kerr.Errorf(kerr.NoReassignmentInProgress, "no reassignment is in progress")
	}
	c.replicas = except(c.old.Replicas, c.old.Adding...)
	c.isr = except(c.old.ISR, c.old.Adding...)
	c.adding, c.removing = nil, nil
	switch {
	case len(c.replicas) == 0:
		return kerr.Errorf(kerr.InvalidReplicaAssignment, "all %d replicas are being added, none would be left", len(c.old.Replicas))
	case len(c.isr) > 0:
	case !lossAllowed:
		return kerr.Errorf(kerr.InvalidReplicaAssignment, "none of the replicas %v of before is in sync, and unclean elections are disabled", c.replicas)
	default:
		c.isr, c.recovery = c.replicas[:1], image.Recovering
	}
	return nil
}
