package image

import (
	"iter"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
)

// nodeSet is the brokers and controllers of a cluster.
type nodeSet struct {
	brokers     pmap.Map[kafka.NodeID, *Broker]
	controllers pmap.Map[kafka.NodeID, *Controller]
	// dirs says which broker registered a directory.
	dirs pmap.Map[kafka.DirID, kafka.NodeID]
}

var noNodes = nodeSet{
	brokers:     pmap.Ordered[kafka.NodeID, *Broker](),
	controllers: pmap.Ordered[kafka.NodeID, *Controller](),
	dirs:        pmap.By[kafka.DirID, kafka.NodeID](kafka.DirID.Compare),
}

// Brokers are all registrations of brokers, by id.
func (s *nodeSet) Brokers() pmap.Map[kafka.NodeID, *Broker] { return s.brokers }

// Controllers are all registrations of controllers, by id.
func (s *nodeSet) Controllers() pmap.Map[kafka.NodeID, *Controller] { return s.controllers }

// Broker finds the registration of a broker.
func (s *nodeSet) Broker(id kafka.NodeID) (*Broker, bool) { return s.brokers.Get(id) }

// Controller finds the registration of a controller.
func (s *nodeSet) Controller(id kafka.NodeID) (*Controller, bool) { return s.controllers.Get(id) }

// Active tells whether a node is a broker that may lead.
func (s *nodeSet) Active(id kafka.NodeID) bool {
	b, ok := s.brokers.Get(id)
	return ok && b.Active()
}

// Usable walks the brokers that may be given new replicas: registered, not
// leaving, with a directory that takes them. Fenced ones count.
func (s *nodeSet) Usable() iter.Seq[*Broker] {
	return func(yield func(*Broker) bool) {
		for _, b := range s.brokers.All() {
			if !b.ShuttingDown && !b.AllCordoned() && !yield(b) {
				return
			}
		}
	}
}

// DirOwner is the broker that registered a directory.
func (s *nodeSet) DirOwner(dir kafka.DirID) (kafka.NodeID, bool) { return s.dirs.Get(dir) }

// OnlineDir tells whether a node's replica recorded in dir may be used.
func (s *nodeSet) OnlineDir(node kafka.NodeID, dir kafka.DirID) bool {
	b, ok := s.brokers.Get(node)
	return ok && b.Online(dir)
}

// Offline walks the replicas of a partition that clients cannot use through a
// listener: the broker is not registered or fenced, lacks the listener, or
// the replica's directory is offline. An empty listener is not asked for.
func (s *nodeSet) Offline(p *Partition, listener string) iter.Seq[kafka.NodeID] {
	return func(yield func(kafka.NodeID) bool) {
		for n, id := range p.Replicas {
			if !s.reachable(id, p.Dirs[n], listener) && !yield(id) {
				return
			}
		}
	}
}

func (s *nodeSet) reachable(id kafka.NodeID, dir kafka.DirID, listener string) bool {
	b, ok := s.brokers.Get(id)
	if !ok || b.Fenced || !b.Online(dir) {
		return false
	}
	if listener == "" {
		return true
	}
	_, ok = b.Endpoint(listener)
	return ok
}

// LeaderEndpoint is where a partition's leader listens under a listener name.
// It is missing when there is no leader, or the leader is not registered or
// lacks the listener.
func (s *nodeSet) LeaderEndpoint(p *Partition, listener string) (Endpoint, bool) {
	b, ok := s.brokers.Get(p.Leader)
	if !ok {
		return Endpoint{}, false
	}
	return b.Endpoint(listener)
}

// DirsByRule tells whether placements follow from registrations without
// records (KIP-858): there are controllers, and all say they know the rule.
func (s *nodeSet) DirsByRule() bool {
	for _, c := range s.controllers.All() {
		if !c.Names(DirsFeature) {
			return false
		}
	}
	return s.controllers.Len() > 0
}
