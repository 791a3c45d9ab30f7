package image

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Values of a PartitionChangeRecord that leave a field as it is.
const (
	UnchangedLeader   = -2
	UnchangedRecovery = -1
)

// partitionOf reads a PartitionRecord.
func partitionOf(r *metarec.PartitionRecord) (*Partition, error) {
	p := &Partition{
		Replicas:    nodes(r.Replicas),
		Adding:      nodes(r.AddingReplicas),
		Removing:    nodes(r.RemovingReplicas),
		ELR:         nodes(r.EligibleLeaderReplicas),
		LastELR:     nodes(r.LastKnownElr),
		Leader:      nodeID(r.Leader),
		LeaderEpoch: kafka.Epoch(r.LeaderEpoch),
		Epoch:       r.PartitionEpoch,
		Recovery:    Recovery(r.LeaderRecoveryState),
	}
	if p.ISR = p.Replicas; !slices.Equal(r.Isr, r.Replicas) {
		p.ISR = nodes(r.Isr)
	}
	if err := checkRecovery(r.LeaderRecoveryState); err != nil {
		return nil, err
	}
	if allMigrating(r.Directories) {
		p.Dirs = migrating(len(p.Replicas))
		return p, nil
	}
	p.Dirs = slices.Clone(r.Directories)
	return p, p.checkDirs()
}

// With gives the partition after a change: fields that are present replace,
// the leader epoch rises with every leader named, the partition epoch always.
func (p *Partition) With(r *metarec.PartitionChangeRecord) (*Partition, error) {
	next := *p
	next.Epoch++
	replace(&next.Replicas, r.Replicas)
	replace(&next.ISR, r.Isr)
	replace(&next.Adding, r.AddingReplicas)
	replace(&next.Removing, r.RemovingReplicas)
	replace(&next.ELR, r.EligibleLeaderReplicas)
	replace(&next.LastELR, r.LastKnownElr)
	next.shareISR()
	if r.Leader != UnchangedLeader {
		next.Leader = nodeID(r.Leader)
		next.LeaderEpoch++
	}
	if r.LeaderRecoveryState != UnchangedRecovery {
		if err := checkRecovery(r.LeaderRecoveryState); err != nil {
			return nil, err
		}
		next.Recovery = Recovery(r.LeaderRecoveryState)
	}
	next.replaceDirs(p, r.Directories)
	return &next, next.checkDirs()
}

// replaceDirs takes the directories of a change. Without any, those of before
// stay; if none was known, the new replicas' are not known either (KAFKA-16583).
func (p *Partition) replaceDirs(old *Partition, dirs []kafka.DirID) {
	switch {
	case dirs != nil && allMigrating(dirs):
		p.Dirs, p.byRule = migrating(len(p.Replicas)), false
	case dirs != nil:
		p.Dirs, p.byRule = slices.Clone(dirs), false
	case len(old.Replicas) != len(p.Replicas) && allMigrating(old.Dirs):
		p.Dirs = migrating(len(p.Replicas))
	}
}

func (p *Partition) checkDirs() error {
	if len(p.Dirs) != len(p.Replicas) {
		return fmt.Errorf("%d directories for %d replicas", len(p.Dirs), len(p.Replicas))
	}
	return nil
}

// shareISR keeps one list where ISR and replicas are equal, as they mostly are.
func (p *Partition) shareISR() {
	if slices.Equal(p.ISR, p.Replicas) {
		p.ISR = p.Replicas
	}
}

func checkRecovery(state int8) error {
	if state != int8(Recovered) && state != int8(Recovering) {
		return fmt.Errorf("leader recovery state %d does not exist", state)
	}
	return nil
}

// replace sets a list that a change names; an empty one that is not nil clears.
func replace(list *[]kafka.NodeID, ids []int32) {
	if ids != nil {
		*list = nodes(ids)
	}
}

// nodeID names a node as records do.
func nodeID(id int32) kafka.NodeID { return kafka.NodeID(id) }

func nodes(ids []int32) []kafka.NodeID {
	if len(ids) == 0 {
		return nil
	}
	out := make([]kafka.NodeID, len(ids))
	for i, id := range ids {
		out[i] = kafka.NodeID(id)
	}
	return out
}

func allMigrating(dirs []kafka.DirID) bool {
	for _, d := range dirs {
		if d != kafka.DirMigrating {
			return false
		}
	}
	return true
}

// manyMigrating backs the lists of partitions without known directories.
var manyMigrating [16]kafka.DirID

func migrating(n int) []kafka.DirID {
	if n <= len(manyMigrating) {
		return manyMigrating[:n:n]
	}
	return make([]kafka.DirID, n)
}
