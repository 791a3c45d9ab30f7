//go:build invariants

package invariant

import (
	"maps"
	"sync"
)

const costly = true

var reached = struct {
	sync.Mutex
	times map[string]int
}{times: map[string]int{}}

func count(name string) {
	reached.Lock()
	defer reached.Unlock()
	reached.times[name]++
}

// Reached tells how often each situation named by Sometimes came up.
func Reached() map[string]int {
	reached.Lock()
	defer reached.Unlock()
	return maps.Clone(reached.times)
}
