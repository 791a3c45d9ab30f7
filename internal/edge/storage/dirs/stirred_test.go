package dirs

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Rule: periodic work costs what has changed and not what there is. A log that
// nothing happens to is not looked at, one that was written to is.
func TestIdleLogsAreLeftAlone(t *testing.T) {
	n := formatted(t)
	n.start()
	var logs []*storage.Log
	for i := range 5 {
		logs = append(logs, n.create("a", kafka.PartitionID(i), ids[1]))
	}
	n.append(logs[0], "1")
	for range 3 {
		n.upkeep().tick()
	}
	dir := n.byID(ids[1])
	if left := dir.stirred.take(); len(left) != 0 {
		t.Errorf("%d logs want another tick", len(left))
	}
	n.append(logs[3], "1")
	n.append(logs[3], "2")
	if woken := dir.stirred.take(); len(woken) != 1 || woken[0] != logs[3] {
		t.Errorf("%d logs are woken by two appends to one", len(woken))
	}
}

// Rule: a checkpoint is written when something has changed, be it while another
// one was under way, and else not looked into.
func TestCheckpointsFollowChanges(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	dir, done := n.byID(ids[1]), uint64(0)
	looked := func() (did bool) {
		must(t, dir.sinceChange(&done, func() error { did = true; return nil }))
		return did
	}
	settle := func() {
		for range 3 {
			n.upkeep().tick()
			looked()
		}
		if looked() {
			t.Error("looked although nothing has changed")
		}
	}
	settle()
	n.append(a, "1")
	if !looked() {
		t.Error("an append is no change")
	}
	settle()
	if _, err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	if !looked() {
		t.Error("another recovery point is no change")
	}
	settle()
	must(t, a.SetStart(1))
	if !looked() {
		t.Error("another log start is no change")
	}
}
