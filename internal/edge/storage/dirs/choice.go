package dirs

import (
	"cmp"
	"slices"
)

// scarceBelow is the part of a volume, one in so many, below which its free space
// counts as scarce.
const scarceBelow = 10

// isScarce tells whether a volume has little room left: what it takes now it may have
// to give up soon. What is not known is not scarce.
func isScarce(total, usable int64) bool {
	return total > 0 && usable >= 0 && usable < total/scarceBelow
}

// standing is what counts when a new replica may lie in any directory.
type standing struct {
	cordoned, scarce bool
	logs             int
}

// better orders directories for a new replica, the best first: as in Apache Kafka the
// one with the fewest logs, but those whose volumes have little room left behind all
// others, and those that are cordoned behind these.
func (s standing) better(than standing) int {
	return cmp.Or(last(s.cordoned, than.cordoned), last(s.scarce, than.scarce), cmp.Compare(s.logs, than.logs))
}

// last puts what is behind what is not.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// standing is how the directory stands now.
func (d *directory) standing() standing {
	d.mu.Lock()
	logs := len(d.logs) + len(d.futures)
	d.mu.Unlock()
	return standing{cordoned: d.cordoned.Load(), scarce: d.scarce.Load(), logs: logs}
}

// bestFirst orders the directories that work for a new replica. Equal ones stay in the
// order of log.dirs.
func (d *Dirs) bestFirst() []*directory {
	type choice struct {
		*directory
		standing standing
	}
	var list []choice
	for _, dir := range d.directories() {
		if dir.offline() == nil {
			list = append(list, choice{dir, dir.standing()})
		}
	}
	slices.SortStableFunc(list, func(a, b choice) int { return a.standing.better(b.standing) })
	out := make([]*directory, len(list))
	for i, c := range list {
		out[i] = c.directory
	}
	return out
}
