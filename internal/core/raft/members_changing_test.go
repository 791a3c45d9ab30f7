package raft

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Rule: a change of the voters is under way until the high watermark has passed its
// record.
func TestAChangeOfTheVotersEndsWithItsCommit(t *testing.T) {
	f := func(records []kafka.Offset, highWatermark kafka.Offset, want bool) {
		t.Helper()
		var log logState
		for _, at := range records {
			log.voters.add(At[Voters]{Offset: at})
			log.end = at + 1
		}
		if got := (&members{log: &log}).changing(highWatermark); got != want {
			t.Errorf("voters at %v, high watermark %d: changing %v", records, highWatermark, got)
		}
	}
	f(nil, 10, false) // static voters
	f([]kafka.Offset{3}, kafka.NoOffset, false)
	f([]kafka.Offset{3}, 4, false)
	f([]kafka.Offset{3, 8}, 8, true)
	f([]kafka.Offset{3, 8}, 9, false)
}
