package sim

import (
	"fmt"
	"strings"
)

// Fault is a kind of thing that goes wrong.
type Fault uint8

// The kinds of faults. Messages first, then links, nodes, disks.
const (
	Lost          Fault = iota // a message is gone, and nobody sends it again
	Resent                     // a message is lost and sent again: it is late
	Repeated                   // a message arrives twice
	Late                       // messages are delayed at random, and those of different connections overtake
	Clogged                    // a link holds all messages back for a while
	Cut                        // two nodes do not hear each other
	CutOneWay                  // one node does not hear another
	Reset                      // a connection breaks
	Crashed                    // a process is gone, and comes back later
	CrashedAll                 // all at once
	Paused                     // a process stands still, and goes on
	Drifting                   // clocks run at different speeds
	AskedToEnd                 // a leader is asked to resign, or a node to stop in good order
	CrashedAtDisk              // a crash just before, in, or after something becomes durable
	SlowSync                   // a sync takes long, up to some seconds
	FailedSync                 // a sync fails: the node only refuses until it is started again
	Snapshots                  // logs are replaced by snapshots
	faultKinds
)

var faultNames = [faultKinds]string{
	"lost", "resent", "repeated", "late", "clogged", "cut", "cut-one-way", "reset", "crashed", "crashed-all",
	"paused", "drifting", "asked-to-end", "crashed-at-disk", "slow-sync", "failed-sync", "snapshots",
}

func (f Fault) String() string { return faultNames[f] }

// Faults counts how often each kind was hit.
type Faults [faultKinds]int

// Add sums two counts.
func (f *Faults) Add(o Faults) {
	for i, n := range o {
		f[i] += n
	}
}

func (f Faults) String() string {
	var b strings.Builder
	for i, n := range f {
		if n > 0 {
			fmt.Fprintf(&b, " %v=%d", Fault(i), n)
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()[1:]
}
