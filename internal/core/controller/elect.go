package controller

import (
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// election says whom a change prefers as leader.
type election int8

const (
	// preferred: the first replica if it can lead.
	preferred election = iota
	// online: the present leader if it can go on, else any that is in sync.
	online
	// unclean: as online, and at last a replica that may lack records.
	unclean
)

// choose picks the leader of the target state, kafka.NoNode if nobody can
// lead, and tells whether records may be lost.
func (c *partitionChange) choose() (leader kafka.NodeID, isUnclean bool) {
	if c.election == preferred && len(c.replicas) > 0 && c.valid(c.replicas[0]) {
		return c.replicas[0], false
	}
	if c.old.Leader != kafka.NoNode && c.valid(c.old.Leader) {
		return c.old.Leader, false
	}
	for _, n := range c.replicas {
		if c.valid(n) {
			return n, false
		}
	}
	if n, ok := c.lastKnown(); ok {
		return n, true
	}
	if c.election == unclean {
		for _, n := range c.replicas {
			if c.acceptable(n) {
				return n, true
			}
		}
	}
	return kafka.NoNode, false
}

// valid tells whether a replica can lead without loss.
func (c *partitionChange) valid(n kafka.NodeID) bool {
	inSync := slices.Contains(c.isr, n) || len(c.isr) == 0 && slices.Contains(c.eligible, n)
	return inSync && c.acceptable(n)
}

// lastKnown is who led last, once nobody else is left who could (KIP-966). It
// must be acceptable like any leader (KAFKA-19522).
func (c *partitionChange) lastKnown() (kafka.NodeID, bool) {
	if !c.elr || len(c.isr) > 0 || len(c.eligible) > 0 || len(c.old.LastELR) != 1 {
		return kafka.NoNode, false
	}
	n := c.old.LastELR[0]
	return n, slices.Contains(c.replicas, n) && c.acceptable(n)
}

// onlineElection is the election that losing a leader leads to.
func onlineElection(img *image.Image, s *Settings, topic string) election {
	if uncleanEnabled(img, s, topic) {
		return unclean
	}
	return online
}

func uncleanEnabled(img *image.Image, s *Settings, topic string) bool {
	if value, ok := effective(img, s, topic, uncleanElectionKey); ok {
		return value == "true"
	}
	return s.UncleanElection
}

// minInsync is the effective min.insync.replicas of a topic: never more than
// its replicas.
func minInsync(img *image.Image, s *Settings, t *image.Topic) int {
	want := s.MinInsyncReplicas
	if value, ok := effective(img, s, t.Name, minInsyncKey); ok {
		if n, err := strconv.Atoi(value); err == nil {
			want = n
		}
	}
	if first, ok := t.Partitions.Get(0); ok {
		want = min(want, len(first.Replicas))
	}
	return max(want, 1)
}

// Keys that the controller itself obeys. They have one name on topics and on
// brokers.
const (
	minInsyncKey       = "min.insync.replicas"
	uncleanElectionKey = "unclean.leader.election.enable"
)

// effective is the stored value that rules a topic: the topic's own, else that
// of the active controller's node, else the cluster's.
func effective(img *image.Image, s *Settings, topic, key string) (string, bool) {
	for _, r := range []image.Resource{image.TopicOf(topic), image.BrokerOf(s.Node), image.AllBrokers} {
		if value, ok := img.Config(r).Get(key); ok {
			return value, true
		}
	}
	return "", false
}
