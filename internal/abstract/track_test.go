package abstract

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// R2, R3: a process begins with the election state that the one before had, or with
// that from before its last step, and with the log that was durable. Another disk, and
// one whose log a snapshot has replaced, promise nothing; neither do observers.
func TestWhatOutlivesAProcess(t *testing.T) {
	f := func(what string, want bool, change func(s *State, d *Disk)) {
		t.Helper()
		s := three()
		d := Disk{Self: s.self, Epoch: 3, Voted: key(2), Leader: kafka.NoNode, LogEnd: 10}
		s.Voted, s.synced = key(2), 10
		tr := Tracker{durable: ballotPaper{2, key(1), kafka.NoNode}}
		change(&s, &d)
		tr.state = s
		if err := tr.kept(&d); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("all is there", true, func(*State, *Disk) {})
	f("the last step is not", true, func(_ *State, d *Disk) { d.Epoch, d.Voted = 2, key(1) })
	f("an epoch between", false, func(_ *State, d *Disk) { d.Epoch = 2 })
	f("no vote", false, func(_ *State, d *Disk) { d.Voted = noKey })
	f("a vote for another", false, func(_ *State, d *Disk) { d.Voted = key(3) })
	f("a leader", false, func(_ *State, d *Disk) { d.Leader = 3 })
	f("a shorter log", false, func(_ *State, d *Disk) { d.LogEnd = 9 })
	f("a shorter log, not synced", true, func(s *State, d *Disk) { s.synced, d.LogEnd = 9, 9 })
	f("a shorter log of an observer", true, func(s *State, d *Disk) { s.ctl, d.LogEnd = false, 9 })
	f("a shorter log after a fault of the disk", true, func(s *State, d *Disk) { s.dead, d.LogEnd = true, 9 })
	f("a snapshot in its place", true, func(s *State, d *Disk) { s.installing, d.LogStart, d.LogEnd = 1, 9, 9 })
	f("a snapshot that nobody asked for", false, func(_ *State, d *Disk) { d.LogStart, d.LogEnd = 9, 9 })
	f("another disk", true, func(_ *State, d *Disk) { d.Self.Dir[0], d.Epoch, d.LogEnd = 1, 0, 0 })
	seeks := func(s *State, _ *Disk) { s.seeking = true }
	refuses := func(s *State, _ *Disk) { s.lostUpTo, s.Voted = 3, noKey }
	f("votes that were lost, forgotten", false, seeks)
	f("votes that were lost", true, func(s *State, d *Disk) { seeks(s, d); d.Forgotten = true })
	f("votes that may have been in this epoch, forgotten", false, func(s *State, d *Disk) { refuses(s, d); d.Voted = noKey })
	f("votes that may have been in this epoch, which has a leader", true, func(s *State, d *Disk) { refuses(s, d); d.Voted, s.Leader, d.Leader = noKey, 3, 3 })
	f("votes that may have been in the epoch before", true, func(s *State, _ *Disk) { s.lostUpTo = 2 })
	f("votes that are known, called lost", true, func(_ *State, d *Disk) { d.Forgotten = true }) // a kill came before the mark was gone
	vote := kafka.ReplicaKey{Node: 2, Dir: kafka.DirID{1}}
	f("a vote without its directory", true, func(s *State, _ *Disk) { s.Voted = vote })
	f("a vote of another directory", false, func(s *State, d *Disk) { s.Voted, d.Voted = vote, kafka.ReplicaKey{Node: 2, Dir: kafka.DirID{2}} })
}
