package sim

import (
	"fmt"
	"strings"
)

// Fault is a kind of thing that goes wrong.
type Fault uint8

// The kinds of faults: messages, links, nodes, clocks, disks. The numbers of
// docs/design/simulation.md stand in kinds.
const (
	Lost      Fault = iota // a message is gone, and nobody sends it again
	Resent                 // a message is lost and sent again: it is late
	Repeated               // a message arrives twice
	Late                   // messages are delayed at random, and those of different connections overtake
	Clogged                // a link holds all messages back for a while
	Cut                    // two nodes do not hear each other
	CutOneWay              // one node does not hear another
	Unheard                // requests pass and their answers do not
	Crowded                // a full queue drops what comes
	Reset                  // a connection breaks while a message is under way
	Replayed               // a request of an epoch that is over arrives once more
	Garbled                // a byte of a frame is flipped: the frame, or what it brought, is refused

	Crashed       // a process is gone, and comes back later
	CrashedAll    // all at once
	CrashedAtDisk // a crash just before, in, or after something becomes durable
	Paused        // a process stands still, and goes on
	Slow          // a process takes up to 20 ms for everything
	OtherVersion  // a process comes back as another release: one that knows no pre-votes, or does again
	DiskLost      // a voter's disk is replaced: it comes back empty, with a new directory id
	Reformatted   // a node that does not vote comes back from nothing
	AskedToEnd    // a leader is asked to resign, or a node to stop in good order

	Skewed   // the date at a start is wrong
	Jumped   // a clock jumps ahead or back
	Drifting // clocks run at different speeds
	Starved  // a timer fires late although messages are handled

	Forgotten    // a crash takes writes that were not synced
	Torn         // a crash leaves half of a batch
	FailedWrite  // a write fails: the node only refuses until it is started again
	FailedSync   // a sync fails, likewise
	FailedRead   // records cannot be read for an answer
	FlippedBit   // records that are read for an answer have a flipped bit
	Misread      // other records are read than were asked for
	NoSpace      // a write fails half-way because the disk is full
	ReadOnly     // the disk can only be read, from some moment on
	SlowSync     // a sync takes long, up to a minute
	RenameUndone // a crash takes back the rename that made a file the current one
	Snapshots    // logs are replaced by snapshots: no fault, but what others meet
	faultKinds
)

// kinds are the names, and the numbers by which the design knows the faults.
var kinds = [faultKinds]struct{ name, number string }{
	Lost: {"lost", "F1"}, Resent: {"resent", "F1"}, Repeated: {"repeated", "F2"}, Late: {"late", "F3"},
	Clogged: {"clogged", "F4"}, Cut: {"cut", "F5"}, CutOneWay: {"cut-one-way", "F6"}, Unheard: {"unheard", "F7"},
	Crowded: {"crowded", "F8"}, Reset: {"reset", "F9"}, Replayed: {"replayed", "F10"}, Garbled: {"garbled", "F11"},

	Crashed: {"crashed", "F12"}, CrashedAtDisk: {"crashed-at-disk", "F12"}, CrashedAll: {"crashed-all", "F13"},
	Paused: {"paused", "F14"}, OtherVersion: {"other-version", "F15"}, DiskLost: {"disk-lost", "F16"},
	Reformatted: {"reformatted", "F17"}, Slow: {"slow", "F18"}, AskedToEnd: {"asked-to-end", "-"},

	Skewed: {"skewed", "F19"}, Jumped: {"jumped", "F20"}, Drifting: {"drifting", "F21"}, Starved: {"starved", "F22"},

	Forgotten: {"forgotten", "F23"}, Torn: {"torn", "F24"}, FailedWrite: {"failed-write", "F25"},
	FailedSync: {"failed-sync", "F26"}, FailedRead: {"failed-read", "F27"}, FlippedBit: {"flipped-bit", "F28"},
	Misread: {"misread", "F29"}, NoSpace: {"no-space", "F30"}, ReadOnly: {"read-only", "F31"},
	SlowSync: {"slow-sync", "F32"}, RenameUndone: {"rename-undone", "F33"}, Snapshots: {"snapshots", "-"},
}

func (f Fault) String() string { return kinds[f].name }

// Number is F1 to F34, or "-" for what is no fault.
func (f Fault) Number() string { return kinds[f].number }

// Faults counts how often each kind was hit.
type Faults [faultKinds]int

// Add sums two counts.
func (f *Faults) Add(o Faults) {
	for i, n := range o {
		f[i] += n
	}
}

// Hit is how many kinds were hit.
func (f *Faults) Hit() (kinds int) {
	for _, n := range f {
		if n > 0 {
			kinds++
		}
	}
	return kinds
}

func (f Faults) String() string {
	var b strings.Builder
	for i, n := range f {
		if n > 0 {
			fmt.Fprintf(&b, " %s:%v=%d", Fault(i).Number(), Fault(i), n)
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()[1:]
}
