package raft

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
)

// tables have what the states of a scope are made of, under numbers: a state is a
// few of them. Which number a thing has depends on who meets it first; that it has
// one, and no other, does not.
type tables struct {
	parts    table[*part]
	messages table[message]
	pasts    table[past]
	memo     [memoShards]memo
	beyond   atomic.Int64

	seenMu sync.Mutex
	seen   map[string]bool // projected states, if they are wanted
}

func newTables() *tables {
	t := &tables{parts: newTable[*part](), messages: newTable[message](), pasts: newTable[past]()}
	t.forget()
	return t
}

// forget drops what steps come to.
func (t *tables) forget() {
	for i := range t.memo {
		t.memo[i].outcomes = map[uint64]*outcomeOf{}
	}
}

// table numbers things. Reading one needs no lock: whoever has a number got it
// after its thing was put here, and things never move.
type table[T any] struct {
	mu     *sync.Mutex
	ids    map[string]uint32
	chunks [][]T
}

const chunkSize = 1 << 10

func newTable[T any]() table[T] {
	return table[T]{mu: new(sync.Mutex), ids: map[string]uint32{}, chunks: make([][]T, 1<<14)}
}

func (t *table[T]) at(id uint32) *T { return &t.chunks[id/chunkSize][id%chunkSize] }

func (t *table[T]) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ids)
}

// id is the number of a thing with this key.
func (t *table[T]) id(key []byte, thing T) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, known := t.ids[string(key)]
	if known {
		return id
	}
	id = uint32(len(t.ids))
	if id%chunkSize == 0 {
		t.chunks[id/chunkSize] = make([]T, chunkSize)
	}
	*t.at(id) = thing
	t.ids[string(key)] = id
	return id
}

// message is an envelope, and what is looked at most often.
type message struct {
	envelope
	// stale is, of an open request, the same one whose answer nobody waits for.
	stale uint16
}

// past is what has been seen on the way: who led which epoch, and what was
// committed.
type past struct {
	led    [8]int8
	died   uint8 // bit n: the process that led epoch n has ended, where proof of that counts
	ledger []stored
}

// outcomeOf is what a step of one part comes to, in numbers.
type outcomeOf struct {
	part   uint32
	sent   []uint16 // in order
	closed uint8    // bit n: what it waited for from node n is void or answered
	rule   string
	beyond bool
}

const memoShards = 64

// memo has the outcomes of some steps.
type memo struct {
	mu       sync.RWMutex
	outcomes map[uint64]*outcomeOf
}

// remembered gives what a step comes to, which find tells when it is not known.
// Two processors may find it at the same time, and find the same.
func (t *tables) remembered(key uint64, find func() *outcomeOf) *outcomeOf {
	m := &t.memo[(key^key>>32)%memoShards]
	m.mu.RLock()
	o, known := m.outcomes[key]
	m.mu.RUnlock()
	if known {
		return o
	}
	o = find()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes[key] = o
	return o
}

func (t *tables) part(p *part) uint32 {
	return t.parts.id(append([]byte{byte(p.id)}, p.key()...), p)
}

func (t *tables) message(e envelope) uint16 {
	m := message{e, noMessage}
	if !e.answer && e.call != 0 {
		twin := e
		twin.call = 0
		m.stale = t.message(twin)
	}
	k := canon{}
	k.int(int64(e.from))
	k.int(int64(e.to))
	k.value(reflect.ValueOf(e.answer))
	k.value(reflect.ValueOf(e.call != 0))
	k.value(reflect.ValueOf(&e.body).Elem())
	k.value(reflect.ValueOf(e.batches))
	id := t.messages.id(k.to, m)
	if id >= uint32(noMessage) {
		panic("too many messages")
	}
	return uint16(id)
}

func (t *tables) past(h past) uint16 {
	id := t.pasts.id(fmt.Append(nil, h.led, h.died, h.ledger), h)
	if id > 1<<16-1 {
		panic("too many pasts")
	}
	return uint16(id)
}

// shows notes what others have of a state too.
func (s *scope) shows(state []byte) {
	line := s.project(state)
	s.seenMu.Lock()
	defer s.seenMu.Unlock()
	s.seen[line] = true
}
