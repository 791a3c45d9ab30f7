// Package dirmove copies replicas from one log directory of this broker to another,
// a bounded number at a time and at a bounded rate (KIP-113). What a move does and when it
// is over is known to the replicas; here is who goes on with it, and when.
package dirmove

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// chunk is how much of a replica is copied at most before the next one has its turn.
const chunk = 1 << 20

// Pauses of a move that waits for records or the controller, and of one that met an
// error.
const (
	waitPause  = 20 * time.Millisecond
	errorPause = 10 * time.Second
)

// Config is what a Mover is made of.
type Config struct {
	// Movers is num.replica.alter.log.dirs.threads: how many replicas are copied at
	// the same time; at least one.
	Movers int
	Log    *slog.Logger
}

// Mover goes on with the moves that were begun. The queue has one entry a replica of this
// broker at most.
type Mover struct {
	cfg  Config
	pace pace
	wake chan struct{} // room for one: something is due, or somebody else may take over

	mu    sync.Mutex
	queue []entry
	known map[*partitions.Partition]bool // in the queue, or somebody is at it
}

// entry is a move that wants a step.
type entry struct {
	part *partitions.Partition
	due  time.Time
}

// New makes a mover; Run has it work.
func New(cfg Config) *Mover {
	return &Mover{cfg: cfg, wake: make(chan struct{}, 1), known: map[*partitions.Partition]bool{}, pace: pace{rate: math.Inf(1), changed: make(chan struct{})}}
}

// SetRate bounds the bytes that all moves together copy in a second
// (replica.alter.log.dirs.io.max.bytes.per.second); 0 lets none through.
func (m *Mover) SetRate(bytes float64) { m.pace.set(bytes) }

// Begin has a move gone on with.
func (m *Mover) Begin(p *partitions.Partition) {
	m.mu.Lock()
	if !m.known[p] {
		m.known[p] = true
		m.queue = append(m.queue, entry{part: p})
	}
	m.mu.Unlock()
	m.poke()
}

func (m *Mover) poke() {
	select {
	case m.wake <- struct{}{}:
	default: // somebody looks already
	}
}

// Run works at moves until ctx ends.
func (m *Mover) Run(ctx context.Context) {
	var working sync.WaitGroup
	for range max(m.cfg.Movers, 1) {
		working.Go(func() { m.work(ctx) })
	}
	working.Wait()
}

func (m *Mover) work(ctx context.Context) {
	buf := make([]byte, 0)
	for ctx.Err() == nil {
		p, pause := m.take(time.Now())
		if p == nil {
			m.rest(ctx, pause)
			continue
		}
		m.poke() // there may be more for others
		m.step(ctx, p, &buf)
	}
}

// take gives the move that has waited longest of those that are due, or says how long
// there is nothing to do.
func (m *Mover) take(now time.Time) (*partitions.Partition, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pause := time.Hour
	for i, e := range m.queue {
		if wait := e.due.Sub(now); wait > 0 {
			pause = min(pause, wait)
			continue
		}
		m.queue = append(m.queue[:i], m.queue[i+1:]...)
		return e.part, 0
	}
	return nil, pause
}

func (m *Mover) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-m.wake:
	case <-timer.C:
	}
}

func (m *Mover) step(ctx context.Context, p *partitions.Partition, buf *[]byte) {
	if m.pace.wait(ctx) != nil {
		return
	}
	copied, next, err := p.StepMove(m.pace.portion(), buf)
	m.pace.spend(copied)
	due := time.Now()
	switch {
	case err != nil && p.Moving():
		m.cfg.Log.Warn("a move between directories has to wait", "topic", p.Name.Topic, "partition", int32(p.Name.Partition), "err", err)
		due = due.Add(errorPause)
	case next == partitions.MoveWait:
		due = due.Add(waitPause)
	}
	m.put(p, due)
}

// put has a move wait for its next step, unless it is over.
func (m *Mover) put(p *partitions.Partition, due time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.Moving() { // asked here: one that begins meanwhile finds itself not known
		delete(m.known, p)
		return
	}
	m.queue = append(m.queue, entry{p, due})
}
