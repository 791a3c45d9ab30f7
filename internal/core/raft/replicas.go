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
	// maxReplicas bounds the list; the one silent for longest makes room.
	maxReplicas = 4096
	// freshness is how long ago an observer may have fetched that becomes a voter.
	freshness = time.Hour
)

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

// replicas are the voters and observers that have fetched in this epoch, in
// order of their keys.
type replicas struct{ all []replica }

// reached notes a fetch at an offset. An offset that moves backwards is taken
// as it is: the replica has lost its disk (KAFKA-12181).
func (r *replicas) reached(key kafka.ReplicaKey, offset, leaderEnd kafka.Offset, now kafka.Instant) {
	x := r.entry(key, now)
	switch {
	case offset >= leaderEnd:
		x.caughtUp, x.everFull = now, true
	case offset >= x.leaderEnd && x.leaderEnd >= 0:
		x.caughtUp, x.everFull = x.fetched, true
	}
	x.end, x.fetched, x.leaderEnd = offset, now, leaderEnd
}

func (r *replicas) entry(key kafka.ReplicaKey, now kafka.Instant) *replica {
	i, found := slices.BinarySearchFunc(r.all, key, func(x replica, k kafka.ReplicaKey) int {
		return cmp.Or(cmp.Compare(x.key.Node, k.Node), x.key.Dir.Compare(k.Dir))
	})
	if found {
		return &r.all[i]
	}
	if len(r.all) >= maxReplicas {
		silent := slices.IndexFunc(r.all, func(x replica) bool { return x.fetched == r.oldest() })
		r.all = slices.Delete(r.all, silent, silent+1)
		return r.entry(key, now)
	}
	r.all = slices.Insert(r.all, i, replica{key: key, end: kafka.NoOffset, fetched: now, leaderEnd: kafka.NoOffset})
	return &r.all[i]
}

func (r *replicas) oldest() kafka.Instant {
	at := kafka.Never
	for _, x := range r.all {
		at = min(at, x.fetched)
	}
	return at
}

// find gives the entry that stands for a voter. A static voter has no
// directory; of several directories the one that fetched last counts.
func (r *replicas) find(voter kafka.ReplicaKey) (replica, bool) {
	var best replica
	found := false
	for _, x := range r.all {
		if voter.Matches(x.key) && (!found || x.fetched >= best.fetched) {
			best, found = x, true
		}
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

// forgetSilent drops observers that have not fetched for a session.
func (r *replicas) forgetSilent(voters Voters, now kafka.Instant) {
	r.all = slices.DeleteFunc(r.all, func(x replica) bool {
		return !voters.Contains(x.key) && now.Sub(x.fetched) >= observerSession
	})
}
