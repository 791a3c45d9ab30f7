package ctrlnode

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
)

// asks submits requests that a broker registers, and gives what they are answered.
func (q *quorumOfOne) asks(n int) chan error {
	answers := make(chan error, n)
	for range n {
		Submit(q.node, time.Hour, registerBroker(), func(_ controller.Registered, err error) { answers <- err })
	}
	return answers
}

func (q *quorumOfOne) rise(rises bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rises = rises
}

// "A refusal would send them on a round through all controllers at the very moment
// before this one takes them."
func TestRequestsWaitForWhoIsBeingElected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.rise(true)
		answers := q.asks(3)
		synctest.Wait()
		if len(answers) > 0 {
			t.Fatal("answered before it is active:", <-answers)
		}
		q.node.Leader(kafka.NoNode, 1, q.img)
		q.lead(1)
		synctest.Wait()
		q.commit()
		for range 3 {
			if err := <-answers; err != nil {
				t.Error("refused:", err)
			}
		}
	})
}

// Who has lost the election, or takes too long, refuses; and so does who stops.
func TestNobodyWaitsForWhoIsNotElected(t *testing.T) {
	ends := map[string]func(q *quorumOfOne){
		"another leads": func(q *quorumOfOne) { q.node.Leader(2, 1, q.img) },
		"it stops":      func(q *quorumOfOne) { q.node.Stop() },
		"it takes long": func(*quorumOfOne) {},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := standby(t, 0)
				defer q.node.Stop()
				q.rise(true)
				answers, began := q.asks(1), time.Now()
				end(q)
				if err := <-answers; !errors.Is(err, kerr.NotController) || time.Since(began) > heirPatience {
					t.Errorf("answered %v after %v", err, time.Since(began))
				}
			})
		})
	}
}

// "Who comes then queues up behind them", and nobody queues up at who is active, or
// has stopped.
func TestOnlyARisingControllerKeepsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no patience runs out while the machine is busy
		w := &waiting{}
		var order []int
		request := func(i int) func() { return func() { order = append(order, i) } }
		yes, no := func() bool { return true }, func() bool { return false }
		if w.take(no, request(0)) {
			t.Error("kept one although it does not rise")
		}
		if !w.take(yes, request(1)) || !w.take(no, request(2)) {
			t.Error("did not keep both")
		}
		w.close()
		if len(order) != 2 || order[0] != 1 || order[1] != 2 {
			t.Errorf("decided in the order %v", order)
		}
		if w.take(yes, request(3)) {
			t.Error("kept one after the end")
		}
	})
}
