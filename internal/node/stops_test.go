package node

import (
	"context"
	"slices"
	"testing"
)

// "undoes all steps, the last one first", and each once; what runs in the
// background has ended before the step that came before it is undone.
func TestStopsUndoTheLastStepFirst(t *testing.T) {
	var s stops
	var order []string
	s.add(func() { order = append(order, "first") })
	s.background(func(ctx context.Context) {
		<-ctx.Done()
		order = append(order, "background")
	})
	s.add(func() { order = append(order, "last") })
	s.run()
	s.run()
	if want := []string{"last", "background", "first"}; !slices.Equal(order, want) {
		t.Errorf("undone in the order %v, not %v", order, want)
	}
}
