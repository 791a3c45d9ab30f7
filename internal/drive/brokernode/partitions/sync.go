package partitions

import (
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
)

// syncing is the group commit of topics with flush.messages: a sync starts when
// none is running and takes with it all that arrived during the one before.
//
// A batch that a sync is due for becomes visible only with it: the core is told
// of the new end afterwards, so neither producers nor consumers ever learn of
// records that a crash could take away.
type syncing struct {
	// running stays set after a sync that failed: what is on disk is not known
	// then, and the directory is about to go offline.
	running bool
	// shown is the end that the core knows.
	shown kafka.Offset
	// wanted is the end that a sync was asked for, synced what the disk holds.
	// Invariant: synced < wanted only while running.
	wanted, synced kafka.Offset
}

// due tells whether so many records are unsynced that a sync must cover end. A
// duplicate must not be confirmed before its first copy is on disk.
func (s *syncing) due(end kafka.Offset, every int64, duplicate bool) bool {
	switch {
	case every == math.MaxInt64:
		return false
	case duplicate:
		return end > s.synced
	}
	return int64(end-max(s.wanted, s.synced)) >= every
}

// flushing is what syncs do to a replica that leads.
type flushing struct{ *state }

// start asks for a sync up to end. mu is held.
func (p flushing) start(end kafka.Offset) {
	p.sync.wanted = max(p.sync.wanted, end)
	if !p.sync.running {
		p.sync.running = true
		p.host.work.Go(p.syncAll)
	}
}

// visible is how much of a log that ends at end the core may know of: while a
// sync runs, not more than what the disk holds or what it knows already.
func (s *syncing) visible(end kafka.Offset) kafka.Offset {
	if s.running {
		end = min(end, max(s.synced, s.shown))
	}
	s.shown = max(s.shown, end) // a duplicate ends where it was the first time
	return end
}

// reset begins a leader epoch in which the core knows of shown: a follower's log
// may have been cut below what was known or synced before. mu is held.
func (s *syncing) reset(synced, shown kafka.Offset) {
	s.shown = shown
	if !s.running {
		s.wanted, s.synced = synced, synced
	}
}

// cut follows a truncation: what lies above end is no longer there. mu is held.
func (s *syncing) cut(end kafka.Offset) {
	s.shown, s.wanted, s.synced = min(s.shown, end), min(s.wanted, end), min(s.synced, end)
}

// syncAll syncs until nothing is wanted. A log that fails takes its directory
// offline by itself, which answers all who wait.
func (p flushing) syncAll() {
	for more := true; more; {
		p.mu.Lock()
		log := p.log
		p.mu.Unlock()
		if log == nil {
			return
		}
		end, err := log.Sync()
		if err != nil && p.switched(log) {
			continue
		}
		if err != nil {
			return
		}
		more = p.syncedTo(end)
	}
}

// syncedTo lets the core know what the disk holds, and tells whether more is
// wanted. When nothing is, the rest of the log needs no sync to be visible, and
// the next one that is due is made by another goroutine.
func (p flushing) syncedTo(end kafka.Offset) bool {
	var room [8]*await.Parked
	p.mu.Lock()
	if p.log != nil {
		end = min(end, p.log.RecoveryPoint()) // less, if the log was cut meanwhile
	}
	p.sync.synced = max(p.sync.synced, end)
	more := p.log != nil && p.sync.wanted > end && p.log.End() > end
	if !more {
		p.sync.running, p.sync.wanted = false, p.sync.synced
		if p.log != nil {
			end = p.log.End()
		}
	}
	wake := p.step(replica.Appended{End: p.sync.visible(end)}, room[:0])
	if !p.out.HighWatermarkMoved {
		wake = p.commits.AppendTo(wake) // acks=1 waits for the sync alone
	}
	p.mu.Unlock()
	await.PokeAll(wake)
	return more
}
