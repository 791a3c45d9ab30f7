package partitions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// Place is a partition by its name and by its id.
type Place struct {
	Name kafka.TopicPartition
	ID   kafka.TopicIDPartition
}

// OfflineIn lists the replicas of this broker that are offline and that metadata places
// in a directory for which in holds, ordered by name.
func (m *Manager) OfflineIn(in func(recorded kafka.DirID) bool) []Place {
	var list []Place
	img := m.Image()
	for _, p := range m.All() {
		_, part, ok := img.PartitionByID(p.ID)
		if !ok {
			continue
		}
		if dir, assigned := part.DirOf(m.cfg.Self); assigned && in(dir) && p.Status().Offline {
			list = append(list, Place{p.Name, p.ID})
		}
	}
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Name.Topic, b.Name.Topic), cmp.Compare(a.Name.Partition, b.Name.Partition))
	})
	return list
}

// LastOf picks the partitions of which nobody but a broker is in ISR or ELR: nobody else
// can lead them without loss.
func LastOf(img *image.Image, self kafka.NodeID, list []Place) []Place {
	return slices.DeleteFunc(slices.Clone(list), func(at Place) bool {
		_, part, ok := img.PartitionByID(at.ID)
		return !ok || !alone(part, self)
	})
}

// GivenUp tells whether the metadata has given a broker's replicas up: they are recorded
// as lost, and it leads none of them and is in no ISR, unless it was the last one there,
// whose place stays (KIP-858). What is gone or assigned elsewhere counts as given up.
func GivenUp(img *image.Image, self kafka.NodeID, list []Place) bool {
	return !slices.ContainsFunc(list, func(at Place) bool {
		_, part, ok := img.PartitionByID(at.ID)
		if !ok {
			return false
		}
		dir, assigned := part.DirOf(self)
		return assigned && (dir != kafka.DirLost || part.Leader == self || part.InSync(self) && len(part.ISR) > 1)
	})
}

// Recorded tells whether metadata knows where replicas of this broker lie.
func (m *Manager) Recorded(img *image.Image, replicas []kafka.TopicIDPartition) bool {
	return !slices.ContainsFunc(replicas, func(id kafka.TopicIDPartition) bool {
		p, err := m.ByID(id)
		_, part, there := img.PartitionByID(id)
		if err != nil || !there {
			return false // it is gone
		}
		dir, assigned := part.DirOf(m.cfg.Self)
		s := p.Status()
		return assigned && !s.Offline && dir != s.Dir
	})
}
