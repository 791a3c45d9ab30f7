package image

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
)

// Topic is a topic and its partitions.
type Topic struct {
	ID         kafka.TopicID
	Name       string
	Partitions pmap.Map[kafka.PartitionID, *Partition]
}

// Recovery tells whether a leader was elected uncleanly and has not yet
// recovered (KIP-704).
type Recovery int8

// The recovery states of a leader.
const (
	Recovered  Recovery = 0
	Recovering Recovery = 1
)

// Partition is the controller's state of a partition. It is never changed
// after it has become part of an image; its slices may be shared.
type Partition struct {
	Replicas []kafka.NodeID // the first is the preferred leader
	// Dirs are the replicas' directories.
	// Invariant: as long as Replicas and in the same order.
	Dirs []kafka.DirID
	ISR  []kafka.NodeID
	// Adding and Removing are the two sides of a reassignment under way.
	Adding, Removing []kafka.NodeID
	// ELR are replicas that left the ISR while it was below min.insync.replicas
	// and still hold all that was committed; LastELR is who led last when both
	// ISR and ELR became empty (KIP-966).
	ELR, LastELR []kafka.NodeID
	Leader       kafka.NodeID // kafka.NoNode: none
	LeaderEpoch  kafka.Epoch
	// Epoch counts all changes, LeaderEpoch those of the leader.
	Epoch    int32
	Recovery Recovery
	// byRule: some of Dirs follow from a registration (see placeByRule) and no
	// partition record names them.
	byRule bool
}

// HasReplica tells whether a node holds a replica.
func (p *Partition) HasReplica(node kafka.NodeID) bool { return slices.Contains(p.Replicas, node) }

// InSync tells whether a node is in the ISR.
func (p *Partition) InSync(node kafka.NodeID) bool { return slices.Contains(p.ISR, node) }

// DirOf is the directory recorded for a node's replica, and whether the node
// has one.
func (p *Partition) DirOf(node kafka.NodeID) (kafka.DirID, bool) {
	i := slices.Index(p.Replicas, node)
	if i < 0 {
		return kafka.DirID{}, false
	}
	return p.Dirs[i], true
}

// Reassigning tells whether a reassignment is under way.
func (p *Partition) Reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// PlacedByRule tells whether some directory of a partition follows from a
// registration alone (KIP-858), so that software without the rule does not know it.
// After a snapshot that is not known: then it tells whether one may.
func (i *Image) PlacedByRule(p *Partition) bool {
	return p.byRule || i.loaded && slices.ContainsFunc(p.Replicas, i.hasSeveralDirs)
}

func (s *nodeSet) hasSeveralDirs(node kafka.NodeID) bool {
	b, ok := s.brokers.Get(node)
	return ok && len(b.Dirs) > 1
}

// Equal tells whether two partitions have the same recorded state.
func (p *Partition) Equal(o *Partition) bool {
	return p.Leader == o.Leader && p.LeaderEpoch == o.LeaderEpoch && p.Epoch == o.Epoch && p.Recovery == o.Recovery &&
		slices.Equal(p.Replicas, o.Replicas) && slices.Equal(p.Dirs, o.Dirs) && slices.Equal(p.ISR, o.ISR) &&
		slices.Equal(p.Adding, o.Adding) && slices.Equal(p.Removing, o.Removing) &&
		slices.Equal(p.ELR, o.ELR) && slices.Equal(p.LastELR, o.LastELR)
}
