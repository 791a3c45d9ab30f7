package peer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Witness reads, all the time, what the controllers write down of elections, and
// notes who led which epoch.
type Witness struct {
	c    *Cluster
	stop func()

	mu      sync.Mutex
	leaders map[int]int // by epoch
	doubled []string
}

// election is what a voter has written down.
type election struct {
	Leader int `json:"leaderId"`
	Epoch  int `json:"leaderEpoch"`
}

// Watch begins to look, until the test ends or the witness is heard.
func (c *Cluster) Watch() *Witness {
	w := &Witness{c: c, leaders: map[int]int{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	w.stop = sync.OnceFunc(func() { close(stop); <-stopped })
	c.t.Cleanup(w.stop)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, n := range c.controllers() {
				w.note(n)
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

func (w *Witness) note(n *Node) {
	var e election
	text, err := os.ReadFile(filepath.Join(n.Metadata(), "quorum-state"))
	if err != nil || json.Unmarshal(text, &e) != nil || e.Leader < 0 {
		return // not there yet, or just being replaced
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, seen := w.leaders[e.Epoch]; seen && known != e.Leader {
		w.doubled = append(w.doubled, fmt.Sprintf("epoch %d: %d and %d", e.Epoch, known, e.Leader))
	}
	w.leaders[e.Epoch] = e.Leader
}

// OneLeaderAnEpoch ends the watch and fails the test when two nodes led one epoch.
func (w *Witness) OneLeaderAnEpoch() {
	w.c.t.Helper()
	w.stop()
	if len(w.doubled) > 0 {
		w.c.t.Errorf("two leaders in one epoch: %v", w.doubled)
	}
	w.c.t.Logf("leaders by epoch: %v", w.leaders)
}
