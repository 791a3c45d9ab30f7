package group

import (
	"math/rand/v2"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Shard is the coordinator's state for one partition of __consumer_offsets.
// It is fed by Replay until Loaded, and by Step from then on. It is not safe
// for concurrent use.
type Shard struct {
	cfg    Config
	rng    *rand.Rand
	groups map[string]*classic
	// foreign are ids of groups of other kinds, from records that another
	// node wrote. Kafka's replay refuses a log that has two kinds of group
	// under one id, so these ids are not given away.
	foreign map[string]Type
	txns    map[kafka.ProducerID][]txnOffset

	now    Time
	timers timers
	scan   timer // looks for what has expired; set while there are groups
	queue  queue
	arena  []byte // holds the keys and values of out.Append
	out    Effects

	// What records are written from, so that writing allocates nothing.
	offsetKey   metarec.OffsetCommitKey
	offsetValue metarec.OffsetCommitValue
	groupKey    metarec.GroupMetadataKey
	groupValue  metarec.GroupMetadataValue
	spare       []*commitUnit // for the next commits
}

// keptArena is how many bytes for records a shard keeps from step to step; a
// large group needs more once in a while.
const keptArena = 16 << 10

// New makes the empty shard of a partition.
func New(cfg Config) *Shard {
	s := &Shard{cfg: cfg, rng: rand.New(cfg.Random)}
	s.scan.fire = s.expireOffsets
	s.queue.late.fire = s.answerLate
	return s
}

// Step takes one event and returns everything that has to happen because of
// it. The slices of the effects are valid until the next Step.
func (s *Shard) Step(now Time, ev Event) Effects {
	s.now = now
	if s.arena = s.arena[:0]; cap(s.arena) > keptArena {
		s.arena = nil
	}
	clear(s.out.Answered) // do not keep what has been answered alive
	s.out.Append, s.out.Answered = s.out.Append[:0], s.out.Answered[:0]
	s.take(ev)
	s.out.Deadline = s.timers.next()
	return s.out
}

func (s *Shard) take(ev Event) {
	switch ev := ev.(type) {
	case *Heartbeat:
		s.heartbeat(ev)
	case *CommitOffsets:
		s.commitOffsets(ev)
	case *FetchOffsets:
		s.fetchOffsets(ev)
	case *Join:
		s.join(ev)
	case *Sync:
		s.sync(ev)
	case *Leave:
		s.leave(ev)
	case *DeleteOffsets:
		s.deleteOffsets(ev)
	case *Delete:
		s.delete(ev)
	case *Describe:
		s.describe(ev)
	case *List:
		s.list(ev)
	case Tick:
		s.timers.run(s.now.At)
	case Committed:
		s.committed(ev.Through)
	case Failed:
		s.failed(ev)
	case TopicsDeleted:
		s.topicsDeleted(ev.Topics)
	case Loaded:
		s.loaded()
	case Resigned:
		s.resigned()
	}
}

// answer finishes a request.
func (s *Shard) answer(r Request, err kerr.Code) {
	r.call().Err = err
	s.out.Answered = append(s.out.Answered, r)
}

// Refuse fills in a request that never reached a shard, as if a shard had
// answered it with an error: wrong coordinator, still loading.
func Refuse(r Request, err kerr.Code) {
	r.call().Err = err
	if r, ok := r.(*Join); ok {
		r.Reply = JoinReply{Generation: noGeneration, MemberID: r.MemberID}
	}
}

// noGeneration stands for a generation that is not known or not given.
const noGeneration = -1

// newClassic makes an empty group.
func (s *Shard) newClassic(id string) *classic {
	g := &classic{id: id, changed: s.now.UnixMilli}
	g.joinTimer.fire = func() { s.joinTimeout(g) }
	g.syncTimer.fire = func() { s.syncTimeout(g) }
	if s.groups == nil {
		s.groups = make(map[string]*classic)
	}
	s.groups[id] = g
	if s.scan.pos == 0 {
		s.timers.set(&s.scan, s.now.At.Add(s.cfg.CheckInterval))
	}
	return g
}

// forget drops a group that nothing in the log speaks of any more.
func (s *Shard) forget(g *classic) {
	s.timers.stop(&g.joinTimer)
	s.timers.stop(&g.syncTimer)
	for _, m := range g.members {
		s.timers.stop(&m.session)
	}
	for _, p := range g.pending { // any order leaves the same timers
		s.timers.stop(&p.session)
	}
	delete(s.groups, g.id)
}
