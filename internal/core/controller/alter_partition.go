package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Member is a replica that a leader wants in the ISR, with the epoch of the
// broker that it saw fetching (KIP-903).
type Member struct {
	Broker kafka.NodeID
	Epoch  kafka.BrokerEpoch // kafka.NoBrokerEpoch: not checked
}

// NewISR is a leader's wish for one partition.
type NewISR struct {
	Partition      kafka.TopicIDPartition
	LeaderEpoch    kafka.Epoch
	PartitionEpoch int32
	ISR            []Member
	Recovery       image.Recovery
}

// ISRsToAlter is an AlterPartition request (KIP-497).
type ISRsToAlter struct {
	Broker     kafka.NodeID
	Epoch      kafka.BrokerEpoch
	Partitions []NewISR
}

// AlteredISR is the answer for one partition: what it is now, also when
// nothing changed.
type AlteredISR struct {
	Err   error
	State *image.Partition // nil if Err is not
}

// AlterPartition changes the ISRs of partitions that the sender leads.
func AlterPartition(img *image.Image, soft *Soft, want ISRsToAlter) Decision[[]AlteredISR] {
	if err := checkEpoch(img, want.Broker, want.Epoch); err != nil {
		return refuse[[]AlteredISR](err)
	}
	d := draftOn(img)
	replies := make([]AlteredISR, len(want.Partitions))
	for n, wish := range want.Partitions {
		now := d.image()
		t, p, err := checkISR(now, want.Broker, wish)
		if err != nil {
			replies[n].Err = err
			continue
		}
		replies[n] = d.alterISR(soft, image.Place{Topic: t, Partition: wish.Partition.Partition}, p, wish)
	}
	return piecewise(d, replies)
}

func (d *draft) alterISR(soft *Soft, at image.Place, p *image.Partition, wish NewISR) AlteredISR {
	c := changeOf(d.image(), soft, at, p)
	c.isr = make([]kafka.NodeID, len(wish.ISR))
	for i, m := range wish.ISR {
		c.isr[i] = m.Broker
	}
	c.recovery = wish.Recovery
	if !d.change(c) {
		return AlteredISR{State: p}
	}
	_, now, _ := d.image().PartitionByID(wish.Partition)
	if p.Reassigning() && !now.Reassigning() && now.Leader != p.Leader {
		return AlteredISR{Err: kerr.NewLeaderElected}
	}
	return AlteredISR{State: now}
}

// checkISR finds the first reason to refuse a wish, in Kafka's order.
func checkISR(img *image.Image, sender kafka.NodeID, wish NewISR) (*image.Topic, *image.Partition, error) {
	t, ok := img.TopicByID(wish.Partition.Topic)
	if !ok {
		return nil, nil, kerr.UnknownTopicId
	}
	p, ok := t.Partitions.Get(wish.Partition.Partition)
	switch {
	case !ok:
		return nil, nil, kerr.UnknownTopicOrPartition
	case wish.LeaderEpoch > p.LeaderEpoch || wish.PartitionEpoch > p.Epoch:
		// The leader knows more than this controller (KAFKA-14154).
		return nil, nil, kerr.NotController
	case wish.LeaderEpoch < p.LeaderEpoch:
		return nil, nil, kerr.FencedLeaderEpoch
	case sender != p.Leader:
		return nil, nil, kerr.InvalidRequest
	case wish.PartitionEpoch < p.Epoch:
		return nil, nil, kerr.InvalidUpdateVersion
	case !wellFormed(p, wish):
		return nil, nil, kerr.InvalidRequest
	}
	for _, m := range wish.ISR {
		b, ok := img.Broker(m.Broker)
		if !ok || !b.Active() || m.Epoch != kafka.NoBrokerEpoch && m.Epoch != b.Epoch {
			return nil, nil, kerr.IneligibleReplica
		}
		// It has fetched all, but the disk that it fetched to has failed since.
		if dir, _ := p.DirOf(m.Broker); m.Broker != sender && !p.InSync(m.Broker) && !b.Online(dir) {
			return nil, nil, kerr.IneligibleReplica
		}
	}
	return t, p, nil
}

// wellFormed tells whether a wish makes sense by itself: replicas only, each
// once, the leader among them, and nobody beside a leader that recovers.
func wellFormed(p *image.Partition, wish NewISR) bool {
	var seen []kafka.NodeID
	for _, m := range wish.ISR {
		if m.Broker < 0 || slices.Contains(seen, m.Broker) || !p.HasReplica(m.Broker) {
			return false
		}
		seen = append(seen, m.Broker)
	}
	switch {
	case !slices.Contains(seen, p.Leader):
		return false
	case wish.Recovery == image.Recovering:
		return len(seen) == 1 && p.Recovery == image.Recovering
	}
	return wish.Recovery == image.Recovered
}
