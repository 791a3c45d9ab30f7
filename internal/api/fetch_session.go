package api

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// fetching is what one request fetches.
type fetching struct {
	parts     []fetchPart // a copy, in the order in which they are served
	byTopicID bool
	sessionID int32 // to answer with
	// session is set for a fetch with a session; full says that all partitions
	// are told.
	session *fetchSession
	full    bool
}

// begin finds out what a request fetches: what it names, or what its session
// holds after the changes it names. Errors concern the request as a whole.
func (s *fetchSessions) begin(req *kmsg.FetchRequest, reader partitions.Reader, now time.Time) (fetching, error) {
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
		return s.resume(session, req)
	}
	if id != noSession {
		s.close(id)
	}
	f := fetching{parts: asked(req), byTopicID: byTopicID, full: true}
	if epoch == sessionInitial && len(f.parts) > 0 {
		f.session = s.open(f.parts, byTopicID, reader.Follower != kafka.NoNode, now)
		if f.session != nil {
			f.sessionID = f.session.id
			f.parts = f.session.snapshot()
		}
	}
	return f, nil
}

// resume takes over the changes of an incremental fetch. Where the session would
// grow beyond its bounds it ends: the client is told by session id 0, and asks in
// full next.
func (s *fetchSessions) resume(session *fetchSession, req *kmsg.FetchRequest) (fetching, error) {
	changes := asked(req)
	added, err := session.advance(req.SessionEpoch, changes)
	if err != nil {
		return fetching{}, err
	}
	if !s.resize(session, added) {
		s.close(session.id)
		return fetching{parts: changes, byTopicID: session.byTopicID, full: true}, nil
	}
	s.resize(session, session.change(changes, req.ForgottenTopics)-added)
	return fetching{parts: session.snapshot(), byTopicID: session.byTopicID, sessionID: session.id, session: session}, nil
}

// advance begins an incremental fetch, and counts the partitions that are new to
// the session, those that are named twice twice.
func (s *fetchSession) advance(epoch int32, changes []fetchPart) (added int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.step(epoch); err != nil {
		return 0, err
	}
	for i := range changes {
		if !s.parts.has(changes[i].key) {
			added++
		}
	}
	return added, nil
}

// change adds partitions, or changes what is asked of them, and forgets others.
// It tells by how many there are more then.
func (s *fetchSession) change(changes []fetchPart, forgotten []kmsg.FetchRequestForgottenTopic) (more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.parts.len()
	for i := range changes {
		s.parts.add(&changes[i])
	}
	for i := range forgotten {
		t := &forgotten[i]
		for _, n := range t.Partitions {
			s.parts.remove(fetchKey{t.Topic, t.TopicID, kafka.PartitionID(n)})
		}
	}
	return s.parts.len() - before
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
			list = append(list, partAsked(req.Version, t, &t.Partitions[j]))
		}
	}
	return list
}

// partAsked fills in what older versions do not say.
func partAsked(version int16, t *kmsg.FetchRequestTopic, p *kmsg.FetchRequestTopicPartition) fetchPart {
	part := fetchPart{
		key:          fetchKey{t.Topic, t.TopicID, kafka.PartitionID(p.Partition)},
		currentEpoch: kafka.NoEpoch, lastFetchedEpoch: kafka.NoEpoch, followerStart: kafka.NoOffset, followerHW: math.MaxInt64,
		offset: kafka.Offset(p.FetchOffset), maxBytes: max(p.PartitionMaxBytes, 0),
	}
	if version >= 5 {
		part.followerStart = kafka.Offset(p.LogStartOffset)
	}
	if version >= 9 {
		part.currentEpoch = kafka.Epoch(p.CurrentLeaderEpoch)
	}
	if version >= 12 {
		part.lastFetchedEpoch = kafka.Epoch(p.LastFetchedEpoch)
	}
	if version >= 18 {
		part.followerHW = kafka.Offset(p.HighWatermark)
	}
	return part
}

// snapshot copies the partitions, so that a parked fetch does not see what a
// later one changes.
func (s *fetchSession) snapshot() []fetchPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]fetchPart, 0, s.parts.len())
	for p := s.parts.first; p != nil; p = p.following {
		list = append(list, *p)
		list[len(list)-1].origin = p
	}
	return list
}

// settle picks the answers that are told, and remembers in the session what the
// client then knows. Partitions that gave data move to the end of the order.
func (f *fetching) settle(answers []fetchAnswer) []fetchAnswer {
	if f.session == nil {
		return answers
	}
	f.session.mu.Lock()
	defer f.session.mu.Unlock()
	told := answers[:0:0]
	for i := range answers {
		a := &answers[i]
		p := a.part.origin
		p.name = a.part.name
		if p.worthTelling(a) || f.full {
			told = append(told, *a)
		}
		if a.records.Len > 0 {
			f.session.parts.moveToEnd(p)
		}
	}
	return told
}
