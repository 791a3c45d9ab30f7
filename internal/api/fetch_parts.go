package api

import "github.com/ottla/ottla/internal/base/kafka"

// fetchKey names a partition of a session, by name or by id as its requests do.
type fetchKey struct {
	topic     string
	id        kafka.TopicID
	partition kafka.PartitionID
}

// fetchPart is one partition to fetch: what was asked, and what an incremental
// session answered last.
type fetchPart struct {
	key              fetchKey
	currentEpoch     kafka.Epoch
	offset           kafka.Offset
	lastFetchedEpoch kafka.Epoch
	followerStart    kafka.Offset
	followerHW       kafka.Offset
	maxBytes         int32

	// name is the topic's, once it was found by its id.
	name string
	// origin is the session's own copy of this one.
	origin *fetchPart

	// said: there was an answer since the partition was added, or its last
	// answer was an error and the next must be told in full.
	said                bool
	hw, logStart        kafka.Offset
	previous, following *fetchPart
}

// ask takes over what a request wants of the partition.
func (p *fetchPart) ask(want *fetchPart) {
	p.currentEpoch, p.offset, p.lastFetchedEpoch = want.currentEpoch, want.offset, want.lastFetchedEpoch
	p.followerStart, p.followerHW, p.maxBytes = want.followerStart, want.followerHW, want.maxBytes
}

// worthTelling decides whether an incremental answer holds the partition, and
// remembers what was said.
func (p *fetchPart) worthTelling(a *fetchAnswer) bool {
	news := a.records.Len > 0 || a.err != nil || a.diverging != nil || !p.said || p.hw != a.hw || p.logStart != a.logStart
	p.said = a.err == nil && a.diverging == nil
	p.hw, p.logStart = a.hw, a.logStart
	return news
}

// fetchList holds the partitions of a session in the order in which they are
// served. They move to the end when they gave data, so that each has its turn.
type fetchList struct {
	first, last *fetchPart
	n           int
	byKey       map[fetchKey]*fetchPart
}

func (l *fetchList) len() int { return l.n }

func (l *fetchList) has(key fetchKey) bool {
	_, ok := l.byKey[key]
	return ok
}

// add appends a partition. Of two with one key the later replaces what the
// earlier asked.
func (l *fetchList) add(p *fetchPart) {
	if old, ok := l.byKey[p.key]; ok {
		old.ask(p)
		return
	}
	l.byKey[p.key] = p
	l.link(p)
}

// newFetchList makes a list of parts, which it keeps.
func newFetchList(parts []fetchPart) fetchList {
	l := fetchList{byKey: make(map[fetchKey]*fetchPart, len(parts))}
	for i := range parts {
		l.add(&parts[i])
	}
	return l
}

func (l *fetchList) remove(key fetchKey) {
	if p, ok := l.byKey[key]; ok {
		delete(l.byKey, key)
		l.unlink(p)
	}
}

// moveToEnd lets all others have their turn before p.
func (l *fetchList) moveToEnd(p *fetchPart) {
	if l.byKey[p.key] == p && l.last != p {
		l.unlink(p)
		l.link(p)
	}
}

func (l *fetchList) link(p *fetchPart) {
	p.previous, p.following = l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.following = p
	}
	l.last = p
	l.n++
}

func (l *fetchList) unlink(p *fetchPart) {
	if p.previous == nil {
		l.first = p.following
	} else {
		p.previous.following = p.following
	}
	if p.following == nil {
		l.last = p.previous
	} else {
		p.following.previous = p.previous
	}
	p.previous, p.following = nil, nil
	l.n--
}
