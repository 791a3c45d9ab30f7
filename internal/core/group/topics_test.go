package group

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// A topic counts once, however many groups and partitions have offsets of it.
func TestTopicsAreNamedOnceInOrder(t *testing.T) {
	s := New(Defaults())
	for i, tp := range []kafka.TopicPartition{{Topic: "b"}, {Topic: "a", Partition: 1}, {Topic: "a", Partition: 2}, {Topic: "b"}} {
		s.newClassic(string(rune('g' + i))).place(tp)
	}
	if got := s.Topics(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("topics %q", got)
	}
}
