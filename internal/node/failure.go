package node

import (
	"context"
	"errors"
	"sync"
)

// failure is why the node cannot go on: what the first part says that cannot.
type failure struct {
	once sync.Once
	why  chan error // holds one
}

func newFailure() *failure { return &failure{why: make(chan error, 1)} }

// fail ends the node: a part cannot go on.
func (f *failure) fail(err error) {
	f.once.Do(func() { f.why <- err })
}

// wait waits inside the start until ready is closed. The error says that a part
// failed meanwhile, or that the node is to stop.
func (f *failure) wait(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case err := <-f.why:
		return err
	case <-ctx.Done():
		return errors.New("stopped before the node was ready")
	}
}
