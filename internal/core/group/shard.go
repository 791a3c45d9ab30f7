package group

import "github.com/ottla/ottla/internal/base/kerr"

// Shard is the coordinator's state for one partition of __consumer_offsets.
// It is fed by Replay until Loaded, and by Step from then on. It is not safe
// for concurrent use.
type Shard struct {
	desk   *desk
	groups directory
	ledger ledger // commits and fetches
	eraser eraser // removals and expiry
	loader loader // what the log says
}

// New makes the empty shard of a partition.
func New(cfg Config) *Shard {
	s := &Shard{desk: newDesk(cfg)}
	s.groups.desk = s.desk
	s.ledger = ledger{desk: s.desk, groups: &s.groups}
	s.eraser = eraser{desk: s.desk, groups: &s.groups, ledger: &s.ledger}
	s.loader = loader{groups: &s.groups}
	s.groups.scan.fire = s.eraser.expire
	return s
}

// Step takes one event and returns everything that has to happen because of
// it. The slices of the effects are valid until the next Step.
func (s *Shard) Step(now Time, ev Event) Effects {
	s.desk.begin(now)
	s.take(ev)
	return s.desk.effects()
}

func (s *Shard) take(ev Event) {
	switch ev := ev.(type) {
	case *Heartbeat:
		s.heartbeat(ev)
	case *CommitOffsets:
		s.ledger.commit(ev)
	case *FetchOffsets:
		s.ledger.fetch(ev)
	case *Join:
		s.join(ev)
	case *Sync:
		s.sync(ev)
	case *Leave:
		s.leave(ev)
	case *DeleteOffsets:
		s.eraser.forget(ev)
	case *EndTransaction:
		s.endTransaction(ev)
	case *Delete:
		s.eraser.deleteGroup(ev)
	case *Describe:
		s.describe(ev)
	case *List:
		ev.Groups = s.groups.list()
		s.desk.answer(ev, kerr.None)
	case Tick:
		s.desk.timers.run(s.desk.now.At)
	case Committed:
		s.desk.queue.committed(ev.Through)
	case Failed:
		s.desk.queue.failed(ev)
	case TopicsDeleted:
		s.eraser.topicsDeleted(ev.Topics)
	case Loaded:
		s.loader.loaded()
	case Resigned:
		s.resigned()
	}
}

// resigned answers everything that waits.
func (s *Shard) resigned() {
	for _, id := range s.groups.ids() {
		s.groups.byID[id].resign()
	}
	s.desk.queue.abandon(kerr.NotCoordinator)
	s.desk.timers, s.groups.byID = timers{}, nil
}

// Topics are all topics that a group has a committed offset of, sorted. It looks
// at each offset.
func (s *Shard) Topics() []Topic { return s.groups.topics() }

// Census counts the groups of the classic protocol. It looks at each of them.
func (s *Shard) Census() Census { return s.groups.census() }

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
