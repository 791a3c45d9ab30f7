package image

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Endpoint is where a node listens under one listener name.
type Endpoint struct {
	Name     string
	Host     string
	Port     uint16
	Protocol int16 // Kafka's number of the security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
}

// Broker is the registration of a broker (KIP-631). It is never changed after
// it has become part of an image.
type Broker struct {
	ID          kafka.NodeID
	Epoch       kafka.BrokerEpoch
	Incarnation kafka.UUID
	Endpoints   []Endpoint     // as registered; names are unique
	Features    []VersionRange // as registered; names are unique
	Rack        *string        // nil: none
	Fenced      bool
	// ShuttingDown: it asked for a controlled shutdown. Only a new incarnation
	// clears it.
	ShuttingDown bool
	// Dirs are the online log directories, sorted; empty for a registration
	// that was made before directories were known.
	Dirs []kafka.DirID
	// Cordoned are directories that take no new replicas (KIP-1066), sorted;
	// nil means that the broker has not said.
	Cordoned []kafka.DirID
	// RecordOffset is the offset of the registration record. A broker that has
	// read this far has seen itself registered. After the load of a snapshot it
	// is the snapshot's last offset.
	RecordOffset kafka.Offset
}

// Active tells whether the broker may lead: it is unfenced and not leaving.
func (b *Broker) Active() bool { return !b.Fenced && !b.ShuttingDown }

// Online tells whether a replica recorded in dir may be used. What the
// controller does not know for certain counts as online; a registration
// without directories makes every directory online (KAFKA-16162).
func (b *Broker) Online(dir kafka.DirID) bool {
	switch {
	case dir == kafka.DirUnassigned || dir == kafka.DirMigrating:
		return true
	case dir == kafka.DirLost:
		return false
	case len(b.Dirs) == 0:
		return true
	}
	_, found := slices.BinarySearchFunc(b.Dirs, dir, compareDirs)
	return found
}

// AllCordoned tells whether no directory of the broker takes new replicas.
func (b *Broker) AllCordoned() bool {
	if len(b.Cordoned) == 0 || len(b.Dirs) == 0 {
		return false
	}
	for _, d := range b.Dirs {
		if !slices.Contains(b.Cordoned, d) {
			return false
		}
	}
	return true
}

// DefaultDir is the directory to record for a new replica on the broker: the
// only one it has, else one that says the broker will choose (KIP-858).
func (b *Broker) DefaultDir() kafka.DirID {
	switch len(b.Dirs) {
	case 0:
		return kafka.DirMigrating
	case 1:
		return b.Dirs[0]
	}
	return kafka.DirUnassigned
}

// Endpoint finds a listener by name.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) { return endpoint(b.Endpoints, listener) }

// Supports is the range of a feature that the broker registered.
func (b *Broker) Supports(feature string) VersionRange { return RangeOf(b.Features, feature) }

// Names tells whether the broker named a feature in its registration.
func (b *Broker) Names(feature string) bool {
	return slices.ContainsFunc(b.Features, func(r VersionRange) bool { return r.Name == feature })
}

// Controller is the registration of a controller (KIP-919).
type Controller struct {
	ID          kafka.NodeID
	Incarnation kafka.UUID
	Endpoints   []Endpoint
	Features    []VersionRange
}

// Endpoint finds a listener by name.
func (c *Controller) Endpoint(listener string) (Endpoint, bool) {
	return endpoint(c.Endpoints, listener)
}

// Names tells whether the controller named a feature in its registration.
func (c *Controller) Names(feature string) bool {
	return slices.ContainsFunc(c.Features, func(r VersionRange) bool { return r.Name == feature })
}

func endpoint(all []Endpoint, listener string) (Endpoint, bool) {
	for _, e := range all {
		if e.Name == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// compareDirs orders directory ids as Kafka does: by two signed halves.
func compareDirs(a, b kafka.DirID) int {
	// Flipping the sign bit of each half turns signed into unsigned order.
	a[0] ^= 0x80
	a[8] ^= 0x80
	b[0] ^= 0x80
	b[8] ^= 0x80
	return a.Compare(b)
}

func sortedDirs(dirs []kafka.DirID) []kafka.DirID {
	if len(dirs) == 0 {
		return nil
	}
	sorted := slices.Clone(dirs)
	slices.SortFunc(sorted, compareDirs)
	return sorted
}
