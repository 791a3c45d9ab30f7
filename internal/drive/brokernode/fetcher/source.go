package fetcher

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// source fetches from one broker over one connection. Publish leaves orders; all
// else belongs to its goroutine.
type source struct {
	host   *Fetcher
	key    sourceKey
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // room for one
	given  int           // replicas it was given; guarded by Fetcher.mu

	mu sync.Mutex
	// orders are changes not taken over yet: the replica to fetch, or nil to
	// stop. There is at most one for each replica of this broker.
	orders map[kafka.TopicIDPartition]*member

	members map[kafka.TopicIDPartition]*member
	resting map[kafka.TopicIDPartition]*member // those of them that are left out for a while
	held    map[kafka.TopicIDPartition]*member // and those that a quota keeps out; none is in both
	// due are the members to look at before the next request, as they are new or
	// stand elsewhere now.
	due     []kafka.TopicIDPartition
	gone    map[kafka.TopicIDPartition]string // to be taken out of the session, with the topic's name
	session session
	count   uint64 // of requests
	conn    Conn
	addr    string
	rest    pause // after a failed request
	asks    rate
}

// member is a replica that a source fetches.
type member struct {
	part *partitions.Partition
	// sent is where it stood when it was last named in a request of this session.
	sent partitions.Following
	// listed: the session has it, since the request of that number.
	listed bool
	since  uint64
	// dueNow: it is in source.due.
	dueNow bool
	rest   pause
	// caughtUp: the last answer left nothing to copy of what is committed.
	caughtUp bool

	progress // read by others
}

// progress is how a replica gets on, for those who look.
type progress struct {
	lag    atomic.Int64 // records that are committed and not here
	failed atomic.Bool  // the last answer could not be taken
}

func newSource(f *Fetcher, k sourceKey) *source {
	s := &source{
		host: f, key: k, wake: make(chan struct{}, 1), orders: map[kafka.TopicIDPartition]*member{},
		members: map[kafka.TopicIDPartition]*member{}, resting: map[kafka.TopicIDPartition]*member{},
		held: map[kafka.TopicIDPartition]*member{}, gone: map[kafka.TopicIDPartition]string{},
	}
	s.ctx, s.cancel = context.WithCancel(f.ctx)
	return s
}

// order asks the source to fetch a replica, from a new leader epoch on, or to
// stop with it.
func (s *source) order(id kafka.TopicIDPartition, m *member) {
	s.mu.Lock()
	s.orders[id] = m
	s.mu.Unlock()
	s.hurry()
}

func (s *source) hurry() {
	select {
	case s.wake <- struct{}{}:
	default: // awake already
	}
}

func (s *source) run() {
	defer s.hangUp()
	for s.ctx.Err() == nil {
		s.takeOrders()
		s.endRests(time.Now())
		s.sift()
		if len(s.members) == len(s.resting)+len(s.held) && (len(s.gone) == 0 || s.session.full()) {
			s.sleep(s.nextLook(time.Now()))
			continue
		}
		if err := s.fetch(); err != nil && s.ctx.Err() == nil {
			s.host.cfg.Log.Debug("fetch from a leader failed", "leader", int32(s.key.node), "err", err)
			s.session.broken()
			s.sleep(s.rest.begin(time.Now(), s.host.cfg.Limits.Backoff))
			continue
		}
		s.rest.over()
	}
}

// sleep waits for d, or without end if it is negative, or until something is new.
func (s *source) sleep(d time.Duration) {
	passed, stop := after(d)
	defer stop()
	select {
	case <-s.ctx.Done():
	case <-s.wake:
	case <-passed:
	}
}

// collect takes the orders; nobody else has the map afterwards.
func (s *source) collect() map[kafka.TopicIDPartition]*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) == 0 {
		return nil
	}
	orders := s.orders
	s.orders = map[kafka.TopicIDPartition]*member{}
	return orders
}

func (s *source) takeOrders() {
	for id, m := range s.collect() {
		s.remove(id)
		if m != nil {
			s.members[id] = m
			s.look(id)
		}
	}
}

// look has a member looked at before the next request.
func (s *source) look(id kafka.TopicIDPartition) {
	if m := s.members[id]; m != nil && !m.dueNow {
		m.dueNow = true
		s.due = append(s.due, id)
	}
}

// remove ends the fetching of a replica until the next order.
func (s *source) remove(id kafka.TopicIDPartition) {
	m := s.members[id]
	if m == nil {
		return
	}
	s.unlist(id, m)
	delete(s.resting, id)
	delete(s.held, id)
	delete(s.members, id)
}

func (s *source) unlist(id kafka.TopicIDPartition, m *member) {
	if m.listed {
		m.listed = false
		s.gone[id] = m.part.Name.Topic
	}
}

// request asks for all members that do not rest, or, within a session, for what
// changed. The leader may wait for so long while it has nothing.
func (s *source) request(wait time.Duration) *kmsg.FetchRequest {
	limits := &s.host.cfg.Limits
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID = int32(s.host.cfg.Self)
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(s.host.cfg.Self), int64(s.host.cfg.Epoch())
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), limits.MinBytes, limits.AnswerBytes
	req.SessionID, req.SessionEpoch = s.session.id, s.session.epoch
	if s.session.full() {
		clear(s.gone)
		for id, m := range s.members {
			m.listed = false
			s.look(id)
		}
	}
	s.session.asked()
	s.count++
	var a asking
	for _, id := range s.takeDue() {
		s.list(&a, id)
	}
	for id, name := range s.gone {
		if m := s.members[id]; m == nil || !m.listed {
			a.drop(id, name)
		}
	}
	clear(s.gone)
	req.Topics, req.ForgottenTopics = a.fetch.list, a.forget.list
	return req
}

func (s *source) takeDue() []kafka.TopicIDPartition {
	due := s.due
	s.due = nil
	return due
}

// list says in a request what is new of a member, if anything.
func (s *source) list(a *asking, id kafka.TopicIDPartition) {
	m := s.members[id]
	if m == nil {
		return
	}
	m.dueNow = false
	delete(s.held, id)
	if m.rest.on() {
		return
	}
	if s.throttled(m) && s.host.cfg.Quota.Exceeded() {
		s.hold(id, m)
		return
	}
	at, ok := m.part.Follower().Stands()
	switch {
	case !ok || at.Leader != s.key.node:
		s.remove(id) // Publish will say who has it next
	case !m.listed || at != m.sent:
		if !m.listed {
			m.listed, m.since = true, s.count
		}
		m.sent = at
		a.add(id, m, s.host.cfg.Limits.PartitionBytes)
	}
}

// connect makes sure that the connection is to where the broker is right now.
func (s *source) connect() error {
	addr, ok := s.host.address(s.key.node)
	if !ok {
		return fmt.Errorf("no address of broker %d is known", s.key.node)
	}
	if addr != s.addr {
		s.hangUp()
		s.conn, s.addr = s.host.cfg.Connect(addr), addr
	}
	return nil
}

func (s *source) hangUp() {
	if s.conn != nil {
		s.conn.Close()
		s.conn, s.addr = nil, ""
	}
}
