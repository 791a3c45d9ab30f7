package node

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// "what the first part says that cannot": those that fall with it say less.
func TestTheFirstFailureCounts(t *testing.T) {
	f := newFailure()
	first := errors.New("disk")
	f.fail(first)
	f.fail(errors.New("network"))
	if err := f.wait(t.Context(), nil); err != first {
		t.Errorf("failed for %v", err)
	}
}

// "The error says that a part failed meanwhile, or that the node is to stop."
func TestWhatEndsTheWait(t *testing.T) {
	ready := make(chan struct{})
	close(ready)
	if err := newFailure().wait(t.Context(), ready); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newFailure().wait(ctx, nil); err == nil || !strings.Contains(err.Error(), "before the node was ready") {
		t.Error(err)
	}
}
