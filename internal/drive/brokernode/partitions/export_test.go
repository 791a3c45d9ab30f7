package partitions

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Durable is how far the disk is known to hold the log.
func (p *Partition) Durable() (kafka.Offset, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sync.synced, p.online()
}

// Counted is how many bytes came in and went out for a reassignment, and how often
// something that metadata asked for could not be done.
func (m *Manager) Counted() (in, out, failed float64) {
	return m.figures.ReassignmentIn.Value(), m.figures.ReassignmentOut.Value(), m.figures.ApplyErrors.Value()
}

// IsLate tells whether a transaction counts as late.
func (m *Manager) IsLate(since int64, now time.Time) bool { return m.isLate(since, now) }

// SayOther tells whether two versions of a topic's settings say different things to its
// logs.
var SayOther = sayOther
