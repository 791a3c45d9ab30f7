package raft

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// check holds the world to the invariants of the quorum.
func (w *world) check(t testing.TB) {
	t.Helper()
	leaders := map[kafka.Epoch]kafka.NodeID{}
	for _, m := range w.nodes {
		if m.core == nil {
			continue
		}
		e := m.core.election
		if m.core.election != m.disk.election && !m.disk.noFile {
			t.Fatalf("node %d has %v in memory and %v on disk", m.id, m.core.election, m.disk.election)
		}
		if e.Leader >= 0 {
			if other, ok := leaders[e.Epoch]; ok && other != e.Leader {
				t.Fatalf("at most one leader per epoch: in %d there are %d and %d", e.Epoch, other, e.Leader)
			}
			leaders[e.Epoch] = e.Leader
		}
		if m.core.hw > m.core.log.end {
			t.Fatalf("node %d: high watermark %d past the end %d", m.id, m.core.hw, m.core.log.end)
		}
	}
	w.checkLogs(t)
	w.checkHighWatermark(t)
}

// checkLogs: logs are equal up to the lower of two high watermarks.
func (w *world) checkLogs(t testing.TB) {
	t.Helper()
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if a.core == nil || b.core == nil || a.id >= b.id {
				continue
			}
			common := min(a.core.hw, b.core.hw, a.core.log.synced, b.core.log.synced)
			from := max(a.disk.start, b.disk.start)
			if x, y := below2(a.disk.log, from, common), below2(b.disk.log, from, common); !slices.EqualFunc(x, y, sameBatch) {
				t.Fatalf("logs of %d and %d differ below %d: %v, %v", a.id, b.id, common, x, y)
			}
		}
	}
}

func sameBatch(a, b stored) bool { return a.base == b.base && a.end == b.end && a.epoch == b.epoch }

func below2(log []stored, from, end kafka.Offset) []stored {
	var out []stored
	for _, b := range log {
		if b.base >= from && b.end <= end {
			out = append(out, b)
		}
	}
	return out
}

// checkHighWatermark: a leader's high watermark is on the disks of a majority.
func (w *world) checkHighWatermark(t testing.TB) {
	t.Helper()
	for _, m := range w.nodes {
		l, leads := (role)(nil), false
		if m.core != nil && !m.down {
			l = m.core.role
			_, leads = l.(*leader)
		}
		if !leads || l.(*leader).hw < 0 {
			continue
		}
		have := 0
		for _, v := range m.core.quorum.voters() {
			if n := w.node(v.Key.Node); n != nil && n.disk.synced >= l.(*leader).hw {
				have++
			}
		}
		if have < m.core.quorum.voters().Majority() {
			t.Fatalf("leader %d exposes %d, which %d voters have on disk", m.id, l.(*leader).hw, have)
		}
	}
}
