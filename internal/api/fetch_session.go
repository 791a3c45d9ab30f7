package api

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
)

// fetching is what one request fetches.
type fetching struct {
	set       *fetchSet
	sessionID int32 // to answer with
	// full: all partitions are told, and not only what is news.
	full bool
	// empty: there is nothing to wait for.
	empty bool
	// before is a fetch of the same session that has to give way; nil without.
	before *fetchWait
}

// begin finds out what a request fetches: what it names, or what its session
// holds after the changes it names. w gets its turn in the set. Errors concern the
// request as a whole.
func (s *fetchSessions) begin(req *kmsg.FetchRequest, w *fetchWait, now time.Time) (fetching, error) {
	id, epoch := req.SessionID, req.SessionEpoch
	if req.Version < 7 {
		id, epoch = noSession, sessionFinal
	}
	byTopicID := req.Version >= 13
	if epoch != sessionInitial && epoch != sessionFinal {
		session, err := s.find(id, byTopicID, now)
		if err != nil {
			return fetching{}, err
		}
		return s.resume(session, req, w, now)
	}
	if id != noSession {
		s.close(id)
	}
	parts := asked(req)
	if epoch == sessionInitial && len(parts) > 0 {
		if session := s.open(parts, byTopicID, w, now); session != nil {
			return fetching{set: &session.fetchSet, sessionID: session.id, full: true}, nil
		}
	}
	return fetching{set: single(parts, byTopicID, w), full: true, empty: len(parts) == 0}, nil
}

// single makes the set of a fetch without a session. A partition that is named
// twice is answered twice.
func single(parts []fetchPart, byTopicID bool, w *fetchWait) *fetchSet {
	s := &fetchSet{byTopicID: byTopicID, single: true, turn: w}
	for i := range parts {
		s.enter(&parts[i])
	}
	return s
}

// resume takes over the changes of an incremental fetch. Where the session would
// grow beyond its bounds it ends: the client is told by session id 0, and asks in
// full next.
func (s *fetchSessions) resume(session *fetchSession, req *kmsg.FetchRequest, w *fetchWait, now time.Time) (fetching, error) {
	changes := asked(req)
	added, before, err := session.advance(req.SessionEpoch, changes, w)
	if err != nil {
		return fetching{}, err
	}
	if !s.resize(session, added) {
		s.close(session.id)
		return fetching{set: single(changes, session.byTopicID, w), full: true, before: before}, nil
	}
	more, all := session.change(changes, req.ForgottenTopics)
	s.resize(session, more-added)
	session.review(w.reader, now, s.ReviewEvery)
	return fetching{set: &session.fetchSet, sessionID: session.id, empty: all == 0, before: before}, nil
}

// advance begins an incremental fetch, and counts the partitions that are new to
// the session, those that are named twice twice.
func (s *fetchSession) advance(epoch int32, changes []fetchPart, w *fetchWait) (added int, before *fetchWait, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.step(epoch); err != nil {
		return 0, nil, err
	}
	for i := range changes {
		if _, known := s.parts[changes[i].key]; !known {
			added++
		}
	}
	return added, s.claim(w), nil
}

// change adds partitions, or changes what is asked of them, and forgets others.
// It tells by how many there are more then, and how many in all.
func (s *fetchSession) change(changes []fetchPart, forgotten []kmsg.FetchRequestForgottenTopic) (more, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.parts)
	for i := range changes {
		s.ask(&changes[i])
	}
	for i := range forgotten {
		t := &forgotten[i]
		for _, n := range t.Partitions {
			s.forget(fetchKey{t.Topic, t.TopicID, kafka.PartitionID(n)})
		}
	}
	return len(s.parts) - before, len(s.parts)
}

// ask takes over what a request wants of a partition. It is copied: the request
// may name many more that the session knows already.
func (s *fetchSession) ask(want *fetchPart) {
	if p, known := s.parts[want.key]; known {
		p.fetchWish = want.fetchWish
		s.queue.push(p)
		return
	}
	p := &fetchPart{key: want.key, fetchWish: want.fetchWish}
	s.parts[p.key] = p
	s.enter(p)
}

func (s *fetchSession) forget(key fetchKey) {
	if p, known := s.parts[key]; known {
		delete(s.parts, key)
		s.leave(p)
	}
}

// asked are the partitions that a request names.
func asked(req *kmsg.FetchRequest) []fetchPart {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	list := make([]fetchPart, 0, n)
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			list = append(list, fetchPart{
				key:       fetchKey{t.Topic, t.TopicID, kafka.PartitionID(p.Partition)},
				fetchWish: wished(req.Version, p),
			})
		}
	}
	return list
}

// wished fills in what older versions do not say.
func wished(version int16, p *kmsg.FetchRequestTopicPartition) fetchWish {
	w := fetchWish{
		currentEpoch: kafka.NoEpoch, lastFetchedEpoch: kafka.NoEpoch, followerStart: kafka.NoOffset, followerHW: math.MaxInt64,
		offset: kafka.Offset(p.FetchOffset), maxBytes: max(p.PartitionMaxBytes, 0),
	}
	if version >= 5 {
		w.followerStart = kafka.Offset(p.LogStartOffset)
	}
	if version >= 9 {
		w.currentEpoch = kafka.Epoch(p.CurrentLeaderEpoch)
	}
	if version >= 12 {
		w.lastFetchedEpoch = kafka.Epoch(p.LastFetchedEpoch)
	}
	if version >= 18 {
		w.followerHW = kafka.Offset(p.HighWatermark)
	}
	return w
}
