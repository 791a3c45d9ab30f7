package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
)

// fetchKey names a partition of a fetch, by name or by id as its requests do.
type fetchKey struct {
	topic     string
	id        kafka.TopicID
	partition kafka.PartitionID
}

// fetchPart is one partition to fetch: what was asked, where it is read, and what
// an incremental session answered last.
type fetchPart struct {
	key fetchKey
	fetchWish

	// found is the replica to read from; nil: to be looked for.
	found *partitions.Partition
	// name is the topic's, once it was found by its id.
	name string
	// watch fires when there may be something else to read in found.
	watch await.Watch
	left  bool // the set has it no more

	// said: there was an answer since the partition was added, or its last
	// answer was an error and the next must be told in full.
	said         bool
	hw, logStart kafka.Offset

	// queued: it stands in a fetchQueue, between the two.
	queued              bool
	previous, following *fetchPart
}

// fetchWish is what a request wants of a partition.
type fetchWish struct {
	currentEpoch     kafka.Epoch
	offset           kafka.Offset
	lastFetchedEpoch kafka.Epoch
	followerStart    kafka.Offset
	followerHW       kafka.Offset
	maxBytes         int32
}

// isNews tells whether an incremental answer has to hold what was read.
func (p *fetchPart) isNews(a *fetchAnswer) bool {
	return a.records.Len > 0 || a.err != nil || a.diverging != nil || !p.said || p.hw != a.hw || p.logStart != a.logStart
}

// tell remembers what was said. A partition that had an error is looked for again
// the next time: it may have been deleted and made again.
func (p *fetchPart) tell(a *fetchAnswer) {
	p.said = a.err == nil && a.diverging == nil
	p.hw, p.logStart = a.hw, a.logStart
	if a.err != nil {
		p.lose()
	}
}

// lose ends the watch, and has the replica looked for at the next read.
func (p *fetchPart) lose() {
	if p.found != nil {
		p.found.Unwatch(&p.watch)
		p.found = nil
	}
}

// fetchQueue is a list of partitions, each of which stands in it once at most.
type fetchQueue struct {
	first, last *fetchPart
	n           int
}

// push adds a partition at the end, unless it stands in the queue.
func (q *fetchQueue) push(p *fetchPart) {
	if p.queued {
		return
	}
	p.queued, p.previous, p.following = true, q.last, nil
	if q.last == nil {
		q.first = p
	} else {
		q.last.following = p
	}
	q.last = p
	q.n++
}

// remove takes a partition out, if it stands in the queue.
func (q *fetchQueue) remove(p *fetchPart) {
	if !p.queued {
		return
	}
	if p.previous == nil {
		q.first = p.following
	} else {
		p.previous.following = p.following
	}
	if p.following == nil {
		q.last = p.previous
	} else {
		p.following.previous = p.previous
	}
	p.queued, p.previous, p.following = false, nil, nil
	q.n--
}

// pushAgain lets all others have their turn before p.
func (q *fetchQueue) pushAgain(p *fetchPart) {
	q.remove(p)
	q.push(p)
}
