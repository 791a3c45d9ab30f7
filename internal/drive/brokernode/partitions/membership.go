package partitions

import (
	"slices"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// membership is what metadata, its directory, the controller and time do to a
// replica.
type membership struct{ *state }

func (p *Partition) membership() membership { return membership{&p.state} }

// attach gives a replica that has none its log.
func (p membership) attach(log *storage.Log, dir kafka.DirID, highWatermark kafka.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = log
	p.lieIn(dir)
	p.sync = syncing{synced: log.RecoveryPoint(), shown: log.End()}
	p.core = replica.New(replica.Config{
		Self: p.host.cfg.Self, LagMax: p.host.lagMax, MinISR: p.Policy().MinInsyncReplicas,
		HighWatermark: highWatermark, Log: replica.Extent{Start: log.Start(), End: log.End()},
	})
}

// assign hands the replica what metadata says about it. A new leader epoch is
// entered into the log's history before anybody can append in it.
func (p membership) assign(a replica.Assigned) error {
	var room [8]*await.Parked
	if !p.enter() {
		return nil
	}
	if p.log == nil {
		p.mu.Unlock()
		return nil // offline: it keeps answering so, whatever its role
	}
	a.Log = replica.Extent{Start: p.log.Start(), End: max(p.log.Start(), p.sync.visible(p.log.End()))}
	ledBefore, oldEpoch := p.core.Role() == replica.Leading, p.core.LeaderEpoch()
	var err error
	if a.Leader == p.host.cfg.Self && a.LeaderEpoch > oldEpoch {
		err = p.log.BecomeLeader(a.LeaderEpoch)
	}
	wake, turned := room[:0], false
	if err == nil {
		wake = p.step(a, wake)
		if turned = p.out.Turned; turned {
			p.sync.reset(p.log.RecoveryPoint(), a.Log.End)
		}
	}
	leadsNow, epoch := p.core.Role() == replica.Leading, p.core.LeaderEpoch()
	p.mu.Unlock()
	await.PokeAll(wake)
	if turned && ledBefore {
		p.announceEnd(oldEpoch, false)
	}
	if turned && leadsNow {
		p.announceBegin(epoch)
	}
	return err
}

// moves notes whom a reassignment adds to the replicas.
func (p membership) moves(adding []kafka.NodeID) {
	switch {
	case len(adding) > 0:
		kept := adding // adding itself stays off the heap where nothing moves
		p.joining.Store(&kept)
	case p.joining.Load() != nil:
		p.joining.Store(nil)
	}
}

// joins tells whether a reassignment adds a replica.
func (p *state) joins(id kafka.NodeID) bool {
	adding := p.joining.Load()
	return adding != nil && slices.Contains(*adding, id)
}

func (p membership) announceBegin(epoch kafka.Epoch) {
	if e := p.host.cfg.Elections[p.Name.Topic]; e != nil {
		e.Elected(p.Name, epoch)
	}
}

func (p membership) announceEnd(epoch kafka.Epoch, deleted bool) {
	if e := p.host.cfg.Elections[p.Name.Topic]; e != nil {
		e.Resigned(p.Name, epoch, deleted)
	}
}

// configure changes the topic's configuration.
func (p membership) configure(c config.LogConfig) {
	if *p.Policy() == c {
		return
	}
	var room [8]*await.Parked
	p.policy.Store(p.host.policyFor(c))
	if !p.enter() {
		return
	}
	wake := room[:0]
	if p.log != nil {
		p.log.SetConfig(c)
		if p.move != nil {
			p.move.log.SetConfig(c)
		}
		wake = p.step(replica.Configured{MinISR: c.MinInsyncReplicas}, wake)
	}
	p.mu.Unlock()
	await.PokeAll(wake)
}

// detach ends the replica and gives its log up. What waits on it is answered. On a
// directory that has failed there is none to give up.
func (p membership) detach(deleted bool) *storage.Log {
	if !p.enter() {
		go p.end(true, deleted)
		return nil
	}
	log, led, epoch, wake := p.stop(true)
	await.PokeAll(wake)
	if led {
		p.announceEnd(epoch, deleted)
	}
	return log
}

// failed takes the replica out of service if it lies in the directory, and ends its
// move from or to it.
func (p membership) failed(dir kafka.DirID) {
	if !p.mu.TryLock() {
		go p.fall(dir) // who holds the lock may be in a write that hangs
		return
	}
	p.mu.Unlock()
	p.fall(dir)
}

func (p membership) fall(dir kafka.DirID) {
	p.moveFailed(dir)
	if p.dirNow() == dir {
		p.end(false, false)
	}
}

// end is stop with all that follows from it, as soon as the lock can be had.
func (p membership) end(gone, deleted bool) {
	p.mu.Lock()
	_, led, epoch, wake := p.stop(gone)
	await.PokeAll(wake)
	if led {
		p.announceEnd(epoch, deleted)
	}
}

// stop ends the use of the log, tells what the replica was, and gives the lock up,
// which is held.
func (p membership) stop(gone bool) (log *storage.Log, led bool, epoch kafka.Epoch, wake []*await.Parked) {
	defer p.mu.Unlock()
	log = p.log
	if log != nil {
		led, epoch = p.core.Role() == replica.Leading, p.core.LeaderEpoch()
	}
	p.log, p.gone = nil, gone
	return log, led, epoch, p.tails.AppendTo(p.reads.AppendTo(p.commits.AppendTo(nil)))
}

func (p membership) trimmed() {
	var room [8]*await.Parked
	if !p.enter() {
		return
	}
	wake := room[:0]
	if p.log != nil {
		wake = p.step(replica.Trimmed{Start: p.log.Start()}, wake)
	}
	p.mu.Unlock()
	await.PokeAll(wake)
}

func (p membership) tick() {
	var room [8]*await.Parked
	if !p.enter() {
		return
	}
	wake := room[:0]
	if p.log != nil {
		wake = p.step(replica.Tick{}, wake)
		p.proposeISR()
	}
	p.mu.Unlock()
	await.PokeAll(wake)
}

func (p membership) proposed(answer replica.Proposed) {
	var room [8]*await.Parked
	if !p.enter() {
		return
	}
	wake := room[:0]
	if p.log != nil {
		wake = p.step(answer, wake)
		p.host.figures.answered(answer)
	}
	p.mu.Unlock()
	await.PokeAll(wake)
}
