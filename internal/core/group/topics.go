package group

import (
	"maps"
	"slices"
)

// Topics are the names of all topics that a group has an offset of, committed
// or about to be, sorted. It looks at each offset.
func (s *Shard) Topics() []string {
	seen := map[string]struct{}{}
	for _, g := range s.groups { // any order: sorted below
		for tp := range g.offsets {
			seen[tp.Topic] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
