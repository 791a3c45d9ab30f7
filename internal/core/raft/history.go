package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// At is a value that took effect with the record at an offset. The offset is
// -1 for what the checkpoint written at format time (0-0) says, and end-1 for
// what any other snapshot says.
type At[T any] struct {
	Offset kafka.Offset
	Value  T
}

// history is the values of one setting by offset; offsets strictly increase.
// The last one is in effect as soon as it is appended, committed or not, and
// goes away again when the log is truncated below it (KIP-853).
type history[T any] struct{ entries []At[T] }

func (h *history[T]) add(e At[T]) {
	h.truncate(e.Offset)
	h.entries = append(h.entries, e)
}

// at gives the value in effect at an offset: the last one at or below it. What
// the checkpoint of format time says holds only where there is no record. It was
// written by somebody who could not know what quorum the directory would come to;
// the first leader of a quorum that began with dynamic voters writes level and
// voters into its first batch (V-01):
//
//  1. A controller is formatted without initial controllers: kraft.version 1.
//  2. It joins a quorum of static voters, at kraft.version 0, as its log says.
func (h *history[T]) at(offset kafka.Offset) (At[T], bool) {
	for i := len(h.entries) - 1; i >= 0; i-- {
		if e := h.entries[i]; e.Offset <= offset && (e.Offset >= 0 || offset < 0) {
			return e, true
		}
	}
	return At[T]{Offset: kafka.NoOffset}, false
}

// truncate forgets what stands at or above the new end of the log.
func (h *history[T]) truncate(end kafka.Offset) {
	i := slices.IndexFunc(h.entries, func(e At[T]) bool { return e.Offset >= end })
	if i >= 0 {
		h.entries = h.entries[:i]
	}
}

// trim forgets what is out of date below the new start of the log; the last
// value at or below it stays.
func (h *history[T]) trim(start kafka.Offset) {
	keep := 0
	for i, e := range h.entries {
		if e.Offset <= start {
			keep = i
		}
	}
	h.entries = slices.Delete(h.entries, 0, keep)
}

// replace sets the history to what a snapshot says.
func (h *history[T]) replace(entries ...At[T]) { h.entries = append(h.entries[:0], entries...) }
