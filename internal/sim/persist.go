package sim

import (
	"fmt"
	"strings"
)

// Site is a place in the driver at which something becomes durable.
type Site uint8

// The sites of the metadata directory.
const (
	SaveElection  Site = iota // quorum-state: written aside, synced, renamed, folder synced
	WriteLog                  // appends and cuts of the log
	SyncLog                   // the sync that makes them durable
	PlaceSnapshot             // a downloaded snapshot gets its name
	CutLog                    // the log begins where that snapshot ends
	MakeSnapshot              // a snapshot of our own gets its name
	CleanLog                  // the log starts later, older snapshots go
	sites
)

var siteNames = [sites]string{"quorum-state", "write-log", "sync-log", "place-snapshot", "cut-log", "make-snapshot", "clean-log"}

func (s Site) String() string { return siteNames[s] }

// phase is when a crash comes, seen from a site.
type phase uint8

const (
	before phase = iota
	during
	after
	phases
)

var phaseNames = [phases]string{"before", "during", "after"}

// fate is what a crash leaves of what was not synced.
type fate uint8

const (
	lost fate = iota // nothing
	torn             // a part
	kept             // all, or there was nothing
	fates
)

var fateNames = [fates]string{"lost", "torn", "kept"}

// Crashes counts crashes at each site, by when they came and what they left.
type Crashes [sites][phases][fates]int

// Add sums two counts.
func (c *Crashes) Add(o Crashes) {
	for s := range c {
		for p := range c[s] {
			for f := range c[s][p] {
				c[s][p][f] += o[s][p][f]
			}
		}
	}
}

// Hit is how many of all combinations were hit.
func (c *Crashes) Hit() (hit, all int) {
	for s := range c {
		for p := range c[s] {
			for _, n := range c[s][p] {
				if all++; n > 0 {
					hit++
				}
			}
		}
	}
	return hit, all
}

// Counts are all combinations in order, with commas: figures of several runs are
// summed up by scripts.
func (c *Crashes) Counts() string {
	var b strings.Builder
	for s := range c {
		for p := range c[s] {
			for _, n := range c[s][p] {
				fmt.Fprintf(&b, ",%d", n)
			}
		}
	}
	return b.String()[1:]
}

// Missing names the combinations that were not hit.
func (c *Crashes) Missing() string {
	var b strings.Builder
	for s := range c {
		for p := range c[s] {
			for f, n := range c[s][p] {
				if n == 0 {
					fmt.Fprintf(&b, " %v:%s:%s", Site(s), phaseNames[p], fateNames[f])
				}
			}
		}
	}
	return b.String()
}

// crashesNow draws whether a node goes down at a site. Rare sites get weight, but
// no more than lets two of three come to the next phase.
func (n *node) crashesNow(weight int) bool {
	return n.w.chance(min(max(n.w.plan.CrashAtDisk, 2)*weight, mostCrashes), 1000, CrashedAtDisk)
}

// mostCrashes is of a thousand.
const mostCrashes = 333

// crashesAt tells that the node goes down at a site; the crash has then happened.
func (n *node) crashesAt(s Site, p phase, weight int) bool {
	if !n.crashesNow(weight) {
		return false
	}
	n.w.crashes[s][p][n.crash(fmt.Sprintf("%s %v", phaseNames[p], s))]++
	return true
}

// crashesDuring tells that the node goes down while a file or a folder changes,
// which a crash leaves as it was or as it is to be.
func (n *node) crashesDuring(s Site, weight int, change func()) bool {
	if !n.crashesNow(weight) {
		return false
	}
	f := n.crash("during " + s.String())
	n.w.crashes[s][during][f]++
	if undone := f != kept && n.w.plan.Active[RenameUndone]; !undone {
		change()
	} else {
		n.w.faults[RenameUndone]++
	}
	return true
}
