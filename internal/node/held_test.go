package node

import (
	"sync"
	"testing"
)

// What is given before anybody wants it, after, or meanwhile is handed on once.
func TestHeldHandsEachOnOnce(t *testing.T) {
	var h held[int]
	h.give(0)
	const n = 100
	var mu sync.Mutex
	count := map[int]int{}
	var giving sync.WaitGroup
	for i := 1; i < n; i++ {
		giving.Go(func() { h.give(i) })
	}
	h.take(func(v int) {
		mu.Lock()
		defer mu.Unlock()
		count[v]++
	})
	giving.Wait()
	for i := range n {
		if count[i] != 1 {
			t.Errorf("%d was handed on %d times", i, count[i])
		}
	}
}
