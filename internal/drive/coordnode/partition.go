package coordnode

import (
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
)

const (
	// maxMail is how many requests a mailbox holds. One more is told
	// COORDINATOR_NOT_AVAILABLE, which clients answer by a retry after a pause.
	maxMail = 10_000
	// maxBacklog is how many bytes of records may wait to be appended. Beyond
	// it commits have COORDINATOR_NOT_AVAILABLE, until the followers catch up.
	maxBacklog = 16 << 20
	// maxDeleted is how many deleted topics a partition that is loading keeps in
	// mind. Of more, those go that metadata still lacks at the end of the load,
	// or has under another id.
	maxDeleted = 10_000
	// keptMail is how much room an emptied mailbox keeps for the next events.
	keptMail = 256
)

// partition is one led partition of __consumer_offsets, in one epoch.
type partition struct {
	node  *Groups
	id    kafka.PartitionID
	epoch kafka.Epoch

	mu      sync.Mutex
	mail    []group.Event
	landing []landed // appends that have ended, in order
	working bool     // a goroutine works off the mailbox
	state   phase
	backlog int                 // bytes of records that are not handed to the log yet
	deleted map[string]struct{} // names that lost their topic while loading, maxDeleted at most
	groups  group.Census        // of the last look at a shard at rest

	// What follows belongs to the goroutine that works.
	shard *group.Shard
	ship  shipper
	spare []group.Event
	timer *time.Timer
	due   kafka.Instant // the shard's deadline
	armed kafka.Instant // what the timer is set to; Never: it is not
}

// phase is how far the life of a led partition has gone.
type phase int8

const (
	loading phase = iota
	active
	closing // Resigned is to be the last step
	closed
)

func newPartition(n *Groups, id kafka.PartitionID, epoch kafka.Epoch) *partition {
	cfg := n.cfg.Group
	cfg.Random = chance()
	return &partition{
		node: n, id: id, epoch: epoch, shard: group.New(cfg),
		ship: shipper{codec: n.cfg.Codec}, due: kafka.Never, armed: kafka.Never,
	}
}

// submit takes a request, or refuses it at once.
func (p *partition) submit(r group.Request) {
	if err, refused := p.take(r); refused {
		group.Refuse(r, err)
		finish(r)
	}
}

func (p *partition) take(r group.Request) (err kerr.Code, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.state == loading:
		if _, beat := r.(*group.Heartbeat); beat {
			return kerr.None, true // clients take any other answer for a failure
		}
		return kerr.CoordinatorLoadInProgress, true
	case p.state != active:
		return kerr.NotCoordinator, true
	case len(p.mail) >= maxMail || p.backlog >= maxBacklog && writes(r):
		p.node.metrics.Refused.Add(1)
		return kerr.CoordinatorNotAvailable, true
	}
	p.mail = append(p.mail, r)
	p.wake()
	return kerr.None, false
}

// writes tells whether a request brings records that could just as well come
// later.
func writes(r group.Request) bool {
	switch r.(type) {
	case *group.CommitOffsets, *group.EndTransaction:
		return true
	}
	return false
}

// finish tells the caller that its request has an answer.
func finish(r group.Request) { group.CallOf(r).Token.(func())() }

// post hands over an event that is no request. It does not count against the
// bound: there are few of them.
func (p *partition) post(ev group.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == active {
		p.mail = append(p.mail, ev)
		p.wake()
	}
}

// topicsDeleted hands over that topics are gone, at the end of the load if that
// is under way: a topic may be there again by then, as another one.
func (p *partition) topicsDeleted(topics []group.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case active:
		p.mail = append(p.mail, group.TopicsDeleted{Topics: topics})
		p.wake()
	case loading:
		if p.deleted == nil {
			p.deleted = make(map[string]struct{})
		}
		for _, topic := range topics {
			if len(p.deleted) < maxDeleted {
				p.deleted[topic.Name] = struct{}{}
			}
		}
	}
}

// landed hands over the end of an append.
func (p *partition) landed(l landed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == active {
		p.landing = append(p.landing, l)
		p.wake()
	}
}

// close ends the partition's life. While it is loading that is left to load.
func (p *partition) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.state
	if was == loading || was == active {
		p.state = closing
	}
	if was == active {
		p.wake()
	}
}

// wake has somebody work off the mailbox. mu is held.
func (p *partition) wake() {
	if p.working {
		return
	}
	p.working = true
	p.node.work.Add(1)
	go func() {
		defer p.node.work.Done()
		p.drain()
	}()
}

// drain works until there is nothing left to do. One goroutine at a time is in
// here; it owns the shard meanwhile.
func (p *partition) drain() {
	for {
		mail, landing, state := p.next()
		switch {
		case state == closed:
			return
		case state == closing:
			p.end(mail)
			return
		case len(mail) == 0 && len(landing) == 0:
			return
		}
		for _, l := range landing {
			p.ship.flying = false
			p.step(l.event())
		}
		for _, ev := range mail {
			p.step(ev)
		}
		p.send()
		p.arm()
		if clear(mail); cap(mail) <= keptMail {
			p.spare = mail[:0]
		}
	}
}

// next takes what has come in. When that is nothing, nobody works any more.
func (p *partition) next() ([]group.Event, []landed, phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mail, landing := p.mail, p.landing
	p.mail, p.landing = p.spare, nil
	p.spare = nil
	p.backlog = p.ship.waiting()
	if len(mail) == 0 && len(landing) == 0 && p.state == active {
		p.working = false
		p.mail = mail // keep the room
	}
	return mail, landing, p.state
}

// step lets the shard decide and carries out the effects.
func (p *partition) step(ev group.Event) {
	if _, fired := ev.(group.Tick); fired {
		p.armed = kafka.Never
	}
	now := p.node.now()
	eff := p.shard.Step(now, ev)
	p.due = eff.Deadline
	if len(eff.Append) > 0 {
		p.ship.load(eff.Append, now.UnixMilli, p.node.cfg.Log.MaxBatch(p.id))
	}
	for _, r := range eff.Answered {
		if c, ok := r.(*group.CommitOffsets); ok && c.Err == kerr.None {
			p.node.metrics.Commits.Add(1)
		}
		finish(r)
	}
}

// send hands the next batch to the log, if none is on its way.
func (p *partition) send() {
	for {
		next, ok := p.ship.next()
		if !ok {
			return
		}
		err := next.err
		if err == nil {
			p.ship.flying = true
			p.node.metrics.Batches.Add(1)
			err = p.hand(next, func(err error) { p.landed(landed{next.span, err}) })
		}
		if err != nil {
			p.ship.flying = false
			p.step(landed{next.span, err}.event())
		}
	}
}

// hand hands a parcel to the log.
func (p *partition) hand(next parcel, done func(error)) error {
	log, m := p.node.cfg.Log, next.marker
	if m == nil {
		return log.Append(p.id, p.epoch, next.batch, done)
	}
	end := batch.EndTxn{
		Producer: m.Producer, Epoch: m.Epoch, Commit: m.Commit, Coordinator: m.Coordinator, TimestampMs: p.node.now().UnixMilli,
	}
	return log.EndTransaction(p.id, p.epoch, end, m.Version, done)
}

// arm sets the timer to the shard's deadline.
func (p *partition) arm() {
	if p.due == p.armed {
		return
	}
	p.armed = p.due
	wait := p.due.Sub(p.node.now().At)
	switch {
	case p.due == kafka.Never:
		p.timer.Stop()
	case p.timer == nil:
		p.timer = time.AfterFunc(wait, func() { p.post(group.Tick{}) })
	default:
		p.timer.Reset(wait)
	}
}

// end answers everything that waits, and lets go of the state.
func (p *partition) end(mail []group.Event) {
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, ev := range mail {
		if r, ok := ev.(group.Request); ok {
			group.Refuse(r, kerr.NotCoordinator)
			finish(r)
		}
	}
	eff := p.shard.Step(p.node.now(), group.Resigned{})
	for _, r := range eff.Answered {
		finish(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.shard, p.ship = closed, nil, shipper{}
	p.mail, p.landing, p.spare = nil, nil, nil
}
