package group

import (
	"maps"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// eraser removes offsets and groups, because somebody asks for it or because
// their time has come.
type eraser struct {
	desk   *desk
	groups *directory
	ledger *ledger
}

// forget removes offsets that nobody in the group needs (KIP-496).
func (e *eraser) forget(r *DeleteOffsets) {
	g := e.groups.shown(r.Group)
	switch {
	case r.Group == "":
		e.desk.answer(r, kerr.InvalidGroupId)
		return
	case g == nil:
		e.desk.answer(r, kerr.GroupIdNotFound)
		return
	case g.state != Empty && g.protocolType != consumerProtocolType:
		// What its members use cannot be told.
		e.desk.answer(r, kerr.NonEmptyGroup)
		return
	}
	gone := make(map[kafka.TopicPartition]struct{})
	for i := range r.Offsets {
		d := &r.Offsets[i]
		switch {
		case d.Err != kerr.None: // refused before it came here
		case g.listens(d.Topic):
			d.Err = kerr.GroupSubscribedToTopic
		case g.offsets[d.TopicPartition] != nil:
			gone[d.TopicPartition] = struct{}{} // once, however often it is named
		}
	}
	if len(gone) == 0 {
		e.desk.answer(r, kerr.None)
		return
	}
	e.start(&erasure{g: g, request: r}, slices.SortedFunc(maps.Keys(gone), byTopic))
}

// deleteGroup removes a group that has no members, with all it holds.
func (e *eraser) deleteGroup(r *Delete) {
	switch g := e.groups.shown(r.Group); {
	case g == nil:
		e.desk.answer(r, kerr.GroupIdNotFound)
	case g.state != Empty:
		e.desk.answer(r, kerr.NonEmptyGroup)
	default:
		e.start(&erasure{g: g, request: r, whole: true}, g.offsets.partitions())
	}
}

// topicsDeleted removes the offsets of topics that are gone from all groups. A
// commit that is on its way decides in place of what is committed: a tombstone
// behind it would take away what it brings for a new topic of the same name.
func (e *eraser) topicsDeleted(topics []Topic) {
	gone := make(map[Topic]struct{}, len(topics))
	for _, t := range topics {
		gone[t] = struct{}{}
	}
	underway := e.ledger.underway()
	for _, id := range e.groups.ids() {
		g := e.groups.byID[id]
		if g.state == Dead {
			continue
		}
		stays := func(tp kafka.TopicPartition) bool {
			o := g.offsets[tp]
			topic, coming := underway[o]
			if !coming {
				topic = o.topic
			}
			_, yes := gone[Topic{tp.Topic, topic}]
			return !yes
		}
		if lost := slices.DeleteFunc(g.offsets.partitions(), stays); len(lost) > 0 {
			e.start(&erasure{g: g}, lost)
		}
	}
}

// expire removes the offsets whose time has come, and groups that have neither
// members nor offsets (KIP-211). It comes again while there are groups.
func (e *eraser) expire() {
	for _, id := range e.groups.ids() {
		e.expireGroup(e.groups.byID[id])
	}
	e.groups.scanAgain()
}

func (e *eraser) expireGroup(g *classic) {
	if g.state == Dead || e.groups.isForeign(g.id) {
		return // on its way out already, or not ours to judge
	}
	var gone []kafka.TopicPartition
	for _, tp := range g.offsets.partitions() {
		if e.expired(g, tp, g.offsets[tp]) {
			gone = append(gone, tp)
		}
	}
	over := g.state == Empty && len(gone) == len(g.offsets) && len(g.door.pending) == 0
	switch {
	case over && !g.persisted && len(gone) == 0:
		e.groups.forget(g) // no record tells of it
	case over:
		e.start(&erasure{g: g, whole: true}, gone)
	case len(gone) > 0:
		e.start(&erasure{g: g}, gone)
	}
}

// expired tells whether an offset may go. From when retention counts depends on
// whether somebody could still come back for it.
func (e *eraser) expired(g *classic, tp kafka.TopicPartition, o *offset) bool {
	if !o.set || o.inflight > 0 || o.txns > 0 || g.listens(tp.Topic) {
		return false
	}
	since := o.committedAt
	switch {
	case g.protocolType == "": // a simple consumer: since it committed
	case g.state == Empty && g.changed >= 0:
		since = g.changed // since the last member left
	case g.state == Empty:
		// A record of before Kafka 2.1 does not say since when.
	case g.state == Stable && g.protocolType == consumerProtocolType && g.subscribed != nil:
		// Nobody consumes the topic any more.
	default:
		return false
	}
	if o.expiresAt != never {
		return e.desk.now.UnixMilli >= o.expiresAt
	}
	return e.desk.now.UnixMilli-since >= e.desk.cfg.OffsetsRetention.Milliseconds()
}

// start appends the tombstones of an erasure. A group that goes as a whole
// counts as Dead until they are committed.
func (e *eraser) start(x *erasure, gone []kafka.TopicPartition) {
	x.eraser = e
	if x.whole {
		x.changed = x.g.changed
		x.g.door.takeBackAll()
		x.g.enter(Dead)
	}
	for first := true; first || len(gone) > 0; first = false {
		n := min(len(gone), maxTombstones)
		u := &eraseUnit{of: x, gone: gone[:n]}
		gone = gone[n:]
		x.units++
		e.desk.open(u)
		for _, tp := range u.gone {
			x.g.offsets[tp].inflight++
			e.desk.journal.noOffset(x.g.id, tp)
		}
		if x.whole && len(gone) == 0 {
			e.desk.journal.noGroup(x.g.id)
		}
	}
}
