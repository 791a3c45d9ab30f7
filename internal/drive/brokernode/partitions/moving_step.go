package partitions

import (
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/move"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// MoveStep says when a move wants its next step.
type MoveStep uint8

// The answers of StepMove.
const (
	MoveOver MoveStep = iota // never: the move has ended
	MoveOn                   // at once: there is more to copy
	MoveWait                 // soon: it is level, and waits for more records or the controller
)

// levelBytes is how much is copied at most while the replica's lock is held, to make
// the future replica level with the current one.
const levelBytes = 256 << 10

// StepMove copies up to limit bytes, or one batch, to the future replica, and tells the
// controller of it or switches the replicas when that is due. It says how much it
// has copied. It may be called by one goroutine at a time, which lends it a buffer.
func (p *Partition) StepMove(limit int, buf *[]byte) (copied int, next MoveStep, err error) {
	p.mu.Lock()
	mv, current := p.move, p.log
	if mv == nil || current == nil {
		p.mu.Unlock()
		return 0, MoveOver, nil
	}
	cut := mv.cut
	mv.cut = nowhereCut
	p.mu.Unlock()
	c := copying{from: current, to: mv.log, buf: buf}
	trims := mv.log.Start() < current.Start()
	if err := c.follow(cut); err != nil {
		p.cutAgain(mv, cut)
		return 0, MoveWait, err
	}
	if trims {
		p.pokeTrimmed()
	}
	if copied, err = c.copy(limit); err != nil {
		return copied, MoveWait, err
	}
	if copied > levelBytes || copied >= limit {
		return copied, MoveOn, nil
	}
	rest, next, err := p.settleMove(mv, c, min(limit, levelBytes))
	return copied + rest, next, err
}

// settleMove makes the future replica level and does what that is good for.
func (p *Partition) settleMove(mv *moving, c copying, limit int) (copied int, next MoveStep, err error) {
	if f := p.host.facts(&p.state, p.snapshot(mv)); f.Named == f.Target {
		if _, err := mv.log.Sync(); err != nil { // most of it here, without a lock
			return 0, MoveWait, err
		}
	}
	p.mu.Lock()
	if p.move != mv || p.log != c.from || mv.cut != nowhereCut {
		p.mu.Unlock()
		return 0, MoveOn, nil
	}
	copied, err = c.copy(limit)
	facts := p.host.facts(&p.state, mv)
	facts.Level = err == nil && mv.log.End() == p.log.End()
	act := move.Next(facts)
	switch act {
	case move.Switch:
		err = p.switchOver(mv)
	case move.Tell:
		mv.told, mv.since = true, p.host.now()
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		return copied, MoveWait, err
	case act == move.CatchUp:
		return copied, MoveOn, nil
	case act == move.Tell:
		p.host.cfg.Assign.Assign(p.ID, mv.target)
	case act == move.Switch:
		p.host.moves.Add(1) // its directory has a high watermark to write down
		p.pokeTrimmed()
		p.host.cfg.Log.Info("a replica has moved between directories", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "to", mv.target)
		return copied, MoveOver, nil
	}
	return copied, MoveWait, nil
}

// cutAgain leaves a cut that could not be made to the next step.
func (p *Partition) cutAgain(mv *moving, cut kafka.Offset) {
	p.mu.Lock()
	mv.cut = min(mv.cut, cut)
	p.mu.Unlock()
}

// snapshot is a move as it is now.
func (p *Partition) snapshot(mv *moving) *moving {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := *mv
	return &now
}

// switchOver puts the future replica, which is level, in the place of the current one.
// Everything in it is on disk before: records that producers were told of may have been
// synced where they were. mu is held, over the sync of a short tail and the renames: no
// record may come between.
func (p *Partition) switchOver(mv *moving) error {
	if err := mv.log.SetStart(p.log.Start()); err != nil {
		return err
	}
	if _, err := mv.log.Sync(); err != nil {
		return err
	}
	if err := mv.log.Adopt(p.log); err != nil {
		return err
	}
	if err := p.host.cfg.Moves.Dirs.Promote(mv.log, p.log); err != nil {
		return err
	}
	p.log, p.move = mv.log, nil
	p.lieIn(mv.target)
	p.sync.synced = max(p.sync.synced, p.log.RecoveryPoint())
	if !p.sync.running {
		p.sync.wanted = p.sync.synced
	}
	return nil
}

// switched tells whether the replica has another log by now.
func (p *state) switched(from *storage.Log) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log != nil && p.log != from
}

// pokeTrimmed wakes who waits until records are deleted, in the future replica too.
func (p *Partition) pokeTrimmed() {
	var room [8]*await.Parked
	p.mu.Lock()
	wake := room[:0]
	if p.log != nil {
		wake = p.commits.AppendTo(p.step(replica.Trimmed{Start: p.log.Start()}, wake))
	}
	p.mu.Unlock()
	await.PokeAll(wake)
}

// copying takes records from one log of a partition to another one.
type copying struct {
	from, to *storage.Log
	buf      *[]byte
}

// follow cuts the copy where the original was cut, and deletes what it has deleted.
func (c copying) follow(cut kafka.Offset) error {
	if cut < c.to.End() {
		if err := c.to.TruncateTo(cut); err != nil {
			return err
		}
	}
	switch start := c.from.Start(); {
	case c.to.End() < start:
		return c.to.TruncateFullyAndStartAt(start)
	case c.to.Start() < start:
		return c.to.SetStart(start)
	}
	return nil
}

// copy appends what follows up to a limit, but at least one batch. Where the original was
// cut or has deleted records meanwhile nothing is copied: follow comes first.
func (c copying) copy(limit int) (copied int, err error) {
	for copied < limit {
		n, err := c.portion(limit - copied)
		if copied += n; err != nil || n == 0 {
			return copied, err
		}
	}
	return copied, nil
}

// portion does so within one segment.
func (c copying) portion(limit int) (int, error) {
	s, err := c.from.Read(c.to.End(), limit, math.MaxInt64, true)
	if kerr.Of(err) == kerr.OffsetOutOfRange {
		return 0, nil
	}
	if err != nil || s.Len == 0 {
		s.Close()
		return 0, err
	}
	b, err := s.AppendTo((*c.buf)[:0])
	s.Close()
	*c.buf = b
	if err != nil {
		return 0, err
	}
	return len(b), c.append(b)
}

// append appends whole batches. The first may begin below the original's start, which
// lies within it then.
func (c copying) append(b []byte) error {
	start := c.to.Start()
	base, straddles := straddling(b, start, math.MaxInt32)
	if start == c.to.End() && straddles {
		if err := c.to.TruncateFullyAndStartAt(base); err != nil {
			return err
		}
		if _, err := c.to.AppendFollower(b, math.MaxInt32); err != nil {
			return err
		}
		return c.to.SetStart(start)
	}
	_, err := c.to.AppendFollower(b, math.MaxInt32)
	return err
}
