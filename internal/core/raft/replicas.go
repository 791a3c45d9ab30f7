package raft

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// freshness is how long ago an observer may have fetched that becomes a voter.
const freshness = time.Hour

// replica is what a leader knows of one that fetches.
type replica struct {
	key     kafka.ReplicaKey
	end     kafka.Offset // what its disk holds
	fetched kafka.Instant
	// leaderEnd is where our log ended at that fetch.
	leaderEnd kafka.Offset
	caughtUp  kafka.Instant // last time it had all we had
	everFull  bool
}

func newReplica(key kafka.ReplicaKey, now kafka.Instant) replica {
	return replica{key: key, end: kafka.NoOffset, fetched: now, leaderEnd: kafka.NoOffset}
}

// reached notes a fetch at an offset. An offset that moves backwards is taken
// as it is: the replica has lost its disk (KAFKA-12181).
func (x *replica) reached(offset, leaderEnd kafka.Offset, now kafka.Instant) {
	switch {
	case offset >= leaderEnd:
		x.caughtUp, x.everFull = now, true
	case offset >= x.leaderEnd && x.leaderEnd >= 0:
		x.caughtUp, x.everFull = x.fetched, true
	}
	x.end, x.fetched, x.leaderEnd = offset, now, leaderEnd
}

// replicas are those that have fetched in this epoch. A voter is kept apart from
// the observers, so that no number of those crowds it out.
type replicas struct {
	// voters are those that were voters when they fetched last, in order of keys.
	voters    []replica
	observers observers
}

// reached notes a fetch at an offset, of a voter or of an observer.
func (r *replicas) reached(set Voters, key kafka.ReplicaKey, offset, leaderEnd kafka.Offset, now kafka.Instant) {
	x := r.entry(set, key, now)
	x.reached(offset, leaderEnd, now)
}

// entry finds a replica where it belongs, or moves it there when it has become a
// voter, or is one no more.
func (r *replicas) entry(set Voters, key kafka.ReplicaKey, now kafka.Instant) *replica {
	i, found := r.search(key)
	votes := set.Contains(key)
	switch {
	case votes && found:
		return &r.voters[i]
	case votes:
		x, observed := r.observers.take(key)
		if !observed {
			x = newReplica(key, now)
		}
		r.admit(set, x)
		i, _ = r.search(key)
		return &r.voters[i]
	case found:
		x := r.voters[i]
		r.voters = slices.Delete(r.voters, i, i+1)
		o := r.observers.fetches(key, now)
		*o = x
		return o
	}
	return r.observers.fetches(key, now)
}

// search looks for a key among the voters.
func (r *replicas) search(key kafka.ReplicaKey) (i int, found bool) {
	return slices.BinarySearchFunc(r.voters, key, func(x replica, k kafka.ReplicaKey) int { return compareKeys(x.key, k) })
}

// admit adds a voter. It takes the place of those that have lost their vote since
// they fetched, and of a directory of the same node that is one too many.
func (r *replicas) admit(set Voters, x replica) {
	r.voters = slices.DeleteFunc(r.voters, func(old replica) bool { return !set.Contains(old.key) })
	same, silent := 0, -1
	for i, old := range r.voters {
		if old.key.Node != x.key.Node {
			continue
		}
		same++
		if silent < 0 || old.fetched < r.voters[silent].fetched {
			silent = i
		}
	}
	if same >= maxDirectories {
		r.voters = slices.Delete(r.voters, silent, silent+1)
	}
	i, _ := r.search(x.key)
	r.voters = slices.Insert(r.voters, i, x)
}

// find gives the entry that stands for a voter. A static voter has no
// directory; of several directories the one that fetched last counts.
func (r *replicas) find(voter kafka.ReplicaKey) (replica, bool) {
	var best replica
	found := false
	look := func(x replica) {
		if voter.Matches(x.key) && (!found || x.fetched >= best.fetched) {
			best, found = x, true
		}
	}
	for _, x := range r.voters {
		look(x)
	}
	for _, place := range r.observers.of(voter.Node) {
		look(r.observers.slots[place].replica)
	}
	return best, found
}

// ready tells whether an observer may become a voter: it had all there was at
// some time, has fetched of late, and holds the set of voters in effect, which
// has the offset set (KAFKA-19933).
func (r *replicas) ready(observer kafka.ReplicaKey, set kafka.Offset, now kafka.Instant) bool {
	x, ok := r.find(observer)
	return ok && x.everFull && now.Sub(x.fetched) <= freshness && x.end > set
}

func (r *replicas) end(voter kafka.ReplicaKey) kafka.Offset {
	if x, ok := r.find(voter); ok {
		return x.end
	}
	return kafka.NoOffset
}

func (r *replicas) lastFetch(voter kafka.ReplicaKey) (kafka.Instant, bool) {
	x, ok := r.find(voter)
	return x.fetched, ok
}

// without lists the replicas that have no vote, in order of their keys.
func (r *replicas) without(set Voters) []replica {
	var all []replica
	for _, x := range r.voters {
		if !set.Contains(x.key) {
			all = append(all, x)
		}
	}
	for _, place := range r.observers.byKey {
		if x := r.observers.slots[place].replica; !set.Contains(x.key) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b replica) int { return compareKeys(a.key, b.key) })
	return all
}

// countWithout is how many replicas have no vote.
func (r *replicas) countWithout(set Voters) int {
	n := len(r.observers.byKey)
	for _, x := range r.voters {
		if !set.Contains(x.key) {
			n++
		}
	}
	for _, v := range set {
		for _, place := range r.observers.of(v.Key.Node) {
			if v.Key.Matches(r.observers.slots[place].key) {
				n--
			}
		}
	}
	return n
}

// forgetSilent drops observers that have not fetched for a session.
func (r *replicas) forgetSilent(set Voters, now kafka.Instant) {
	r.voters = slices.DeleteFunc(r.voters, func(x replica) bool {
		return !set.Contains(x.key) && now.Sub(x.fetched) >= observerSession
	})
	r.observers.forgetSilent(now)
}
