package batch

import (
	"testing"
	"testing/synctest"
)

// Who came first is served first, and no one gets more than is free.
func TestBudgetServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		served := make(chan int, 2)
		first := b.take(6)
		for _, n := range []int{8, 2} { // 2 would fit, but 8 came before
			go func() {
				b.take(n)
				served <- n
			}()
			synctest.Wait()
		}
		if len(served) != 0 {
			t.Fatalf("%d served while 6 of 10 were taken", len(served))
		}
		b.give(first)
		synctest.Wait()
		if len(served) != 2 {
			t.Fatalf("%d served", len(served))
		}
		b.give(8)
		b.give(2)
		if b.free != 10 || len(b.queue) != 0 {
			t.Errorf("%d free, %d waiting", b.free, len(b.queue))
		}
	})
}

func TestBudgetGivesAllThereIs(t *testing.T) {
	b := newBudget(10)
	if n := b.take(1000); n != 10 || b.free != 0 {
		t.Errorf("took %d, %d free", n, b.free)
	}
	b.give(10)
	if n := testing.AllocsPerRun(100, func() { b.give(b.take(3)) }); n != 0 {
		t.Errorf("%v allocations without contention", n)
	}
}
