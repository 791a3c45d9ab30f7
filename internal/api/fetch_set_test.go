package api

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// sessionOf is a client with a session over n partitions of topic t.
type sessionOf struct {
	r     *dataRig
	topic kafka.TopicID
	id    int32
	epoch int32
	// change is made to each request.
	change func(*kmsg.FetchRequest)
}

func (r *dataRig) session(n int, change func(*kmsg.FetchRequest)) *sessionOf {
	r.t.Helper()
	t, _ := r.Manager.Image().TopicNamed("t")
	s := &sessionOf{r: r, topic: t.ID, change: change}
	var pairs []int
	for i := range n {
		pairs = append(pairs, i, 0)
	}
	s.id = (<-s.ask(0, pairs...)).SessionID
	if s.id == 0 {
		r.t.Fatal("no session")
	}
	return s
}

// ask sends the next request of the session; pairs are partitions and offsets.
func (s *sessionOf) ask(wait int32, pairs ...int) <-chan *kmsg.FetchResponse {
	var topics []kmsg.FetchRequestTopic
	if len(pairs) > 0 {
		topics = append(topics, from("t", s.topic, pairs...))
	}
	req := inSession(fetchRequest(topics...), s.id, s.epoch)
	req.MaxWaitMillis = wait
	s.change(req)
	s.epoch++
	_, answers := s.r.startFetch(req, 12)
	return answers
}

func asConsumer(*kmsg.FetchRequest) {}

func asFollower(req *kmsg.FetchRequest) { req.ReplicaID = int32(testbed.Other) }

// looks is how often a partition of topic t was looked at for an answer.
func (r *dataRig) looks(n int) float64 {
	return r.Find("t", n).Traffic().Fetches()
}

const forever = 600_000 // ms

// Rule: a wake-up costs what woke it. Of a session of many partitions only the one
// that has something is looked at, when it is woken and in the requests that
// follow.
func TestAWakeUpLooksAtWhatMoved(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 20)
	s := r.session(20, asConsumer)
	before := r.looks(0)
	for i := range 5 {
		parked := s.ask(forever, 7, i)
		r.append("t", 7, lines(batch.Options{}, "a"))
		if got := told(<-parked); got != "t7 hw="+string(rune('1'+i))+" data" {
			t.Fatalf("answer %d: %s", i, got)
		}
	}
	if n := r.looks(0) - before; n != 5 {
		t.Errorf("%v partitions were looked at for five answers about one", n)
	}
	if n := len(session(t, r, s.id).queued()); n != 1 {
		t.Errorf("%d partitions are to be looked at, of which one gave data", n)
	}
}

func session(t *testing.T, r *dataRig, id int32) *fetchSession {
	t.Helper()
	s := r.fetch.sessions.byID[id]
	if s == nil {
		t.Fatalf("no session %d", id)
	}
	return s
}

func (s *fetchSession) queued() (list []kafka.PartitionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect()
	for p := s.queue.first; p != nil; p = p.following {
		list = append(list, p.key.partition)
	}
	return list
}

// Rule: what fired between two requests of a session is found by the next one,
// and what fired twice is found once.
func TestWhatMovesBetweenRequestsIsFound(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 5)
	s := r.session(5, asConsumer)
	if got := session(t, r, s.id).queued(); len(got) != 0 {
		t.Errorf("%v are to be looked at before anything has moved", got)
	}
	r.append("t", 3, lines(batch.Options{}, "a"))
	r.append("t", 1, lines(batch.Options{}, "b"))
	r.append("t", 3, lines(batch.Options{}, "c"))
	if got := session(t, r, s.id).queued(); !slices.Equal(got, []kafka.PartitionID{3, 1}) {
		t.Errorf("%v are to be looked at", got)
	}
	if got := told(<-s.ask(forever)); got != "t3 hw=2 data, t1 hw=1 data" {
		t.Error(got)
	}
}

// Rule: what the limits of an answer left out is looked at again, without another
// append to wake it.
func TestWhatTheLimitsLeaveOutComesNext(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 3)
	s := r.session(3, func(req *kmsg.FetchRequest) { req.MaxBytes = 1 })
	for n := range 3 {
		r.append("t", n, lines(batch.Options{}, "a"))
	}
	want := []string{"t0 hw=1 data, t1 hw=1, t2 hw=1", "t1 hw=1 data", "t2 hw=1 data"}
	consumed := []int{}
	for i, answer := range want {
		if got := told(<-s.ask(forever, consumed...)); got != answer {
			t.Errorf("answer %d: %s", i, got)
		}
		consumed = []int{i, 1}
	}
}

// Rule: a fetch is answered at once when the next one of its session arrives,
// which a follower sends when it has a partition more.
func TestAFetchGivesWayToTheNextOfItsSession(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 2)
	s := r.session(1, asConsumer)
	first := s.ask(forever)
	if len(first) > 0 {
		t.Fatal("answered without anything to say")
	}
	second := s.ask(forever, 1, 0)
	if got := told(<-first); got != "" {
		t.Errorf("the first one says %s", got)
	}
	r.append("t", 1, lines(batch.Options{}, "a"))
	if got := told(<-second); got != "t1 hw=1 data" {
		t.Errorf("the second one says %s", got)
	}
}

// Rule: a session that ends answers the fetch that is parked in it, and leaves no
// watch behind.
func TestAnEndedSessionLetsGo(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 3)
	s := r.session(3, asConsumer)
	ended := session(t, r, s.id)
	parked := s.ask(forever)
	r.fetch.sessions.close(s.id)
	<-parked
	r.append("t", 1, lines(batch.Options{}, "a"))
	if got := ended.queued(); len(got) != 0 {
		t.Errorf("%v still wake a session that has ended", got)
	}
	if n := r.Timers.Len(); n != 0 {
		t.Errorf("%d deadlines are left", n)
	}
}

// Rule: a partition that was forgotten wakes nobody.
func TestAForgottenPartitionIsLeftAlone(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 2)
	s := r.session(2, asConsumer)
	s.change = func(req *kmsg.FetchRequest) {
		req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", TopicID: s.topic, Partitions: []int32{1}}}
	}
	<-s.ask(0)
	s.change = asConsumer
	parked := s.ask(forever)
	r.append("t", 1, lines(batch.Options{}, "a"))
	if len(parked) > 0 {
		t.Errorf("woken by what was forgotten: %s", told(<-parked))
	}
	r.append("t", 0, lines(batch.Options{}, "a"))
	if got := told(<-parked); got != "t0 hw=1 data" {
		t.Error(got)
	}
}

// Rule: a client that reads in another way than before is told what it sees then,
// without an append between.
func TestAnotherIsolationSeesAnotherEnd(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 2)
	s := r.session(2, func(req *kmsg.FetchRequest) { req.IsolationLevel = readCommitted })
	r.append("t", 1, lines(batch.Options{Transactional: true, Producer: &batch.Producer{ID: 5}}, "undecided"))
	if got := told(<-s.ask(0)); got != "t1 hw=1" {
		t.Fatalf("read_committed: %s", got)
	}
	s.change = asConsumer
	if got := told(<-s.ask(forever)); got != "t1 hw=1 data" {
		t.Errorf("read_uncommitted: %s", got)
	}
}

// Rule: a follower whose session goes on is alive for all of its partitions, also
// for those that nothing was said about for long. So when a record comes to one of
// them, the leader does not take it for left behind.
func TestAQuietFollowerIsNotLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proposed := proposals{}
		r := newDataRigWith(t, func(b *testbed.Bed) { b.ISR = &proposed })
		id := r.AddTopic("t")
		for n := range 2 {
			r.Apply(testbed.Partition(id, n, testbed.Self, testbed.Other))
		}
		r.Publish()
		s := r.session(2, asFollower)
		for range 10 * 60 * 2 { // ten minutes
			<-s.ask(500)
		}
		if _, err := r.Find("t", 0).Append(lines(batch.Options{}, "a"), false); err != nil {
			t.Fatal(err)
		}
		r.Manager.Tick()
		if proposed.n > 0 {
			t.Error("the follower was to leave the ISR")
		}
		time.Sleep(time.Minute) // without a fetch
		r.Manager.Tick()
		if proposed.n != 1 {
			t.Errorf("%d proposals after a minute of silence", proposed.n)
		}
	})
}

type proposals struct{ n int }

func (p *proposals) Propose(kafka.TopicIDPartition, *replica.Proposal) { p.n++ }

// Rule: a replica that is deleted while it is watched answers, and one of a new
// topic with the same name is found.
func TestASessionFindsAReplicaThatComesBack(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	s := r.session(1, asConsumer)
	parked := s.ask(forever)
	r.deleteTopic(s.topic)
	p := (<-parked).Topics[0].Partitions[0]
	codeIs(t, "deleted", p.ErrorCode, kerr.UnknownTopicOrPartition)
	r.Topic("t", 1)
	if got := told(<-s.ask(0)); got != "t0 hw=0" {
		t.Errorf("made again: %s", got)
	}
	parked = s.ask(forever)
	r.append("t", 0, lines(batch.Options{}, "a"))
	if got := told(<-parked); got != "t0 hw=1 data" {
		t.Errorf("written to: %s", got)
	}
}
