package node

import (
	"context"
	"log/slog"
	"time"
)

// stops are what undoes the steps of a start, in their order. The zero value has
// none.
type stops struct{ list []func() }

// add adds what undoes the last step.
func (s *stops) add(undo func()) { s.list = append(s.list, undo) }

// background runs f in a goroutine until the stop, which waits for its end.
func (s *stops) background(f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	s.add(func() {
		cancel()
		<-done
	})
}

// run undoes all steps, the last one first.
func (s *stops) run() {
	for len(s.list) > 0 {
		last := len(s.list) - 1
		undo := s.list[last]
		s.list = s.list[:last]
		undo()
	}
}

// within waits for the end of something that may be in a write to a disk that hangs.
func within(most time.Duration, log *slog.Logger, what string, end func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		end()
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		log.Warn("did not end in time: " + what)
	}
}
