package raftnode

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// soundFor is how long a snapshot counts as sound that was read to its end. Then
// whoever is offered it has it read again: a replica that is sent damage asks again
// and again, and cannot say why.
const soundFor = time.Minute

// offers are the answers that send a peer to a snapshot. It is read to its end
// before, in a goroutine of its own; one at a time is.
type offers struct {
	sound   raft.SnapshotID
	until   kafka.Instant // sound counts as sound before that
	reading bool
	// waiting are the answers that are held back meanwhile, one for each request
	// at most. Peers that do not wait as long ask again.
	waiting []heldOffer
}

type heldOffer struct {
	answer raft.FetchAnswer
	to     received
}

// offer answers with the id of a snapshot once that is known to be sound.
func (l *loop) offer(a raft.FetchAnswer, to received) {
	o := &l.offers
	if *a.Snapshot == o.sound && l.n.clock.now() < o.until {
		to.reply(a, nil)
		return
	}
	o.waiting = append(o.waiting, heldOffer{a, to})
	if !o.reading {
		l.readOffered(*a.Snapshot)
	}
}

func (l *loop) readOffered(id raft.SnapshotID) {
	l.offers.reading = true
	n := l.n
	n.wg.Go(func() {
		_, damage, err := verifySnapshot(n.cfg.FS, n.folder.path(id), id)
		_ = n.put(readThrough{id, damage, err})
	})
}

// readThrough says what a snapshot looks like that is to be offered.
type readThrough struct {
	id          raft.SnapshotID
	damage, err error
}

func (r readThrough) run(l *loop) {
	o := &l.offers
	o.reading = false
	if r.damage != nil {
		l.loseSnapshot(r.id, r.damage)
	}
	if r.damage == nil && r.err == nil {
		o.sound, o.until = r.id, l.n.clock.now().Add(soundFor)
	}
	later := o.waiting[:0:0]
	for _, w := range o.waiting {
		switch {
		case *w.answer.Snapshot != r.id:
			later = append(later, w)
		case r.damage == nil && r.err == nil:
			w.to.reply(w.answer, nil)
		default:
			w.to.reply(raft.Refuse(w.to.body, kerr.KafkaStorageError, w.answer.Hint), nil)
		}
	}
	if o.waiting = later; len(later) > 0 {
		l.readOffered(*later[0].answer.Snapshot)
	}
}

// loseSnapshot lets a damaged snapshot be none: the one before it is offered from
// now on, and a new one is asked for.
func (l *loop) loseSnapshot(id raft.SnapshotID, damage error) {
	n := l.n
	n.cfg.Log.Error("a snapshot is damaged and is set aside; the one before it is used until there is a new one",
		"snapshot", n.folder.path(id), "now", snapshotStem(id)+damagedSuffix, "err", damage)
	l.step(raft.SnapshotDamaged{ID: id})
	n.writer.put(job{kind: jobSetAside, drop: []raft.SnapshotID{id}})
	n.lacks.Store(true)
}

// SnapshotWanted tells that a snapshot was found damaged, and that none has been
// written since: one is to be, however little was committed after the last.
func (n *Node) SnapshotWanted() bool { return n.lacks.Load() }

// abandonOffers answers who waits when the loop has ended.
func (l *loop) abandonOffers() {
	for _, w := range l.offers.waiting {
		w.to.refuse(l.n)
	}
}
