package partitions

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/move"
)

// settle gives a replica the log that was found of it, and tells whether there is
// nothing left to do: it has one, or several of which nobody knows which counts.
func (m *Manager) settle(p *Partition, wanted kafka.DirID) bool {
	list := m.loaded[p.Name]
	delete(m.loaded, p.Name)
	found := make([]move.Copy, len(list))
	for i, l := range list {
		found[i] = move.Copy{Dir: l.Dir, Future: l.Future, Foreign: l.Topic != p.ID.Topic, End: l.Log.End()}
	}
	done, doubtful := false, false
	var future *LoadedLog
	for i, fate := range move.Settle(move.Ground{Named: wanted, AnyOffline: m.cfg.Dirs.AnyOffline()}, found) {
		l := list[i]
		switch fate {
		case move.Serve:
			done = true
			m.serve(p, l)
		case move.Promote:
			done = true
			m.promote(p, l)
		case move.Resume:
			future = &l
		case move.Stray:
			m.setAside(l)
		case move.Discard:
			m.discard(l.Name, l.Log)
		default:
			doubtful = doubtful || !l.Future
			m.cfg.Log.Error("a copy of a replica is left as it is: metadata names none of its directories", "folder", l.Log.Dir(), "named", wanted)
		}
	}
	switch {
	case doubtful:
		m.cfg.Assign.Assign(p.ID, kafka.DirLost)
		return true
	case !done:
		return false
	case future != nil:
		m.resume(p, *future)
	}
	if !p.Status().Offline && !p.movesTo(wanted) {
		m.report(p, wanted)
	}
	return true
}

func (m *Manager) serve(p *Partition, l LoadedLog) {
	l.Log.SetConfig(*p.Policy())
	p.membership().attach(l.Log, l.Dir, l.HighWatermark)
	p.mu.Lock()
	left := p.left
	p.left = nil
	p.mu.Unlock()
	switch {
	case left == nil:
	case left.source == l.Dir && m.cfg.Dirs.Online(left.target) && left.log.Err() == nil: // else its disk has failed, too, since
		m.resume(p, LoadedLog{Log: left.log, Dir: left.target})
	default:
		m.discard(p.Name, left.log)
	}
}

// serves tells whether a replica is here and can be used.
func (m *Manager) serves(id kafka.TopicIDPartition) bool {
	m.mu.RLock()
	p := m.byID[id]
	m.mu.RUnlock()
	return p != nil && !p.Status().Offline
}

// promote ends a move whose source is gone.
func (m *Manager) promote(p *Partition, l LoadedLog) {
	if m.cfg.Moves == nil {
		return
	}
	m.cfg.Log.Warn("the copy of an unfinished move becomes the replica: there is no other", "folder", l.Log.Dir(), "end", int64(l.Log.End()))
	if err := m.cfg.Moves.Dirs.Promote(l.Log, nil); err != nil {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("the copy of an unfinished move stays in place", "folder", l.Log.Dir(), "err", err)
		return
	}
	m.serve(p, l)
}

// resume goes on with a move.
func (m *Manager) resume(p *Partition, l LoadedLog) {
	if m.cfg.Moves == nil {
		return
	}
	l.Log.SetConfig(*p.Policy())
	p.mu.Lock()
	mv := &moving{log: l.Log, source: p.dirNow(), target: l.Dir, cut: nowhereCut}
	if agreed := move.Agreed(historyOf(p.log), historyOf(l.Log)); agreed < l.Log.End() {
		mv.cut = agreed
	}
	p.move = mv
	p.mu.Unlock()
	m.cfg.Log.Info("a move between directories goes on", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "to", l.Dir, "at", int64(l.Log.End()))
	m.cfg.Moves.Begin(p)
}
