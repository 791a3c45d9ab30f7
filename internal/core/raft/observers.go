package raft

import (
	"cmp"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

const (
	// observerSession is how long an observer that does not fetch is listed.
	observerSession = 300 * time.Second
	// maxObservers bounds the list; the one silent for longest makes room.
	maxObservers = 4096
	// maxDirectories bounds how many directories of one node are told apart, of
	// voters and of observers.
	maxDirectories = 4
)

// observers are the replicas without a vote that have fetched. Anybody can name
// itself one, so what a fetch costs must not grow with their number: entries are
// linked in the order in which they have fetched last, and found by halving.
// The zero value is empty.
type observers struct {
	// slots hold the entries. The first one is none: it closes the ring of links,
	// its newer is the one that has been silent for longest.
	slots []observer
	byKey []int32 // places in slots, in order of keys
	free  []int32 // places in slots without an entry
}

type observer struct {
	replica
	newer, older int32 // places of the neighbours in the ring
}

func compareKeys(a, b kafka.ReplicaKey) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), a.Dir.Compare(b.Dir))
}

func (o *observers) search(key kafka.ReplicaKey) (i int, found bool) {
	return slices.BinarySearchFunc(o.byKey, key, func(place int32, k kafka.ReplicaKey) int {
		return compareKeys(o.slots[place].key, k)
	})
}

// of gives the places of all entries of a node, in order of their directories.
func (o *observers) of(node kafka.NodeID) []int32 {
	if len(o.byKey) == 0 {
		return nil // mostly, and this is asked for each voter at every fetch
	}
	first, _ := o.search(kafka.ReplicaKey{Node: node})
	n := 0
	for _, place := range o.byKey[first:] {
		if o.slots[place].key.Node != node {
			break
		}
		n++
	}
	return o.byKey[first : first+n]
}

// fetches gives the entry of an observer that fetches, a new one if need be.
func (o *observers) fetches(key kafka.ReplicaKey, now kafka.Instant) *replica {
	i, found := o.search(key)
	if !found {
		o.makeRoom(key.Node)
		i, _ = o.search(key)
		o.byKey = slices.Insert(o.byKey, i, o.place(newReplica(key, now)))
	}
	place := o.byKey[i]
	if found {
		o.unlink(place)
	}
	newest := o.slots[0].older
	o.slots[place].newer, o.slots[place].older = 0, newest
	o.slots[newest].newer, o.slots[0].older = place, place
	return &o.slots[place].replica
}

// makeRoom lets go of whoever of a node has been silent for longest when it has as
// many directories as there may be, else of all observers.
func (o *observers) makeRoom(node kafka.NodeID) {
	if mine := o.of(node); len(mine) >= maxDirectories {
		o.drop(slices.MinFunc(mine, func(a, b int32) int {
			return cmp.Compare(o.slots[a].fetched, o.slots[b].fetched)
		}))
		return
	}
	if len(o.byKey) >= maxObservers {
		o.drop(o.slots[0].newer)
	}
}

// place puts an entry into a slot, without its links.
func (o *observers) place(x replica) int32 {
	if len(o.slots) == 0 {
		o.slots = append(o.slots, observer{})
	}
	if n := len(o.free); n > 0 {
		place := o.free[n-1]
		o.free = o.free[:n-1]
		o.slots[place].replica = x
		return place
	}
	o.slots = append(o.slots, observer{replica: x})
	return int32(len(o.slots) - 1)
}

func (o *observers) unlink(place int32) {
	x := &o.slots[place]
	o.slots[x.newer].older, o.slots[x.older].newer = x.older, x.newer
}

func (o *observers) drop(place int32) {
	i, _ := o.search(o.slots[place].key)
	o.byKey = slices.Delete(o.byKey, i, i+1)
	o.unlink(place)
	o.free = append(o.free, place)
}

// take removes the entry of a key, if there is one.
func (o *observers) take(key kafka.ReplicaKey) (x replica, ok bool) {
	i, found := o.search(key)
	if !found {
		return replica{}, false
	}
	place := o.byKey[i]
	x = o.slots[place].replica
	o.drop(place)
	return x, true
}

// forgetSilent drops those that have not fetched for a session.
func (o *observers) forgetSilent(now kafka.Instant) {
	for len(o.byKey) > 0 {
		silent := o.slots[0].newer
		if now.Sub(o.slots[silent].fetched) < observerSession {
			return
		}
		o.drop(silent)
	}
}
