package api

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// inSession makes a request one of a session.
func inSession(req *kmsg.FetchRequest, id, epoch int32) *kmsg.FetchRequest {
	req.SessionID, req.SessionEpoch = id, epoch
	return req
}

// An incremental answer holds only what has news.
func TestSessionTellsNews(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 3)
	first := r.fetched(inSession(fetchRequest(from("t", id, 0, 0, 1, 0, 2, 0)), 0, 0), 12)
	if first.SessionID <= 0 || told(first) != "t0 hw=0, t1 hw=0, t2 hw=0" {
		t.Fatalf("session %d: %s", first.SessionID, told(first))
	}
	epoch := int32(0)
	f := func(rule, want string, topics ...kmsg.FetchRequestTopic) {
		t.Helper()
		epoch++
		resp := r.fetched(inSession(fetchRequest(topics...), first.SessionID, epoch), 12)
		codeIs(t, rule, resp.ErrorCode, kerr.None)
		if got := told(resp); got != want || resp.SessionID != first.SessionID {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
	f("nothing new", "")
	r.append("t", 1, lines(batch.Options{}, "a"))
	f("data", "t1 hw=1 data")
	f("data that was not consumed comes again", "t1 hw=1 data")
	f("consumed", "", from("t", id, 1, 1))
	f("an error", "t2 OFFSET_OUT_OF_RANGE", from("t", id, 2, 9))
	f("an error is told each time", "t2 OFFSET_OUT_OF_RANGE")
	f("the first success after an error is told", "t2 hw=0", from("t", id, 2, 0))
	f("and then no more", "")
	if _, err := r.Find("t", 1).DeleteBefore(1); err != nil {
		t.Fatal(err)
	}
	f("the log start moved", "t1 hw=1")
	f("a new partition", "u0 UNKNOWN_TOPIC_OR_PARTITION", from("u", kafka.TopicID{}, 0, 0))
	forget := inSession(fetchRequest(), first.SessionID, epoch+1)
	forget.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "u", Partitions: []int32{0}}}
	if got := told(r.fetched(forget, 12)); got != "" {
		t.Errorf("forgotten: %q", got)
	}
}

func TestSessionErrors(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	open := func(version int16) int32 {
		return r.fetched(inSession(fetchRequest(from("t", id, 0, 0)), 0, 0), version).SessionID
	}
	f := func(rule string, version int16, session, epoch int32, want kerr.Code) {
		t.Helper()
		resp := r.fetched(inSession(fetchRequest(), session, epoch), version)
		codeIs(t, rule, resp.ErrorCode, want)
		if want != kerr.None && len(resp.Topics) > 0 {
			t.Errorf("%s: partitions beside a top-level error", rule)
		}
	}
	byName, byID := open(12), open(13)
	f("unknown session", 12, byName+1, 1, kerr.FetchSessionIdNotFound)
	f("an epoch is skipped", 12, byName, 2, kerr.InvalidFetchSessionEpoch)
	f("the next epoch", 12, byName, 1, kerr.None)
	f("the epoch again", 12, byName, 1, kerr.InvalidFetchSessionEpoch)
	f("ids in a session of names", 13, byName, 2, kerr.FetchSessionTopicIdError)
	f("names in a session of ids", 12, byID, 1, kerr.FetchSessionTopicIdError)
	f("closed by a full fetch without one", 12, byName, -1, kerr.None)
	f("it is gone", 12, byName, 2, kerr.FetchSessionIdNotFound)
	if again := r.fetched(inSession(fetchRequest(from("t", id, 0, 0)), byID, 0), 13); again.SessionID == byID || again.SessionID == 0 {
		t.Errorf("a new session in place of %d is %d", byID, again.SessionID)
	}
}

func TestSessionEpochWraps(t *testing.T) {
	s := &fetchSession{epoch: math.MaxInt32}
	if err := s.step(math.MaxInt32); err != nil || s.epoch != 1 {
		t.Errorf("epoch %d after the last, %v", s.epoch, err)
	}
}

// Partitions that gave data move behind the others, so that a limit of one batch
// a fetch serves each in turn.
func TestSessionIsFair(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 3)
	for n := range 3 {
		for range 4 {
			r.append("t", n, lines(batch.Options{}, "value"))
		}
	}
	next := map[int32]int{}
	var order []int32
	session, epoch := int32(0), int32(0)
	topic := from("t", id, 0, 0, 1, 0, 2, 0)
	for range 6 {
		req := inSession(fetchRequest(topic), session, epoch)
		req.MaxBytes = 1
		resp := r.fetched(req, 12)
		session, epoch = resp.SessionID, epoch+1
		topic = from("t", id)
		for _, p := range resp.Topics[0].Partitions {
			if len(p.RecordBatches) == 0 {
				continue
			}
			order = append(order, p.Partition)
			next[p.Partition]++
			topic = from("t", id, int(p.Partition), next[p.Partition])
		}
	}
	if fmt.Sprint(order) != "[0 1 2 0 1 2]" {
		t.Errorf("served in the order %v", order)
	}
}

// A topic that is made again while it stands in a session is not the same
// (KIP-516); other partitions go on.
func TestSessionSeesARebornTopic(t *testing.T) {
	r := newDataRig(t)
	dead, other := r.Topic("t", 1), r.Topic("u", 1)
	first := r.fetched(inSession(fetchRequest(from("t", dead, 0, 0), from("u", other, 0, 0)), 0, 0), 13)
	r.Apply(&metarec.RemoveTopicRecord{TopicId: dead})
	r.Topic("t", 1)
	r.append("u", 0, lines(batch.Options{}, "a"))
	resp := r.fetched(inSession(fetchRequest(), first.SessionID, 1), 13)
	codeIs(t, "top level", resp.ErrorCode, kerr.None)
	if got := told(resp); got != "0 INCONSISTENT_TOPIC_ID, 0 hw=1 data" {
		t.Error(got)
	}
	fresh := r.fetched(fetchRequest(from("t", dead, 0, 0)), 13)
	codeIs(t, "a session-less fetch by the dead id", fresh.Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicId)
}

// asks is a fetch of a consumer, or of a follower.
func asks(follower bool) *fetchWait {
	w := &fetchWait{reader: partitions.Consumer}
	if follower {
		w.reader.Follower = testbed.Other
	}
	return w
}

func TestSessionSlots(t *testing.T) {
	s := &fetchSessions{Slots: 2}
	now := time.Unix(1000, 0)
	open := func(size int, privileged bool) *fetchSession {
		return s.open(make([]fetchPart, size), true, asks(privileged), now)
	}
	small, big := open(1, false), open(5, false)
	if small == nil || big == nil {
		t.Fatal("a free slot was refused")
	}
	if open(9, false) != nil {
		t.Error("a young session was thrown out")
	}
	now = now.Add(sessionIdle + time.Second)
	for _, id := range []int32{small.id, big.id} {
		if _, err := s.find(id, true, now); err != nil {
			t.Fatal(err)
		}
	}
	if open(1, false) != nil {
		t.Error("one that is no smaller was thrown out")
	}
	follower := open(1, true)
	if follower == nil {
		t.Fatal("a follower finds no slot")
	}
	if _, err := s.find(small.id, true, now); err != kerr.FetchSessionIdNotFound {
		t.Errorf("the smallest consumer stays: %v", err)
	}
	now = now.Add(sessionIdle + time.Second)
	if _, err := s.find(follower.id, true, now); err != nil {
		t.Fatal(err)
	}
	if open(1, false) == nil {
		t.Error("an idle session keeps its slot")
	}
	if _, err := s.find(big.id, true, now); err != kerr.FetchSessionIdNotFound {
		t.Error("not the idle session was thrown out")
	}
	if s.len() != 2 {
		t.Errorf("%d sessions", s.len())
	}
}

// Without a free slot a fetch is answered in full, with session id 0.
func TestSessionDeclined(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{}, "a"))
	for range 3 {
		r.fetched(inSession(fetchRequest(from("t", id, 0, 0)), 0, 0), 12)
	}
	resp := r.fetched(inSession(fetchRequest(from("t", id, 0, 0)), 0, 0), 12)
	if resp.SessionID != 0 || told(resp) != "t0 hw=1 data" {
		t.Errorf("session %d: %s", resp.SessionID, told(resp))
	}
}

// partsFrom are n partitions of a topic, from the first number on.
func partsFrom(first, n int) []fetchPart {
	list := make([]fetchPart, n)
	for i := range list {
		list[i].key = fetchKey{topic: "t", partition: kafka.PartitionID(first + i)}
	}
	return list
}

// However many sessions there are and however they grow, what they hold is
// bounded; what goes makes room.
func TestSessionsAreBounded(t *testing.T) {
	s := &fetchSessions{Slots: 1000}
	now := time.Unix(1000, 0)
	if s.open(partsFrom(0, maxSessionParts+1), true, asks(false), now) != nil {
		t.Error("a session beyond its bound")
	}
	var last *fetchSession
	for range maxSessionPartTotal / maxSessionParts {
		if last = s.open(partsFrom(0, maxSessionParts-1), true, asks(false), now); last == nil {
			t.Fatal("refused within the bounds")
		}
	}
	f := func(rule string, want, by int, ok bool) {
		t.Helper()
		if got := s.resize(last, by); got != ok || last.size != want {
			t.Errorf("%s: %v, size %d", rule, got, last.size)
		}
	}
	f("to its own bound", maxSessionParts, 1, true)
	f("beyond it", maxSessionParts, 1, false)
	f("back", 1, 1-maxSessionParts, true)
	small := s.open(partsFrom(0, maxSessionParts-1), true, asks(false), now)
	if small == nil || s.total > maxSessionPartTotal {
		t.Fatalf("%d partitions in all", s.total)
	}
	if s.open(partsFrom(0, maxSessionParts), true, asks(false), now) != nil || s.total > maxSessionPartTotal {
		t.Errorf("%d partitions in all", s.total)
	}
	s.close(small.id)
	f("room that was given back", maxSessionParts-1, maxSessionParts-2, true)
	s.close(last.id)
	f("after the end", maxSessionParts-1, -5, false)
	now = now.Add(sessionIdle + time.Second)
	if s.open(partsFrom(0, maxSessionParts), true, asks(false), now) == nil || s.total > maxSessionPartTotal {
		t.Errorf("idle sessions keep their room, %d partitions in all", s.total)
	}
}

// An incremental fetch that would make the session too big ends it, which the
// client learns by session id 0.
func TestASessionThatGrowsTooBigEnds(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{}, "a"))
	first := r.fetched(inSession(fetchRequest(from("t", id, 0, 0)), 0, 0), 12)
	more := []int{0, 0}
	for n := range maxSessionParts {
		more = append(more, 1+n, 0)
	}
	grown := r.fetched(inSession(fetchRequest(from("t", id, more...)), first.SessionID, 1), 12)
	codeIs(t, "the fetch that is too much", grown.ErrorCode, kerr.None)
	if grown.SessionID != 0 || len(grown.Topics[0].Partitions) != maxSessionParts+1 {
		t.Errorf("session %d, %d partitions", grown.SessionID, len(grown.Topics[0].Partitions))
	}
	gone := r.fetched(inSession(fetchRequest(), first.SessionID, 2), 12)
	codeIs(t, "the session afterwards", gone.ErrorCode, kerr.FetchSessionIdNotFound)
}

// Forgotten partitions give their room back.
func TestForgottenPartitionsAreNotCounted(t *testing.T) {
	s := &fetchSessions{Slots: 1}
	session := s.open(partsFrom(0, 3), false, asks(false), time.Unix(1000, 0))
	req := kmsg.NewPtrFetchRequest()
	req.SessionID, req.SessionEpoch = session.id, 1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = "t"
	for _, n := range []int32{2, 3, 3} { // one known, one new and named twice
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition = n
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = []kmsg.FetchRequestTopic{topic}
	req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", Partitions: []int32{0, 9}}}
	if _, err := s.resume(session, req, asks(false), time.Unix(1000, 0)); err != nil {
		t.Fatal(err)
	}
	if session.size != 3 || s.total != 3 || len(session.parts) != 3 {
		t.Errorf("size %d of %d, holding %d", session.size, s.total, len(session.parts))
	}
}
