package statelog

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// tally is the smallest subject: its state is a sum, its records are numbers.
type tally struct {
	batches [][]string
	end     kafka.Offset
	refuse  error
}

func (l *tally) Append(_ kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	if l.refuse != nil {
		return 0, l.refuse
	}
	batch := make([]string, len(framed))
	for i, f := range framed {
		batch[i] = string(f)
	}
	l.batches = append(l.batches, batch)
	l.end += kafka.Offset(len(framed))
	return l.end, nil
}

var sums = Subject[int, int]{
	Apply: func(prev int, add []int) (int, error) {
		for _, a := range add {
			if a < 0 {
				return 0, errors.New("negative")
			}
			prev += a
		}
		return prev, nil
	},
	Encode: func(dst []byte, a int) ([]byte, error) { return strconv.AppendInt(dst, int64(a), 10), nil },
}

func add(n ...int) Decide[int, int] {
	return func(int, kafka.Offset) (Change[int], error) { return Change[int]{Records: n, Atomic: true}, nil }
}

func read(into *int) Decide[int, int] {
	return func(s int, _ kafka.Offset) (Change[int], error) { *into = s; return Change[int]{}, nil }
}

// result remembers how a request ended; it fails the test when answered twice.
func result(t *testing.T) (func(error), *[]error) {
	var got []error
	return func(err error) {
		if got = append(got, err); len(got) > 1 {
			t.Error("answered twice")
		}
	}, &got
}

func TestAReplyWaitsUntilItsRecordsAreCommittedAndApplied(t *testing.T) {
	log := &tally{end: 5}
	r := New(sums, log)
	r.Claim(3, 100, 5)
	first, gotFirst := result(t)
	second, gotSecond := result(t)
	r.Do(add(1, 2), first)
	r.Do(add(4), second)
	r.Applied(6)
	if len(*gotFirst) != 0 {
		t.Error("answered with half of its records committed")
	}
	r.Applied(7)
	if !slices.Equal(*gotFirst, []error{nil}) || len(*gotSecond) != 0 {
		t.Errorf("after 7: %v, %v", *gotFirst, *gotSecond)
	}
	r.Applied(8)
	if !slices.Equal(*gotSecond, []error{nil}) {
		t.Errorf("after 8: %v", *gotSecond)
	}
}

func TestADecisionSeesWhatIsNotCommittedYetAndWaitsForIt(t *testing.T) {
	r := New(sums, &tally{})
	r.Claim(1, 0, 0)
	r.Do(add(7), func(error) {})
	var seen int
	done, got := result(t)
	r.Do(read(&seen), done)
	if seen != 7 || len(*got) != 0 {
		t.Errorf("saw %d, answered %v", seen, *got)
	}
	r.Applied(1)
	if len(*got) != 1 {
		t.Error("not answered after what it saw was committed")
	}
	again, gotAgain := result(t)
	r.Do(read(&seen), again)
	if len(*gotAgain) != 1 {
		t.Error("nothing is pending, yet it waits")
	}
}

func TestLosingLeadershipDropsWhatIsSpeculativeAndAnswersTheWaiting(t *testing.T) {
	r := New(sums, &tally{})
	r.Claim(1, 0, 0)
	done, got := result(t)
	r.Do(add(7), done)
	r.Renounce(kerr.NotController)
	if len(*got) != 1 || !errors.Is((*got)[0], kerr.NotController) || !errors.As((*got)[0], new(*Lost)) {
		t.Fatalf("answered %v", *got)
	}
	late, gotLate := result(t)
	r.Do(add(1), late)
	if len(*gotLate) != 1 || (*gotLate)[0] != error(kerr.NotController) {
		t.Errorf("answered %v while not leading", *gotLate)
	}
	r.Claim(2, 0, 0)
	var seen int
	r.Do(read(&seen), func(error) {})
	if seen != 0 {
		t.Errorf("saw %d of the lost epoch", seen)
	}
}

func TestRecordsThatDoNotApplyNeverReachTheLog(t *testing.T) {
	log := &tally{}
	r := New(sums, log)
	r.Claim(1, 0, 0)
	done, got := result(t)
	r.Do(add(-1), done)
	if len(log.batches) != 0 || len(*got) != 1 || (*got)[0] == nil {
		t.Errorf("log %v, answered %v", log.batches, *got)
	}
}

func TestAnAtomicChangeFitsOneBatchAndOthersAreCut(t *testing.T) {
	log := &tally{}
	r := New(sums, log)
	r.Claim(1, 0, 0)
	many := make([]int, MaxBatch+1)
	done, got := result(t)
	r.Do(add(many...), done)
	if len(*got) != 1 || !errors.Is((*got)[0], kerr.PolicyViolation) {
		t.Errorf("answered %v", *got)
	}
	r.Do(func(int, kafka.Offset) (Change[int], error) { return Change[int]{Records: many}, nil }, func(error) {})
	r.Applied(MaxBatch) // what may still grow has waited for that
	r.Wait()
	if len(log.batches) != 2 || len(log.batches[0]) != MaxBatch || len(log.batches[1]) != 1 {
		t.Errorf("cut into %d batches", len(log.batches))
	}
}

// A request that comes in while a node becomes leader must not be decided on a
// state that lacks what the epoch begins with.
func TestNothingIsDecidedBeforeTheFirstDecisionOfAnEpoch(t *testing.T) {
	r := New(sums, &tally{})
	started := make(chan struct{})
	others := make(chan int, 1)
	go func() {
		<-started
		for {
			var seen int
			refused := false
			r.Do(read(&seen), func(err error) { refused = err != nil })
			if !refused {
				others <- seen
				return
			}
		}
	}()
	first := func(state int, next kafka.Offset) (Change[int], error) {
		close(started) // whoever asks now has to wait until this is decided
		return add(5)(state, next)
	}
	r.ClaimWith(1, 0, 0, first, func(error) {})
	if seen := <-others; seen != 5 {
		t.Errorf("decided on %d, before the first decision", seen)
	}
}

func TestARefusedAppendChangesNothing(t *testing.T) {
	log := &tally{refuse: kerr.NotController}
	r := New(sums, log)
	r.Claim(1, 10, 0)
	done, got := result(t)
	r.Do(add(1), done)
	var seen int
	r.Do(read(&seen), func(error) {})
	if seen != 10 || len(*got) != 1 || !errors.Is((*got)[0], kerr.NotController) {
		t.Errorf("state %d, answered %v", seen, *got)
	}
}

// "It is called before the next decision and only when all records were
// appended."
func TestWhatChangesBesideTheStateWaitsForTheAppend(t *testing.T) {
	log := &tally{}
	r := New(sums, log)
	r.Claim(1, 0, 0)
	changed := 0
	decide := func(n ...int) Decide[int, int] {
		return func(int, kafka.Offset) (Change[int], error) {
			return Change[int]{Records: n, Then: func() { changed++ }}, nil
		}
	}
	log.refuse = kerr.RequestTimedOut
	r.Do(decide(1), func(error) {})
	if changed != 0 {
		t.Error("changed although the log refused")
	}
	r.Do(decide(), func(error) {})
	if changed != 1 {
		t.Error("not changed by a decision without records")
	}
	log.refuse = nil
	r.Do(decide(1), func(error) {})
	if changed != 2 {
		t.Error("not changed after the append")
	}
	r.Do(decide(-1), func(error) {})
	if changed != 2 {
		t.Error("changed although the records do not apply")
	}
}

func BenchmarkDo(b *testing.B) {
	log := &tally{}
	r := New(sums, log)
	r.Claim(1, 0, 0)
	one := add(1)
	done := func(error) {}
	b.ReportAllocs()
	for b.Loop() {
		log.batches = log.batches[:0]
		r.Do(one, done)
		r.Applied(log.end)
	}
}

// A large change is encoded in several blocks; none may write into another.
func TestALargeChangeIsEncodedWhole(t *testing.T) {
	log := &tally{}
	r := New(sums, log)
	r.Claim(1, 0, 0)
	var numbers []int
	var want []string
	for i := range MaxBatch {
		numbers = append(numbers, 1_000_000+i)
		want = append(want, strconv.Itoa(1_000_000+i))
	}
	done, got := result(t)
	r.Do(add(numbers...), done)
	if r.Applied(log.end); len(*got) != 1 || (*got)[0] != nil {
		t.Fatalf("answered %v", *got)
	}
	if len(log.batches) != 1 || !slices.Equal(log.batches[0], want) {
		t.Error("the log has other records than were decided")
	}
}
