package raft

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/explore"
)

// scope is a bounded quorum of real cores. Messages are a set and never leave
// it, so loss, delay, repetition and every order are explored; any role's time
// may end at any moment. An answer whose asker waits no more is dropped by the
// core, so it is taken out, and the requests of such calls are one and the same.
type scope struct {
	name   string
	voters int
	spares int         // controllers that are no voters
	epochs kafka.Epoch // no step beyond
	bounds [kinds]uint8
	mute   bool           // nobody hears a fetch: elections alone
	seek   bool           // who follows nobody asks for the leader; else it waits to be called
	old    []kafka.NodeID // know Vote up to version 1 only
	// atOnce has the disk write and sync in one step, quick has it write at once.
	atOnce, quick bool
	// dynamic voters stand in the log and in the checkpoint of format time.
	dynamic bool
	// about is the only node whose disk is lost, and that is added or removed; 0: any.
	about kafka.NodeID
	// elected begins with an epoch that node 1 leads and all follow.
	elected bool
	// anyOrder looks at every order in which nodes begin, also where they can be told
	// apart by nothing else.
	anyOrder bool
	// bug spoils what a step came to, in tests of the explorer.
	bug func(before *part, h *happened)

	parts    []*part
	partIDs  map[string]uint32
	messages []envelope
	msgIDs   map[string]uint16
	stale    []uint16 // of an open request, the same one whose answer nobody waits for
	pasts    []past
	pastIDs  map[string]uint16
	memo     map[uint64]*outcomeOf
	beyond   int
	seen     map[string]bool // projected states, if they are wanted
}

// What a scope bounds: how often it happens, in all.
const (
	timeouts  = iota // a role's time ends
	crashes          // a process
	proposals        // of a batch
	changes          // of the voters are asked for
	losses           // of a disk
	kinds
)

// past is what has been seen on the way: who led which epoch, and what was
// committed.
type past struct {
	led    [8]int8
	ledger []stored
}

// outcomeOf is what a step of one part comes to, in numbers.
type outcomeOf struct {
	part   uint32
	sent   []uint16
	closed uint8 // bit n: what it waited for from node n is void or answered
	rule   string
	beyond bool
}

const noMessage = ^uint16(0)

const (
	actDeliver = iota
	actTimeout
	actWrite
	actSync
	actCrash
	actPropose
	actAdd
	actRemove
	actLose
)

// spends tells which bound an act counts against, or -1.
func spends(act int) int {
	switch act {
	case actTimeout:
		return timeouts
	case actCrash:
		return crashes
	case actPropose:
		return proposals
	case actAdd, actRemove:
		return changes
	case actLose:
		return losses
	}
	return -1
}

func newScope(s scope) *scope {
	s.partIDs, s.msgIDs, s.pastIDs, s.memo = map[string]uint32{}, map[string]uint16{}, map[string]uint16{}, map[uint64]*outcomeOf{}
	return &s
}

func (s *scope) nodes() int { return s.voters + s.spares }

func (s *scope) part(p *part) uint32 {
	key := string(rune(p.id)) + p.key()
	id, known := s.partIDs[key]
	if !known {
		id = uint32(len(s.parts))
		s.partIDs[key], s.parts = id, append(s.parts, p)
	}
	return id
}

func (s *scope) message(e envelope) uint16 {
	k := canon{}
	k.int(int64(e.from))
	k.int(int64(e.to))
	k.value(reflect.ValueOf(e.answer))
	k.value(reflect.ValueOf(e.call != 0))
	k.value(reflect.ValueOf(&e.body).Elem())
	k.value(reflect.ValueOf(e.batches))
	id, known := s.msgIDs[string(k.to)]
	if known {
		return id
	}
	id = uint16(len(s.messages))
	if id == noMessage {
		panic("too many messages")
	}
	s.msgIDs[string(k.to)], s.messages = id, append(s.messages, e)
	s.stale = append(s.stale, noMessage)
	if !e.answer && e.call != 0 {
		twin := e
		twin.call = 0
		s.stale[id] = s.message(twin)
	}
	return id
}

func (s *scope) past(h past) uint16 {
	key := fmt.Sprint(h.led, h.ledger)
	id, known := s.pastIDs[key]
	if !known {
		id = uint16(len(s.pasts))
		s.pastIDs[key], s.pasts = id, append(s.pasts, h)
	}
	return id
}

// A state is: what was spent, how many nodes have taken a step, past, parts,
// messages in order.
const headSize = kinds + 3

func (s *scope) Start() []byte {
	h := past{}
	for i := range h.led {
		h.led[i] = -1
	}
	state := binary.LittleEndian.AppendUint16(make([]byte, kinds+1), s.past(h))
	var sent []uint16
	for i := range s.nodes() {
		p := s.newPart(kafka.NodeID(i + 1))
		h := happened{part: p}
		p.boot(0, &h)
		p.forget()
		state = binary.LittleEndian.AppendUint32(state, s.part(p))
		sent = append(sent, s.network(h.part, h.sent)...)
	}
	slices.Sort(sent)
	for _, m := range slices.Compact(sent) {
		state = binary.LittleEndian.AppendUint16(state, m)
	}
	if s.elected {
		return s.elect(state)
	}
	return state
}

// elect goes from the start to a state in which node 1 leads, and everything that
// was sent has arrived.
func (s *scope) elect(state []byte) []byte {
	bounds, bug := s.bounds, s.bug
	s.bounds, s.bug = [kinds]uint8{timeouts: 1}, nil
	seen := map[string]bool{}
	next := s.after(state, func(step uint32) bool { return step == uint32(actTimeout)<<28 }, seen)
	for next != nil {
		state = next
		seen[string(state)] = true
		next = s.after(state, func(step uint32) bool { return step>>28 != actTimeout }, seen)
	}
	s.bounds, s.bug = bounds, bug
	state[timeouts], state[kinds] = 0, uint8(s.nodes())
	return state
}

// after is the first new state to which a step of a kind leads, or nil.
func (s *scope) after(state []byte, fits func(uint32) bool, seen map[string]bool) (next []byte) {
	err := s.Next(state, func(step uint32, b []byte) {
		if next == nil && fits(step) && !seen[string(b)] {
			next = slices.Clone(b)
		}
	})
	if err != nil {
		panic(err) // before anything has gone wrong
	}
	return next
}

func (s *scope) Next(state []byte, emit func(uint32, []byte)) error {
	if s.seen != nil {
		s.seen[s.project(state)] = true
	}
	w := s.open(state)
	for _, m := range w.messages {
		if err := w.take(int(s.messages[m].to)-1, actDeliver, uint32(m), emit); err != nil {
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

// opened is a state in parts.
type opened struct {
	s        *scope
	spent    [kinds]uint8
	begun    uint8 // how many nodes have taken a step
	past     uint16
	parts    [5]uint32
	messages []uint16
	buf      []byte
	set      []uint16
	list     []actOf
}

// actOf is something that a node may do by itself.
type actOf struct {
	act int
	arg uint32
}

func (s *scope) open(state []byte) *opened {
	w := &opened{s: s, spent: [kinds]uint8(state), begun: state[kinds], past: binary.LittleEndian.Uint16(state[kinds+1:])}
	at := headSize
	for i := range s.nodes() {
		w.parts[i] = binary.LittleEndian.Uint32(state[at:])
		at += 4
	}
	w.messages = make([]uint16, 0, (len(state)-at)/2)
	for ; at < len(state); at += 2 {
		w.messages = append(w.messages, binary.LittleEndian.Uint16(state[at:]))
	}
	return w
}

// acts are what node i may do in a state.
func (w *opened) acts(i int) []actOf {
	s, p := w.s, w.s.parts[w.parts[i]]
	left := func(kind int) bool { return w.spent[kind] < s.bounds[kind] }
	list := w.list[:0]
	if left(timeouts) {
		list = append(list, actOf{act: actTimeout})
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
		if !voter || v.Key != s.parts[w.parts[n]].core.cfg.Self {
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
	if !w.mayBegin(i) {
		return nil
	}
	step := uint32(act)<<28 | uint32(i)<<24 | arg
	o := s.outcome(w.parts[i], act, arg)
	if o.rule != "" {
		return &explore.Broken{Step: step, Rule: o.rule}
	}
	if o.beyond {
		s.beyond++
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
	w.buf = append(w.buf[:0], spent[:]...)
	w.buf = append(w.buf, max(w.begun, uint8(i+1)))
	w.buf = binary.LittleEndian.AppendUint16(w.buf, pastID)
	for j := range s.nodes() {
		id := w.parts[j]
		if j == i {
			id = o.part
		}
		w.buf = binary.LittleEndian.AppendUint32(w.buf, id)
	}
	for _, m := range w.after(i, o) {
		w.buf = binary.LittleEndian.AppendUint16(w.buf, m)
	}
	emit(step, w.buf)
	return nil
}

// after is the set of messages after a step of node i.
func (w *opened) after(i int, o *outcomeOf) []uint16 {
	self := kafka.NodeID(i + 1)
	w.set = w.set[:0]
	for _, m := range w.messages {
		e := &w.s.messages[m]
		switch {
		case e.call == 0:
		case e.answer && e.to == self && o.closed>>e.from&1 == 1:
			continue
		case !e.answer && e.from == self && o.closed>>e.to&1 == 1:
			m = w.s.stale[m]
			e = &w.s.messages[m]
		}
		to := w.parts[e.to-1]
		if e.to == self {
			to = o.part
		}
		if e.call == 0 && w.s.parts[to].settled(e) {
			continue
		}
		w.set = append(w.set, m)
	}
	w.set = append(w.set, o.sent...)
	slices.Sort(w.set)
	w.set = slices.Compact(w.set)
	return w.set
}

// tell is the story of a path.
func (s *scope) tell(path []uint32) string {
	var out strings.Builder
	for _, step := range path {
		i, arg := step>>24&15, step&0xffffff
		switch step >> 28 {
		case actDeliver:
			fmt.Fprintf(&out, "deliver %s\n", printEnvelope(s.messages[arg]))
		case actCrash:
			fmt.Fprintf(&out, "crash %d, keeping %d late writes\n", i+1, arg)
		case actAdd:
			fmt.Fprintf(&out, "%d is asked to add %d\n", i+1, arg)
		case actRemove:
			fmt.Fprintf(&out, "%d is asked to remove %d\n", i+1, arg)
		case actLose:
			fmt.Fprintf(&out, "%d loses its disk\n", i+1)
		default:
			fmt.Fprintf(&out, "%s %d\n", []string{actTimeout: "timeout", actWrite: "write", actSync: "sync", actPropose: "propose"}[step>>28], i+1)
		}
	}
	return out.String()
}
