package raft

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
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
	// once has each message arrive once at most: it may be late, lost and overtaken,
	// but is not repeated.
	once bool
	// impatient is the only node whose timer ends; 0: any.
	impatient kafka.NodeID
	// elected begins with an epoch that node 1 leads and all follow.
	elected bool
	// anyOrder looks at every order in which nodes begin, also where they can be told
	// apart by nothing else.
	anyOrder bool
	// longer is the one of nodes 2 and 3 that has a record which the other lacks, when
	// node 1, which led, is gone for good (B6); 0: all are there.
	longer kafka.NodeID
	// since is the epoch that is over when all start.
	since kafka.Epoch
	// rounds has the order of rounds decide (B4): node 1, which led, is gone for good,
	// and whatever was sent has arrived before a d is over, see explore_rounds_test.go.
	rounds bool
	// prompt has times end only when everything that was sent has arrived.
	prompt bool
	// bug spoils what a step came to, in tests of the explorer.
	bug func(before *part, h *happened)

	gone kafka.NodeID // takes no step any more, and nothing reaches it
	*tables
}

// What a scope bounds: how often it happens, in all.
const (
	timeouts  = iota // a role's time ends
	crashes          // a process
	proposals        // of a batch
	changes          // of the voters are asked for
	losses           // of a disk
	proofs           // of a leader's death are told to a follower
	kinds
)

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
	actPause // the pause before a round that a longer log must start
	actProof // that its leader's process is gone reaches a follower
	actStale // the same of an epoch that is over
	actHalf  // of F has passed since the proof
	actD     // a d is over, or whatever else keeps rounds apart
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
	case actProof:
		return proofs
	}
	return -1
}

func newScope(s scope) *scope {
	s.tables = newTables()
	return &s
}

func (s *scope) nodes() int { return s.voters + s.spares }

// A state is: what was spent, how many nodes have taken a step, turns, past, parts,
// messages in order.
const headSize = kinds + 4

func (s *scope) Start() []byte {
	h := past{}
	for i := range h.led {
		h.led[i] = -1
	}
	state := binary.LittleEndian.AppendUint16(make([]byte, kinds+2), s.past(h))
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
		state = s.elect(state)
	}
	switch {
	case s.longer != 0:
		state = s.bereave(state)
	case s.rounds:
		state = s.widow(state)
	}
	return state
}

// elect goes from the start to a state in which node 1 leads, and everything that
// was sent has arrived.
func (s *scope) elect(state []byte) []byte {
	bounds, bug, mute, projected := s.bounds, s.bug, s.mute, s.seen
	s.bounds, s.bug, s.mute, s.seen = [kinds]uint8{timeouts: 1}, nil, mute && s.longer == 0 && !s.rounds, nil
	seen := map[string]bool{}
	next := s.after(state, func(step uint32) bool { return step == uint32(actTimeout)<<28 }, seen)
	for next != nil {
		state = next
		seen[string(state)] = true
		next = s.after(state, func(step uint32) bool { return step>>28 != actTimeout }, seen)
	}
	s.bounds, s.bug, s.mute, s.seen = bounds, bug, mute, projected
	state[timeouts], state[kinds] = 0, uint8(s.nodes())
	return state
}

// bereave goes on to where node 1 has appended a record of which one other node
// has a copy, and is gone.
func (s *scope) bereave(state []byte) []byte {
	bounds, mute := s.bounds, s.mute
	s.bounds, s.mute = [kinds]uint8{proposals: 1}, false
	seen := map[string]bool{}
	next := s.after(state, func(step uint32) bool { return step>>28 == actPropose }, seen)
	for next != nil {
		state = next
		seen[string(state)] = true
		next = s.after(state, func(step uint32) bool { return step>>28 == actDeliver && s.concerns(step, s.longer) }, seen)
	}
	s.bounds, s.mute, s.gone = bounds, mute, 1
	s.tables.forget()
	state[proposals] = 0
	return state[:headSize+4*s.nodes()]
}

// concerns tells whether a message to be delivered is to or from a node.
func (s *scope) concerns(step uint32, id kafka.NodeID) bool {
	m := s.messages.at(step & 0xffffff)
	return m.to == id || m.from == id
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

// tell is the story of a path.
func (s *scope) tell(path []uint32) string {
	var out strings.Builder
	for _, step := range path {
		i, arg := step>>24&15, step&0xffffff
		switch step >> 28 {
		case actDeliver:
			fmt.Fprintf(&out, "deliver %s\n", printEnvelope(s.messages.at(arg).envelope))
		case actCrash:
			fmt.Fprintf(&out, "crash %d, keeping %d late writes\n", i+1, arg)
		case actAdd:
			fmt.Fprintf(&out, "%d is asked to add %d\n", i+1, arg)
		case actRemove:
			fmt.Fprintf(&out, "%d is asked to remove %d\n", i+1, arg)
		case actLose:
			fmt.Fprintf(&out, "%d loses its disk\n", i+1)
		case actPause:
			fmt.Fprintf(&out, "the pause of %d ends\n", i+1)
		case actProof, actStale, actHalf, actD:
			tellDeath(&out, step)
		default:
			fmt.Fprintf(&out, "%s %d\n", []string{actTimeout: "timeout", actWrite: "write", actSync: "sync", actPropose: "propose"}[step>>28], i+1)
		}
	}
	return out.String()
}
