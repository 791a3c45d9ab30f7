package controller

import (
	"errors"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// MaxElections bounds the records of one run of a periodic election.
const MaxElections = 1000

// LeadersToElect is an ElectLeaders request (KIP-460).
type LeadersToElect struct {
	Unclean bool // else the preferred replicas
	// Partitions are those to elect for; nil means all, and then only those
	// that something came of are answered.
	Partitions []kafka.TopicPartition
}

// Elected is the answer for one partition.
type Elected struct {
	Partition kafka.TopicPartition
	Err       error
}

// ElectLeaders elects leaders as an operator wants it.
func ElectLeaders(img *image.Image, soft *Soft, want LeadersToElect) Decision[[]Elected] {
	d := draftOn(img)
	var replies []Elected
	if want.Partitions == nil {
		for at, p := range img.Partitions() {
			err := d.elect(soft, at, p, want.Unclean)
			if !errors.Is(err, kerr.ElectionNotNeeded) {
				replies = append(replies, Elected{kafka.TopicPartition{Topic: at.Topic.Name, Partition: at.Partition}, err})
			}
		}
		return bounded(piecewise(d, replies))
	}
	for n, tp := range want.Partitions {
		if slices.Contains(want.Partitions[:n], tp) {
			continue
		}
		replies = append(replies, Elected{tp, d.electNamed(soft, tp, want.Unclean)})
	}
	return bounded(piecewise(d, replies))
}

func (d *draft) electNamed(soft *Soft, tp kafka.TopicPartition, isUnclean bool) error {
	t, ok := d.img.TopicNamed(tp.Topic)
	if !ok {
		return kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q does not exist", tp.Topic)
	}
	p, ok := t.Partitions.Get(tp.Partition)
	if !ok {
		return kerr.Errorf(kerr.UnknownTopicOrPartition, "topic %q has no partition %d", tp.Topic, tp.Partition)
	}
	return d.elect(soft, image.Place{Topic: t, Partition: tp.Partition}, p, isUnclean)
}

func (d *draft) elect(soft *Soft, at image.Place, p *image.Partition, isUnclean bool) error {
	c := changeOf(d.img, soft, at, p)
	switch {
	case isUnclean && p.Leader != kafka.NoNode, !isUnclean && led(p):
		return kerr.ElectionNotNeeded
	case isUnclean:
		c.election = unclean
	default:
		c.election = preferred
	}
	r := c.build()
	switch {
	case r != nil && r.Leader != image.UnchangedLeader && r.Leader != int32(kafka.NoNode):
		d.addAt(r, c.level.Partition())
		return nil
	case isUnclean:
		return kerr.EligibleLeadersNotAvailable
	}
	return kerr.PreferredLeaderNotAvailable
}

// led tells whether the preferred replica leads.
func led(p *image.Partition) bool { return len(p.Replicas) > 0 && p.Leader == p.Replicas[0] }

// Balanced is what a periodic election did.
type Balanced struct {
	Elections int
	More      bool // run again soon
}

// Balance gives leaderships back to preferred replicas, at most MaxElections
// in one run.
func Balance(img *image.Image, soft *Soft) Decision[Balanced] {
	return electSome(img, soft, preferred, func(_ image.Place, p *image.Partition) bool { return !led(p) })
}

// ElectUnclean gives leaderless partitions whose topic allows it an unclean
// leader, at most MaxElections in one run.
func ElectUnclean(img *image.Image, soft *Soft) Decision[Balanced] {
	return electSome(img, soft, unclean, func(at image.Place, p *image.Partition) bool {
		return p.Leader == kafka.NoNode && uncleanEnabled(img, soft.Settings, at.Topic.Name)
	})
}

func electSome(
	img *image.Image, soft *Soft, how election, wanted func(image.Place, *image.Partition) bool,
) Decision[Balanced] {
	d := draftOn(img)
	var reply Balanced
	for at, p := range img.Partitions() {
		if !wanted(at, p) {
			continue
		}
		if reply.Elections == MaxElections {
			reply.More = true
			break
		}
		c := changeOf(img, soft, at, p)
		c.election = how
		if d.change(c) {
			reply.Elections++
		}
	}
	return piecewise(d, reply)
}
