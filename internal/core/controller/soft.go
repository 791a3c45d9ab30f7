package controller

import (
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// Settings are the active controller's own static settings. Whichever
// controller is active uses its own.
type Settings struct {
	Node      kafka.NodeID
	ClusterID string

	SessionTimeout time.Duration // broker.session.timeout.ms
	// AssignmentWait is how long a broker of other software is kept fenced for
	// want of directory assignments: ottla.directory.assignment.wait.ms.
	AssignmentWait time.Duration

	DefaultPartitions  int32 // num.partitions
	DefaultReplication int16 // default.replication.factor
	MinInsyncReplicas  int   // min.insync.replicas
	UncleanElection    bool  // unclean.leader.election.enable
	DeleteTopics       bool  // delete.topic.enable

	// Supported are the features this node supports, metadata.version among
	// them.
	Supported []image.VersionRange
	// KRaftVersion is the finalized level of kraft.version, which lives in the
	// quorum and not in the image; nil means 0.
	KRaftVersion func() int16
	// Voters are the ids of the quorum's voters; nil means this node alone.
	Voters func() []kafka.NodeID

	// MutationWindow is controller.quota.window.num times
	// controller.quota.window.size.seconds: the quota for creating and deleting
	// partitions can be saved up for so long.
	MutationWindow time.Duration

	Tokens TokenSettings

	Keys Keys
}

// Keys is what the controller must know about configuration keys.
type Keys interface {
	// Check tells why the values of a resource cannot stand together, as a
	// kerr.InvalidConfig that names key and value, or returns nil. It is asked
	// for topics, groups and client metrics.
	Check(resource image.Resource, values map[string]string) error
	// Known tells whether a key is one of this release's.
	Known(t image.ResourceType, key string) bool
	// List gives the default of a key whose value is a list, and whether the
	// key is of that kind.
	List(t image.ResourceType, key string) (value string, isList bool)
}

func (s *Settings) kraftVersion() int16 {
	if s.KRaftVersion == nil {
		return 0
	}
	return s.KRaftVersion()
}

func (s *Settings) voters() []kafka.NodeID {
	if s.Voters == nil {
		return []kafka.NodeID{s.Node}
	}
	return s.Voters()
}

// Soft is what the active controller has beside the image: its settings, its
// source of chance and what it remembers of heartbeats. It is not in the log;
// a new active controller begins anew with Activate. It belongs to whoever
// runs the decisions, one at a time. Decisions only read it (and draw from
// Rand); what they change they leave to Decision.Then.
type Soft struct {
	*Settings
	Rand *rand.Rand
	Live Liveness

	suspects suspicions
	// spent are the quotas that somebody has taken from.
	spent map[quotaTarget]bucket
}

// NewSoft makes the soft state of a controller that becomes active.
func NewSoft(settings *Settings, random *rand.Rand) *Soft {
	return &Soft{
		Settings: settings, Rand: random, Live: Liveness{beats: map[kafka.NodeID]beat{}},
		suspects: suspicions{since: map[kafka.NodeID]kafka.Instant{}},
		spent:    map[quotaTarget]bucket{},
	}
}

// newID draws an id that is not reserved and whose text does not begin with a
// dash, which tools would take for an option.
func (s *Soft) newID() kafka.UUID {
	for {
		var id kafka.UUID
		for i := 0; i < len(id); i += 8 {
			word := s.Rand.Uint64()
			for j := range 8 {
				id[i+j] = byte(word >> (8 * j))
			}
		}
		// Version 4, variant 1 of RFC 9562.
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !id.Reserved() && id.String()[0] != '-' {
			return id
		}
	}
}
