package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// partitionChange is the wish for another state of a partition. Targets begin
// as what is; whoever wants a change sets the target. build turns the wish into
// a record by one order of steps, so that every change, whatever asked for it,
// elects, completes reassignments and keeps the ELR in the same way.
type partitionChange struct {
	old      *image.Partition
	topic    kafka.TopicID
	id       kafka.PartitionID
	level    image.Level
	election election
	minISR   int
	elr      bool // eligible leader replicas are kept (KIP-966)
	// acceptable tells whether a replica could lead: its broker is active, and
	// the directory that holds it is online.
	acceptable func(kafka.NodeID) bool
	// lost are replicas that came back without what they had promised to hold.
	lost []kafka.NodeID

	replicas, isr, adding, removing, eligible []kafka.NodeID
	recovery                                  image.Recovery
	// dirs are directories of replicas that differ from the recorded ones.
	dirs map[kafka.NodeID]kafka.DirID
	// newDir gives the directory of a replica that is not recorded yet.
	newDir func(kafka.NodeID) kafka.DirID
}

// changeOf begins a change of a partition as img has it.
func changeOf(img *image.Image, soft *Soft, at image.Place, p *image.Partition) *partitionChange {
	return &partitionChange{
		old: p, topic: at.Topic.ID, id: at.Partition,
		level: img.Level(), minISR: minInsync(img, soft.Settings, at.Topic), elr: img.ElrEnabled(),
		election:   onlineElection(img, soft.Settings, at.Topic.Name),
		acceptable: func(n kafka.NodeID) bool { return canLead(img, p, n) },
		replicas:   p.Replicas, isr: p.ISR, adding: p.Adding, removing: p.Removing, eligible: p.ELR,
		recovery: p.Recovery, newDir: img.DefaultDir,
	}
}

// canLead tells whether a node could lead a partition as far as its broker and
// its directory go.
func canLead(img *image.Image, p *image.Partition, n kafka.NodeID) bool {
	b, ok := img.Broker(n)
	if !ok || !b.Active() {
		return false
	}
	dir, recorded := p.DirOf(n)
	return !recorded || b.Online(dir)
}

// without makes a broker acceptable to nobody and takes it out of the ISR.
func (c *partitionChange) without(broker kafka.NodeID) {
	c.isr = except(c.isr, broker)
	others := c.acceptable
	c.acceptable = func(n kafka.NodeID) bool { return n != broker && others(n) }
}

// build gives the record, or nil if nothing changes.
func (c *partitionChange) build() *metarec.PartitionChangeRecord {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId = c.topic, int32(c.id)
	c.completeReassignment()
	c.keepEligible()
	unclean := c.elect(r)
	c.bumpForLostReplica(r)
	if !c.elr || unclean {
		c.eligible = nil
	}
	set(&r.EligibleLeaderReplicas, c.old.ELR, c.eligible)
	if r.Isr == nil && (len(c.isr) > 0 || c.elr) {
		set(&r.Isr, c.old.ISR, c.isr)
	}
	c.bumpForShrunkISR(r)
	c.keepLastKnown(r)
	c.setPlacement(r)
	if c.recovery != c.old.Recovery {
		r.LeaderRecoveryState = int8(c.recovery)
	}
	if changesNothing(r) {
		return nil
	}
	return r
}

// completeReassignment ends the one under way if the target ISR holds what it
// waits for: all replicas to add and, if the set shrinks, all that stay
// (KAFKA-19975).
func (c *partitionChange) completeReassignment() {
	if len(c.adding) == 0 && len(c.removing) == 0 {
		return
	}
	isr, replicas := except(c.isr, c.removing...), except(c.replicas, c.removing...)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, c.adding) {
		return
	}
	if len(c.adding) < len(c.removing) && !containsAll(isr, replicas) {
		return
	}
	c.isr, c.replicas, c.adding, c.removing = isr, replicas, nil, nil
}

// keepEligible computes the target ELR: while the ISR is too small, those that
// left it still hold all that was committed. Who is no replica any more deletes
// what it holds, and does not count.
func (c *partitionChange) keepEligible() {
	if !c.elr {
		return
	}
	if len(c.isr) >= c.minISR {
		c.eligible = nil
		return
	}
	were := slices.Clone(c.old.ISR)
	were = append(were, except(c.old.ELR, were...)...)
	c.eligible = except(except(c.onlyReplicas(were), c.isr...), c.lost...)
}

// elect names another leader if one is due, and tells whether the choice may
// lose records.
func (c *partitionChange) elect(r *metarec.PartitionChangeRecord) (unclean bool) {
	leader, unclean := c.choose()
	if leader == c.old.Leader {
		return false
	}
	r.Leader = int32(leader)
	switch {
	case leader == kafka.NoNode:
		return false
	case unclean:
		c.isr = []kafka.NodeID{leader}
		r.Isr = image.Int32s(c.isr)
		c.recovery = image.Recovering
	case !slices.Contains(c.isr, leader): // from the ELR: clean
		c.isr = []kafka.NodeID{leader}
		c.eligible = except(c.eligible, leader)
	}
	return unclean
}

// bumpForLostReplica raises the leader epoch when a replica leaves the set, so
// that the leader stops serving it.
func (c *partitionChange) bumpForLostReplica(r *metarec.PartitionChangeRecord) {
	if r.Leader == image.UnchangedLeader && !containsAll(c.replicas, c.old.Replicas) {
		r.Leader = int32(c.old.Leader)
	}
}

// bumpForShrunkISR raises the leader epoch as old software expects (before
// KAFKA-15021).
func (c *partitionChange) bumpForShrunkISR(r *metarec.PartitionChangeRecord) {
	if c.level < image.LevelNoBumpOnShrink && r.Leader == image.UnchangedLeader &&
		r.Isr != nil && !containsAll(c.isr, c.old.ISR) {
		r.Leader = int32(c.old.Leader)
	}
}

// keepLastKnown remembers who led when nobody can any more, until somebody
// does. Who is no replica any more cannot lead again.
func (c *partitionChange) keepLastKnown(r *metarec.PartitionChangeRecord) {
	if !c.elr {
		return
	}
	last := c.onlyReplicas(c.old.LastELR)
	switch {
	case r.Leader == int32(kafka.NoNode) && len(last) == 0 && c.old.Leader != kafka.NoNode:
		last = c.onlyReplicas([]kafka.NodeID{c.old.Leader})
	case r.Leader >= 0:
		last = nil
	}
	set(&r.LastKnownElr, c.old.LastELR, last)
}

func (c *partitionChange) onlyReplicas(ids []kafka.NodeID) []kafka.NodeID {
	var left []kafka.NodeID
	for _, n := range ids {
		if slices.Contains(c.replicas, n) {
			left = append(left, n)
		}
	}
	return left
}

// setPlacement writes replicas and directories where they differ.
func (c *partitionChange) setPlacement(r *metarec.PartitionChangeRecord) {
	if c.level.HasDirectories() {
		dirs := make([]kafka.DirID, len(c.replicas))
		for i, n := range c.replicas {
			dirs[i] = c.dirOf(n)
		}
		if !slices.Equal(dirs, c.old.Dirs) {
			r.Directories = dirs
		}
	}
	set(&r.Replicas, c.old.Replicas, c.replicas)
	set(&r.RemovingReplicas, c.old.Removing, c.removing)
	set(&r.AddingReplicas, c.old.Adding, c.adding)
}

func (c *partitionChange) dirOf(n kafka.NodeID) kafka.DirID {
	if d, ok := c.dirs[n]; ok {
		return d
	}
	if d, ok := c.old.DirOf(n); ok {
		return d
	}
	return c.newDir(n)
}

// set writes a list into a record if it differs; an empty one must not be nil,
// which would mean "unchanged".
func set(field *[]int32, old, target []kafka.NodeID) {
	if !slices.Equal(old, target) {
		*field = append([]int32{}, image.Int32s(target)...)
	}
}

func changesNothing(r *metarec.PartitionChangeRecord) bool {
	return r.Isr == nil && r.Leader == image.UnchangedLeader && r.Replicas == nil && r.RemovingReplicas == nil &&
		r.AddingReplicas == nil && r.LeaderRecoveryState == image.UnchangedRecovery && r.Directories == nil &&
		r.EligibleLeaderReplicas == nil && r.LastKnownElr == nil
}

// change writes what a wish comes to and tells whether that is anything.
func (d *draft) change(c *partitionChange) bool {
	r := c.build()
	if r == nil {
		return false
	}
	d.addAt(r, c.level.Partition())
	return true
}

func except(ids []kafka.NodeID, without ...kafka.NodeID) []kafka.NodeID {
	var left []kafka.NodeID
	for _, id := range ids {
		if !slices.Contains(without, id) {
			left = append(left, id)
		}
	}
	return left
}

func containsAll(ids, wanted []kafka.NodeID) bool {
	for _, id := range wanted {
		if !slices.Contains(ids, id) {
			return false
		}
	}
	return true
}
