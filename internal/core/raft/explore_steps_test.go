package raft

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/explore"
)

// opened is a state in parts, and room for the next ones.
type opened struct {
	s        *scope
	spent    [kinds]uint8
	begun    uint8 // how many nodes have taken a step
	turns    uint8 // of the two that are left, see explore_left_test.go
	past     uint16
	parts    [5]uint32
	messages []uint16 // in order

	next, moved []uint16
	buf         []byte
	list        []actOf
}

var openedPool = sync.Pool{New: func() any { return new(opened) }}

// actOf is something that a node may do by itself.
type actOf struct {
	act int
	arg uint32
}

func (s *scope) Next(state []byte, emit func(uint32, []byte)) error {
	if s.seen != nil {
		s.shows(state)
	}
	w := openedPool.Get().(*opened)
	defer openedPool.Put(w)
	w.open(s, state)
	if rule := w.stuck(); rule != "" {
		return errors.New(rule) // of the state, not of a step
	}
	for _, m := range w.messages {
		if err := w.take(int(s.messages.at(uint32(m)).to)-1, actDeliver, uint32(m), emit); err != nil {
			return err
		}
	}
	for i := range s.nodes() {
		for _, a := range w.acts(i) {
			if err := w.take(i, a.act, a.arg, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *opened) open(s *scope, state []byte) {
	w.s, w.spent, w.begun, w.turns, w.past = s, [kinds]uint8(state), state[kinds], state[kinds+1], binary.LittleEndian.Uint16(state[kinds+2:])
	at := headSize
	for i := range s.nodes() {
		w.parts[i] = binary.LittleEndian.Uint32(state[at:])
		at += 4
	}
	w.messages = w.messages[:0]
	for ; at < len(state); at += 2 {
		w.messages = append(w.messages, binary.LittleEndian.Uint16(state[at:]))
	}
}

// node is the part of node i + 1.
func (w *opened) node(i int) *part { return *w.s.parts.at(w.parts[i]) }

// acts are what node i may do in a state.
func (w *opened) acts(i int) []actOf {
	s, p := w.s, w.node(i)
	left := func(kind int) bool { return w.spent[kind] < s.bounds[kind] }
	list := w.list[:0]
	if left(timeouts) && w.timesEnd(p) && (s.impatient == 0 || s.impatient == p.id) {
		list = append(list, actOf{act: actTimeout})
	}
	if p.pauses() && w.timesEnd(p) {
		list = append(list, actOf{act: actPause})
	}
	if len(p.queue) > 0 {
		list = append(list, actOf{act: actWrite})
	}
	if len(p.late) > 0 {
		list = append(list, actOf{act: actSync})
	}
	if left(crashes) {
		for k := range len(p.late) + 1 {
			list = append(list, actOf{actCrash, uint32(k)})
		}
	}
	if left(proposals) && p.core.leads() {
		list = append(list, actOf{act: actPropose})
	}
	if left(changes) && p.core.leads() {
		list = w.changes(p, list)
	}
	if left(losses) && (s.about == 0 || s.about == p.id) {
		list = append(list, actOf{act: actLose})
	}
	if p.deaths {
		list = w.deaths(p, list)
	}
	w.list = list
	return list
}

// changes are those of the voters that a leader can be asked for: to remove one, and
// to add one that is none, or that has another disk.
func (w *opened) changes(leader *part, list []actOf) []actOf {
	s := w.s
	for n := range s.nodes() {
		id := kafka.NodeID(n + 1)
		if s.about != 0 && s.about != id {
			continue
		}
		v, voter := leader.core.quorum.voters().Node(id)
		if voter {
			list = append(list, actOf{actRemove, uint32(id)})
		}
		if !voter || v.Key != w.node(n).core.cfg.Self {
			list = append(list, actOf{actAdd, uint32(id)})
		}
	}
	return list
}

// mayBegin: nodes of one kind can be told apart only by what they have done, so it
// is enough to look at the stories in which they begin in the order of their ids.
func (w *opened) mayBegin(i int) bool {
	return w.s.anyOrder || len(w.s.old) > 0 || i <= int(w.begun)
}

// take is one step of node i.
func (w *opened) take(i, act int, arg uint32, emit func(uint32, []byte)) error {
	s := w.s
	if !w.mayBegin(i) || s.gone == kafka.NodeID(i+1) {
		return nil
	}
	step := uint32(act)<<28 | uint32(i)<<24 | arg
	o := s.outcome(w.parts[i], act, arg)
	if o.rule != "" {
		return &explore.Broken{Step: step, Rule: o.rule}
	}
	if o.beyond {
		s.beyond.Add(1)
		return nil
	}
	spent := w.spent
	if kind := spends(act); kind >= 0 {
		spent[kind]++
	}
	pastID, rule := w.remember(i, o.part)
	if rule != "" {
		return &explore.Broken{Step: step, Rule: rule}
	}
	if act == actCrash {
		pastID = s.mourn(pastID, kafka.NodeID(i+1))
	}
	w.buf = append(w.buf[:0], spent[:]...)
	w.buf = append(w.buf, max(w.begun, uint8(i+1)), w.turnsAfter(i, o))
	w.buf = binary.LittleEndian.AppendUint16(w.buf, pastID)
	for j := range s.nodes() {
		id := w.parts[j]
		if j == i {
			id = o.part
		}
		w.buf = binary.LittleEndian.AppendUint32(w.buf, id)
	}
	gone := noMessage
	if s.once && act == actDeliver && !w.parked(o) {
		gone = uint16(arg)
	}
	for _, m := range w.after(i, o, gone) {
		w.buf = binary.LittleEndian.AppendUint16(w.buf, m)
	}
	emit(step, w.buf)
	return nil
}

// after is the set of messages after a step of node i, in order; gone is one that
// has arrived and will not again.
func (w *opened) after(i int, o *outcomeOf, gone uint16) []uint16 {
	s, self := w.s, kafka.NodeID(i+1)
	after := *s.parts.at(o.part)
	settled := func(m *message) bool {
		if m.to == self {
			return after.settled(m.envelope)
		}
		return w.node(int(m.to) - 1).settled(m.envelope)
	}
	w.next, w.moved = w.next[:0], w.moved[:0]
	for _, id := range w.messages {
		m := s.messages.at(uint32(id))
		switch {
		case id == gone:
			continue
		case m.call == 0: // of others than this node it is known that they have not settled it
			if m.to == self && after.settled(m.envelope) {
				continue
			}
		case m.answer:
			if m.to == self && o.closed>>m.from&1 == 1 {
				continue
			}
		case m.from == self && o.closed>>m.to&1 == 1:
			if !settled(s.messages.at(uint32(m.stale))) {
				w.moved = append(w.moved, m.stale)
			}
			continue
		}
		w.next = append(w.next, id)
	}
	for _, id := range o.sent {
		if w.noNews(id) {
			continue
		}
		if m := s.messages.at(uint32(id)); m.call != 0 || !settled(m) {
			w.moved = append(w.moved, id)
		}
	}
	if len(w.moved) > 0 {
		w.next = append(w.next, w.moved...)
		slices.Sort(w.next)
		w.next = slices.Compact(w.next)
	}
	return w.next
}

// noNews tells whether a message is the answer to a fetch that brings nothing: the
// follower would fetch again, and be as it was. A leader parks such a fetch; here
// it stays under way.
func (w *opened) noNews(id uint16) bool {
	m := w.s.messages.at(uint32(id))
	a, ok := m.body.(FetchAnswer)
	if !ok || a.Err != kerr.None || a.Diverging != nil || a.Snapshot != nil || len(m.batches) > 0 {
		return false
	}
	c := w.node(int(m.to) - 1).core
	f, ok := c.role.(*follower)
	return ok && a.Hint.Epoch == c.election.Epoch && a.Hint.Leader == f.id && a.HighWatermark <= c.hw &&
		f.fetched && !f.farewell && !f.chosen && !f.gone && f.download == nil
}

// parked tells whether a fetch that was delivered is kept by the leader.
func (w *opened) parked(o *outcomeOf) bool {
	return slices.ContainsFunc(o.sent, w.noNews)
}
