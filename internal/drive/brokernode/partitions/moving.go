package partitions

import (
	"errors"
	"math"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/move"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// Futures make logs that are to take the place of others in other directories;
// *dirs.Dirs is one.
type Futures interface {
	// CreateFuture makes the empty log of a replica that is to move to a directory.
	CreateFuture(tp kafka.TopicPartition, topic kafka.TopicID, dir kafka.DirID, c config.LogConfig) (*storage.Log, error)
	// Promote gives it its place, and removes the current log, unless that is nil,
	// once nobody reads it any more. After an error nothing was switched.
	Promote(future, current *storage.Log) error
}

// Moves is what moves of replicas between directories need.
type Moves struct {
	Dirs Futures
	// Begin has somebody call StepMove until it says that the move is over. It must
	// not block.
	Begin func(*Partition)
	// Pending tells whether a report to Assign was not answered yet.
	Pending func(kafka.TopicIDPartition) bool
}

// nowhereCut is the cut of a log that was not cut.
const nowhereCut kafka.Offset = math.MaxInt64

// moving is a move of a replica to another directory. The state's lock guards it, but
// for the log, which is appended to by StepMove alone.
type moving struct {
	log            *storage.Log // the future replica
	source, target kafka.DirID
	// cut is up to where the current log was cut since the future one was made like
	// it.
	cut   kafka.Offset
	told  bool // the controller was told of the target, last at since
	since kafka.Instant
}

// FutureStatus is how far a move is.
type FutureStatus struct {
	Dir  kafka.DirID
	End  kafka.Offset
	Size int64
}

// MoveReplica begins to move the replica of a partition to another directory, which
// may be cordoned. Naming the one where it lies ends its move. For a partition whose replica
// is not here yet the wish is kept until it is made (KIP-113). Errors carry a kerr code.
func (m *Manager) MoveReplica(tp kafka.TopicPartition, to kafka.DirID, cordoned bool) error {
	m.moving.Lock()
	defer m.moving.Unlock()
	switch {
	case m.cfg.Moves == nil:
		return kerr.Errorf(kerr.UnsupportedVersion, "replicas are not moved here")
	case !dirs.Movable(tp):
		return kerr.Errorf(kerr.InvalidTopicException, "the name of %s is too long for the folder of a move", tp.Topic)
	case !m.cfg.Dirs.Online(to):
		return kerr.Errorf(kerr.KafkaStorageError, "the directory %s is offline", to)
	}
	m.mu.RLock()
	p := m.byName[tp]
	m.mu.RUnlock()
	if cordoned && (p == nil || p.dirNow() != to) {
		return kerr.Errorf(kerr.InvalidReplicaAssignment, "the directory %s is cordoned", to)
	}
	if p == nil {
		return m.keepWish(tp, to)
	}
	return m.move(p, to)
}

func (m *Manager) keepWish(tp kafka.TopicPartition, to kafka.DirID) error {
	if _, ok := m.Image().Partition(tp); !ok {
		return kerr.UnknownTopicOrPartition
	}
	m.mu.Lock()
	m.wishes[tp] = to
	m.mu.Unlock()
	return kerr.ReplicaNotAvailable
}

// wish takes what was wished for a replica that is made now.
func (m *Manager) wish(tp kafka.TopicPartition) (kafka.DirID, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to, ok := m.wishes[tp]
	delete(m.wishes, tp)
	return to, ok
}

// move begins, changes or ends a move. moving is held.
func (m *Manager) move(p *Partition, to kafka.DirID) error {
	if !p.enter() {
		return kerr.KafkaStorageError
	}
	switch {
	case p.gone:
		p.mu.Unlock()
		return kerr.ReplicaNotAvailable
	case p.log == nil:
		p.mu.Unlock()
		return kerr.KafkaStorageError
	case p.move != nil && p.move.target == to:
		p.mu.Unlock()
		return nil
	}
	old, from := p.move, p.dirNow()
	p.move = nil
	p.mu.Unlock()
	m.ended(&p.state, old)
	if from == to {
		return nil
	}
	if m.cfg.Dirs.AnyOffline() {
		return kerr.Errorf(kerr.KafkaStorageError, "no move begins while a directory is offline: it may hold a copy of the replica")
	}
	return m.beginMove(p, to)
}

func (m *Manager) beginMove(p *Partition, to kafka.DirID) error {
	future, err := m.cfg.Moves.Dirs.CreateFuture(p.Name, p.ID.Topic, to, *p.Policy())
	if err != nil {
		return err
	}
	p.mu.Lock()
	begun := p.log != nil && m.cfg.Dirs.Online(to)
	if begun {
		p.move = &moving{log: future, source: p.dirNow(), target: to, cut: nowhereCut}
	}
	p.mu.Unlock()
	if !begun {
		m.discard(p.Name, future)
		return kerr.KafkaStorageError
	}
	m.cfg.Log.Info("a replica begins to move between directories", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "to", to)
	m.cfg.Moves.Begin(p)
	return nil
}

// ended takes back what a move without a switch has told, and removes its log.
func (m *Manager) ended(p *state, mv *moving) {
	if mv == nil {
		return
	}
	m.takeBack(p, mv)
	m.discard(p.Name, mv.log)
}

// takeBack assigns a replica back to the source of a move that has ended.
func (m *Manager) takeBack(p *state, mv *moving) {
	if move.Undo(m.facts(p, mv)) {
		m.cfg.Assign.Assign(p.ID, mv.source)
	}
}

// discard removes the log of a move; nil is none.
func (m *Manager) discard(name kafka.TopicPartition, future *storage.Log) {
	if future == nil {
		return
	}
	if err := m.cfg.Dirs.Delete(future); err != nil && !errors.Is(err, storage.ErrFailed) {
		m.figures.ApplyErrors.Add(1)
		m.cfg.Log.Error("the copy of a move cannot be deleted", "topic", name.Topic, "partition", int32(name.Partition), "err", err)
	}
}

// facts are those of a move, but for whether it is level.
func (m *Manager) facts(p *state, mv *moving) move.Facts {
	f := move.Facts{Source: mv.source, Target: mv.target, Told: mv.told}
	if _, part, ok := m.Image().PartitionByID(p.ID); ok {
		f.Named, _ = part.DirOf(m.cfg.Self)
	}
	if mv.told {
		f.Since = time.Duration(m.now() - mv.since)
	}
	f.Pending = m.cfg.Moves.Pending(p.ID)
	return f
}

// movesTo tells whether the controller need not hear that the replica lies where it
// lies, see move.Silent.
func (p *Partition) movesTo(named kafka.DirID) bool {
	if !p.enter() {
		return false
	}
	defer p.mu.Unlock()
	return p.move != nil && move.Silent(move.Facts{Target: p.move.target, Named: named, Told: p.move.told})
}

// Moving tells whether the replica moves to another directory.
func (p *Partition) Moving() bool {
	if !p.enter() {
		return false
	}
	defer p.mu.Unlock()
	return p.move != nil
}

// dropMove ends a move whose replica is gone, and gives the log to be removed.
func (p *Partition) dropMove() *storage.Log {
	if !p.enter() {
		return nil
	}
	defer p.mu.Unlock()
	mv := p.left
	if p.move != nil {
		mv = p.move
	}
	p.move, p.left = nil, nil
	if mv == nil {
		return nil
	}
	return mv.log
}

// moveFailed ends a move from or to a directory that has failed. What was copied stays
// where it is: of a failed target nothing can be removed, and when a failed source is
// back the move goes on.
func (p *state) moveFailed(dir kafka.DirID) {
	p.mu.Lock()
	mv := p.move
	if mv == nil || mv.source != dir && mv.target != dir {
		p.mu.Unlock()
		return
	}
	p.move = nil
	if mv.source == dir {
		p.left = mv
	}
	p.mu.Unlock()
	p.host.takeBack(p, mv)
}

func (p *state) futureStatus() *FutureStatus {
	if p.move == nil {
		return nil
	}
	return &FutureStatus{Dir: p.move.target, End: p.move.log.End(), Size: p.move.log.Size()}
}

// cutFuture notes that the current log was cut. mu is held, as in all below.
func (p *state) cutFuture() {
	if p.move != nil {
		p.move.cut = min(p.move.cut, p.log.End())
	}
}

// trimFuture deletes from a future replica what the current one has deleted. One that
// ends below begins anew at its next step. A disk that fails here ends the move.
func (p *state) trimFuture(start kafka.Offset) {
	if p.move != nil && p.move.log.End() >= start {
		_ = p.move.log.SetStart(start)
	}
}

// trimmedFuture is a low watermark that counts the future replica, too.
func (p *state) trimmedFuture(low kafka.Offset) kafka.Offset {
	if p.move == nil || p.move.log.End() < p.log.Start() {
		return low
	}
	return min(low, p.move.log.Start())
}

func historyOf(l *storage.Log) move.History {
	h := move.History{End: l.End()}
	for _, e := range l.Epochs() {
		h.Eras = append(h.Eras, move.Era(e))
	}
	return h
}
