package processes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// account is what one producer of rising numbers, and the losses of unsynced
// bytes, tell of a partition: what may be missing from it in the end. Every
// offset of the partition holds a record of this producer.
type account struct {
	acked  []ack // in the order of their acknowledgement
	losses []loss
}

// ack is a number whose record was acknowledged, and its offset.
type ack struct{ number, offset int }

// loss is what the machine lost once, noted before the node starts again.
type loss struct {
	left     []int // the numbers that are still in the log, by offset
	recovery int   // the recovery point that the node had written down: all below it is synced
	acked    int   // how many acknowledgements the producer had handled by then
}

// lose notes a loss: the acknowledgements so far, what is left, and the
// recovery point.
func (a *account) lose(acked []ack, left []int, recovery int) {
	a.losses = append(a.losses, loss{left, recovery, len(acked)})
}

// audit compares the account with the numbers read in the end, by offset, and
// tells of each rule the first case that breaks it.
func (a *account) audit(read []int) error {
	return errors.Join(rising(read), a.leftStays(read), a.onlyTailsAreLost(read))
}

// rising: no number comes twice or after a larger one.
func rising(read []int) error {
	for i := 1; i < len(read); i++ {
		if read[i] <= read[i-1] {
			return fmt.Errorf("offset %d: %d after %d", i, read[i], read[i-1])
		}
	}
	return nil
}

// leftStays: a loss takes nothing that was synced or had survived an earlier
// one, and what it leaves stays as it is.
func (a *account) leftStays(read []int) error {
	before := 0
	for round, l := range a.losses {
		end := len(l.left)
		if end < l.recovery {
			return fmt.Errorf("loss %d: the log ends at %d, below its recovery point %d", round, end, l.recovery)
		}
		if end < before {
			return fmt.Errorf("loss %d: the log ends at %d, and at %d after the one before", round, end, before)
		}
		if end > len(read) {
			return fmt.Errorf("loss %d: the log ends at %d, and at %d in the end", round, end, len(read))
		}
		for i, n := range l.left {
			if read[i] != n {
				return fmt.Errorf("loss %d: offset %d holds %d, and %d in the end", round, i, n, read[i])
			}
		}
		before = end
	}
	return nil
}

// onlyTailsAreLost: what was acknowledged is at its offset, or was behind the
// end of the log at a loss.
func (a *account) onlyTailsAreLost(read []int) error {
	for i, k := range a.acked {
		there := k.offset >= 0 && k.offset < len(read) && read[k.offset] == k.number
		if !there && !a.inLostTail(i, read) {
			return fmt.Errorf("%d was acknowledged at offset %d and is not there, nor was it in a lost tail", k.number, k.offset)
		}
	}
	return nil
}

// inLostTail tells whether acknowledgement i is of a record behind the end of
// the log at a loss, so that the numbers go on there with a larger one. The
// producer may handle an acknowledgement after the loss of its record, but a
// record that was lost later is still there.
func (a *account) inLostTail(i int, read []int) bool {
	k := a.acked[i]
	for _, l := range a.losses {
		end := len(l.left)
		if end <= k.offset && end <= len(read) &&
			(end == 0 || read[end-1] < k.number) && (end == len(read) || k.number < read[end]) {
			return true
		}
		if i < l.acked {
			return false
		}
	}
	return false
}

// lost counts what was acknowledged and is not in the log.
func (a *account) lost(read []int) int {
	lost := 0
	for _, k := range a.acked {
		if _, found := slices.BinarySearch(read, k.number); !found {
			lost++
		}
	}
	return lost
}

func TestAccountFindsWhatNoLostTailExplains(t *testing.T) {
	// Numbers 0 to 5 are written and acknowledged; the machine loses 4 and 5;
	// 6 to 8 follow.
	upTo := func(n int) (acked []ack) {
		for i := range n {
			acked = append(acked, ack{i, i})
		}
		return acked
	}
	after := []ack{{6, 4}, {7, 5}, {8, 6}}
	usual := account{
		acked:  slices.Concat(upTo(6), after),
		losses: []loss{{left: []int{0, 1, 2, 3}, recovery: 2, acked: 6}},
	}
	f := func(a account, read []int, want string) {
		t.Helper()
		got := a.audit(read)
		if want == "" && got != nil || want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%v: got %v, want %q", read, got, want)
		}
	}
	f(usual, []int{0, 1, 2, 3, 6, 7, 8}, "")
	// A hole, at the end too; a double; a reorder.
	f(usual, []int{0, 1, 3, 6, 7, 8}, "2 was acknowledged at offset 2 and is not there")
	f(usual, []int{0, 1, 2, 3, 6, 8}, "7 was acknowledged at offset 5 and is not there")
	f(usual, []int{0, 1, 2, 3, 6, 7}, "8 was acknowledged at offset 6 and is not there")
	f(usual, []int{0, 1, 2, 3, 6, 7, 7, 8}, "offset 6: 7 after 7")
	f(usual, []int{0, 1, 2, 3, 7, 6, 8}, "offset 5: 6 after 7")
	// A record at another offset than the acknowledgement said.
	f(usual, []int{0, 1, 2, 3, 5, 6, 7, 8}, "5 was acknowledged at offset 5 and is not there")
	// What was left did not stay; all is lost.
	f(usual, []int{0, 1, 2, 6, 7, 8}, "loss 0: offset 3 holds 3, and 6 in the end")
	f(usual, nil, "loss 0: the log ends at 4, and at 0 in the end")

	// A loss below the recovery point.
	f(account{losses: []loss{{left: []int{0, 1}, recovery: 3}}}, []int{0, 1}, "below its recovery point 3")
	// A second loss that takes what survived the first.
	f(account{losses: []loss{{left: []int{0, 1, 2}}, {left: []int{0, 1}}}}, []int{0, 1, 2}, "loss 1: the log ends at 2, and at 3 after")
	// A record acknowledged after the last loss, and one acknowledged before a
	// loss that left its offset to others.
	f(account{acked: upTo(1)}, nil, "0 was acknowledged at offset 0 and is not there")
	f(account{acked: []ack{{1, 1}}, losses: []loss{{left: []int{0, 2}, acked: 1}}}, []int{0, 2}, "1 was acknowledged at offset 1 and is not there")
	// One that was acknowledged before the first loss was not lost in the second.
	f(account{acked: []ack{{2, 3}}, losses: []loss{{left: []int{0}, acked: 1}, {left: []int{0, 1}, acked: 1}}}, []int{0, 1}, "2 was acknowledged at offset 3 and is not there")

	// An acknowledgement that is handled after the loss.
	late := usual
	late.losses = []loss{{left: []int{0, 1, 2, 3}, acked: 4}}
	f(late, []int{0, 1, 2, 3, 6, 7, 8}, "")
	// Everything was unsynced; nothing follows.
	f(account{acked: upTo(3), losses: []loss{{acked: 3}}}, nil, "")
}
