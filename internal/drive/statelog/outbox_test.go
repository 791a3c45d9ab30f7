package statelog

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// slow is a log that answers when it is told to.
type slow struct {
	tally
	asked chan struct{}
	reply chan error
	extra kafka.Offset // records of somebody else before the next batch
}

func newSlow() *slow { return &slow{asked: make(chan struct{}, 100), reply: make(chan error)} }

func (l *slow) Append(epoch kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	l.asked <- struct{}{}
	if err := <-l.reply; err != nil {
		return 0, err
	}
	l.end += l.extra
	l.extra = 0
	return l.tally.Append(epoch, framed)
}

// story is a runner over a slow log; outcomes are by name of the request.
type story struct {
	*Runner[int, int]
	log *slow
	got map[string]error
}

func tellStory(t *testing.T, f func(s story)) {
	synctest.Test(t, func(t *testing.T) {
		log := newSlow()
		s := story{New(sums, log), log, map[string]error{}}
		s.Claim(1, 100, 0)
		f(s)
		s.Renounce(kerr.NotController)
		close(log.reply)
		s.Wait()
	})
}

// ask puts a request and waits until everybody waits.
func (s story) ask(name string, d Decide[int, int]) {
	go s.Do(d, func(err error) { s.got[name] = err })
	synctest.Wait()
}

func (s story) answer(err error) {
	s.log.reply <- err
	synctest.Wait()
}

// applied tells of a commit; what gathered behind it is handed to the log then.
func (s story) applied(end kafka.Offset) {
	go s.Applied(end)
	synctest.Wait()
}

// outcomes are all answers so far.
func (s story) outcomes(t *testing.T, want string) {
	t.Helper()
	if got := fmt.Sprint(s.got); got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

// "What is decided while the log takes a batch goes into the next one."
func TestDecisionsGatherWhileTheLogIsBusy(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.ask("b", add(2, 3))
		s.ask("c", add(4))
		var seen int
		s.ask("d", read(&seen))
		s.answer(nil)
		s.applied(1)
		s.answer(nil)
		if got := fmt.Sprint(s.log.batches); got != "[[1] [2 3 4]]" || seen != 110 {
			t.Errorf("batches %s, saw %d", got, seen)
		}
		s.Applied(3)
		s.outcomes(t, "map[a:<nil> b:<nil>]")
		s.Applied(4)
		s.outcomes(t, "map[a:<nil> b:<nil> c:<nil> d:<nil>]")
	})
}

// "Post is Do that does not wait for the log while others wait for their commits."
func TestPostDoesNotWaitForTheLog(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.answer(nil)
		posted := 0
		go func() {
			for n, name := range []string{"b", "c"} {
				s.Post(add(2+n), func(err error) { s.got[name] = err })
				posted++
			}
		}()
		synctest.Wait()
		if posted != 2 {
			t.Errorf("%d requests were posted before the commit, want 2", posted)
		}
		s.applied(1)
		for s.log.end < 3 {
			s.answer(nil)
		}
		s.Applied(3)
		s.outcomes(t, "map[a:<nil> b:<nil> c:<nil>]")
		if got := fmt.Sprint(s.log.batches); got != "[[1] [2] [3]]" && got != "[[1] [2 3]]" {
			t.Errorf("batches %s", got)
		}
	})
}

// "One that may still grow stays behind maxAhead others, whose commit lets it go."
func TestWhatIsDecidedBehindAnUncommittedBatchGathers(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.answer(nil)
		for n, name := range []string{"b", "c", "d"} {
			s.ask(name, add(2+n))
		}
		if got := fmt.Sprint(s.log.batches); got != "[[1]]" || len(s.log.asked) != 1 {
			t.Fatalf("batches %s, and %d were handed over", got, len(s.log.asked))
		}
		s.applied(1)
		s.answer(nil)
		if got := fmt.Sprint(s.log.batches); got != "[[1] [2 3 4]]" {
			t.Errorf("batches %s", got)
		}
		s.outcomes(t, "map[a:<nil>]")
		s.Applied(4)
		s.outcomes(t, "map[a:<nil> b:<nil> c:<nil> d:<nil>]")
	})
}

// "Up to 256 KiB": what cannot grow any more does not wait for commits.
func TestAFullBatchWaitsForNoCommit(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.answer(nil)
		s.ask("b", add(2))
		s.ask("many", func(int, kafka.Offset) (Change[int], error) {
			return Change[int]{Records: make([]int, MaxBatch)}, nil
		})
		s.answer(nil)
		if got := len(s.log.batches); got != 2 || len(s.log.batches[1]) != 1 {
			t.Errorf("%d batches, want the second with what was before the large change", got)
		}
	})
}

// A batch that the log refuses takes with it what was decided on top; what the log
// has is not touched.
func TestARefusedBatchTakesWhatWasDecidedOnIt(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.answer(nil)
		s.ask("b", add(2))
		s.ask("c", add(3))
		var seen int
		s.ask("d", read(&seen))
		s.applied(1)
		s.answer(kerr.RequestTimedOut)
		s.outcomes(t, "map[a:<nil> b:REQUEST_TIMED_OUT c:REQUEST_TIMED_OUT d:REQUEST_TIMED_OUT]")
		s.ask("e", add(5))
		s.answer(nil)
		if got := fmt.Sprint(s.log.batches); got != "[[1] [5]]" {
			t.Errorf("batches %s", got)
		}
		s.ask("f", read(&seen))
		if seen != 106 {
			t.Errorf("the state is %d", seen)
		}
	})
}

// Records of somebody else may come before a batch: nobody is answered by the
// place that was foreseen.
func TestRecordsOfOthersShiftWhatIsDecided(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("a", add(1))
		s.ask("b", add(2))
		s.log.extra = 3
		s.Applied(3) // the others' are committed before we hear of ours
		synctest.Wait()
		s.outcomes(t, "map[]")
		s.answer(nil)
		s.outcomes(t, "map[]")
		s.applied(4)
		s.answer(nil)
		s.outcomes(t, "map[a:<nil>]")
		s.Applied(5)
		s.outcomes(t, "map[a:<nil> b:<nil>]")
	})
}

// "For those whose records the log may have why is within a Lost."
func TestLosingLeadershipTellsWhatTheLogNeverGot(t *testing.T) {
	tellStory(t, func(s story) {
		s.ask("in the log", add(1))
		s.answer(nil)
		s.ask("on its way", add(2))
		s.ask("decided", add(make([]int, MaxBatch)...)) // the one before goes on its way, as it cannot grow
		var seen int
		s.ask("read", read(&seen))
		s.Renounce(kerr.NotController)
		synctest.Wait()
		for name, lost := range map[string]bool{"in the log": true, "on its way": true, "decided": false, "read": false} {
			if err := s.got[name]; !errors.Is(err, kerr.NotController) || errors.As(err, new(*Lost)) != lost {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.Claim(2, 0, 9)
		s.answer(nil) // of the former term: nobody waits for it
		s.ask("next", add(7))
		s.answer(nil)
		if got := fmt.Sprint(s.log.batches); got != "[[1] [2] [7]]" {
			t.Errorf("batches %s", got)
		}
	})
}

// "It is called before the next decision and only when all records were appended,
// and those before them."
func TestWhatChangesBesideTheStateWaitsForAllBefore(t *testing.T) {
	tellStory(t, func(s story) {
		changed := 0
		beside := func(n ...int) Decide[int, int] {
			return func(int, kafka.Offset) (Change[int], error) {
				return Change[int]{Records: n, Then: func() { changed++ }}, nil
			}
		}
		var sawChanged int
		look := func(int, kafka.Offset) (Change[int], error) { sawChanged = changed; return Change[int]{}, nil }
		s.ask("a", add(1))
		s.ask("b", beside(2))
		s.ask("c", look)
		s.answer(nil)
		if changed != 0 {
			t.Error("changed before its own records were appended")
		}
		s.answer(nil)
		if changed != 1 || sawChanged != 1 {
			t.Errorf("changed %d times; the next decision saw %d", changed, sawChanged)
		}
		s.ask("d", add(3))
		s.ask("e", beside())
		s.answer(kerr.RequestTimedOut)
		if changed != 1 {
			t.Error("changed although what it rests on was refused")
		}
		s.outcomes(t, "map[d:REQUEST_TIMED_OUT e:REQUEST_TIMED_OUT]")
	})
}

// "When it is reached a request is refused."
func TestTheOutboxIsBounded(t *testing.T) {
	o := outbox[int]{}
	big := func(n int) []batch[int] { return []batch[int]{{framed: [][]byte{nil}, bytes: n}} }
	for _, n := range []int{maxOutbox - 1, 1} {
		if err := o.add(big(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.add(big(1)); !errors.Is(err, kerr.RequestTimedOut) {
		t.Errorf("one more: %v", err)
	}
	empty := outbox[int]{}
	if err := empty.add(big(2 * maxOutbox)); err != nil {
		t.Errorf("a large one alone: %v", err)
	}
}

func BenchmarkDoFromMany(b *testing.B) {
	log := &tally{}
	r := New(sums, log)
	r.Claim(1, 0, 0)
	one := add(1)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		done := make(chan struct{}, 1)
		for pb.Next() {
			r.Do(one, func(error) { done <- struct{}{} })
			r.Applied(1 << 60)
			<-done
		}
	})
	r.Wait()
}
