package statelog

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// steps compares what is known of the records from begin to end.
func (s story) steps(t *testing.T, epoch kafka.Epoch, begin, end kafka.Offset, want ...int) {
	t.Helper()
	if got := s.Steps(epoch, begin, end); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("steps from %d to %d: %v, want %v", begin, end, got, want)
	}
}

// "Whoever learns of the commit need not apply the records a second time."
func TestWhatWasWorkedOutIsKnownUntilItIsApplied(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.ask("b", add(2, 3))
		s.ask("c", add(4))
		s.steps(t, 1, 0, 1) // the log may still refuse
		s.answer(nil)
		s.steps(t, 1, 0, 1, 101)
		s.steps(t, 2, 0, 1) // of another leader
		s.applied(1)
		s.steps(t, 1, 0, 1)
		s.answer(nil)
		s.steps(t, 1, 1, 4, 106, 110)
		s.steps(t, 1, 1, 3) // not as it was appended
		s.steps(t, 1, 2, 4)
		s.Applied(4)
		s.steps(t, 1, 1, 4)
	})
}

// Records are known where they lie, not where they were thought to lie.
func TestWhatWasWorkedOutMovesBehindControlRecords(t *testing.T) {
	tellStory(t, func(s story) {
		s.log.extra = 5
		s.ask("a", add(1))
		s.ask("b", add(2))
		s.answer(nil)
		s.steps(t, 1, 0, 1)
		s.steps(t, 1, 5, 6, 101)
		s.applied(6)
		s.answer(nil)
		s.steps(t, 1, 6, 7, 103)
	})
}

// Nothing is known of what the log refused, nor of an epoch that is over.
func TestWhatIsDroppedIsNotKnown(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.ask("b", add(2))
		s.answer(errors.New("full"))
		s.steps(t, 1, 0, 1)
		s.ask("c", add(4))
		s.answer(nil)
		s.steps(t, 1, 0, 1, 104)
		s.Renounce(errors.New("over"))
		s.steps(t, 1, 0, 1)
		s.steps(t, kafka.NoEpoch, 0, 1)
		s.Claim(2, 7, 1)
		s.steps(t, 2, 0, 1)
	})
}
