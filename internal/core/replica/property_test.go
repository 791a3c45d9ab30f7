package replica

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/base/kafka"
)

// world is one leader with two followers, and a controller that takes or
// declines what it proposes.
type world struct {
	core    *Core
	now     kafka.Instant
	out     Effects
	end     kafka.Offset
	reached map[kafka.NodeID]kafka.Offset // log ends that followers have told
	pending *Proposal
	hw      kafka.Offset
}

func newWorld() *world {
	w := &world{core: leading(1, 2, 3), reached: map[kafka.NodeID]kafka.Offset{2: kafka.NoOffset, 3: kafka.NoOffset}}
	w.step(Configured{MinISR: 2})
	return w
}

func (w *world) step(e Event) {
	w.core.Step(w.now, e, &w.out)
	if w.out.Propose != nil {
		w.pending = w.out.Propose
	}
}

func (w *world) append(t *rapid.T) {
	w.end += kafka.Offset(rapid.IntRange(1, 5).Draw(t, "records"))
	w.step(Appended{w.end})
}

func (w *world) fetch(t *rapid.T) {
	id := kafka.NodeID(rapid.IntRange(2, 3).Draw(t, "follower"))
	from := max(w.reached[id], 0)
	w.reached[id] = from + kafka.Offset(rapid.IntRange(0, int(w.end-from)).Draw(t, "copied"))
	w.step(Fetched{Node: id, BrokerEpoch: kafka.NoBrokerEpoch, Offset: w.reached[id]})
}

func (w *world) wait(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "ms")) * time.Millisecond)
	w.step(Tick{})
}

func (w *world) answer(t *rapid.T) {
	if w.pending == nil {
		return
	}
	p := w.pending
	w.pending = nil
	if rapid.Bool().Draw(t, "declined") {
		w.step(Proposed{To: p, Outcome: Declined})
		return
	}
	accepted := Proposed{To: p, Outcome: Accepted, Epoch: p.Epoch + 1}
	for _, m := range p.ISR {
		accepted.ISR = append(accepted.ISR, m.Node)
	}
	w.step(accepted)
}

// check holds after every step: what is committed stays so, is in the log, and
// is held by every member of the ISR, so that any of them may lead next.
func (w *world) check(t *rapid.T) {
	hw := w.core.HighWatermark()
	if hw < w.hw || hw > w.end {
		t.Fatalf("high watermark %d after %d, log end %d", hw, w.hw, w.end)
	}
	w.hw = hw
	isr := w.core.ISR()
	if !slices.Contains(isr, 1) {
		t.Fatalf("the leader is not in the ISR %v", isr)
	}
	for _, id := range isr {
		if id != 1 && max(w.reached[id], 0) < hw {
			t.Fatalf("replica %d is in the ISR and holds %d of the committed %d", id, w.reached[id], hw)
		}
	}
}

func TestWhatIsCommittedIsInEveryISR(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(map[string]func(*rapid.T){
			"append": w.append, "fetch": w.fetch, "wait": w.wait, "answer": w.answer, "": w.check,
		})
	})
}
