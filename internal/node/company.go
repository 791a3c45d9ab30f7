package node

import (
	"sync/atomic"
	"time"
)

// Company are nodes of one process that stop together. Their brokers leave while
// all controllers are there to let them go; after that no controller stays for a
// successor, since nobody is left to be one.
//
// Nodes of different processes find that out from the metadata, a little later; see
// neighbours, which has the story.
type Company struct {
	here atomic.Int64  // nodes whose brokers have not left
	gone chan struct{} // closed when there is none
}

// NewCompany makes the company of so many nodes. Each is run with it.
func NewCompany(nodes int) *Company {
	c := &Company{gone: make(chan struct{})}
	c.here.Store(int64(nodes))
	return c
}

// depart says, once for each node, that its broker has left or will not run.
func (c *Company) depart() {
	if c != nil && c.here.Add(-1) == 0 {
		close(c.gone)
	}
}

// await waits until all brokers have left, at most for limit.
func (c *Company) await(limit time.Duration) {
	if c == nil {
		return
	}
	select {
	case <-c.gone:
	case <-time.After(limit):
	}
}

// handover is how long a controller of the company waits for a successor.
func (c *Company) handover() time.Duration {
	if c == nil {
		return stopGrace
	}
	return 0
}
