package raft

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// The statements of the design that this core was built for (KIP-996), one test
// each, in our own words. docs/kip-996.md says which rule of the code each one
// stands on, where else it is tested, and which change of one line turns its test
// red. P6 is about the bytes of Vote (package raftnode), P12 about the plan of the
// tests (package explore).

// statement plays the scenarios of a statement.
func statement(t *testing.T, name string) {
	t.Helper()
	playFile(t, filepath.Join("testdata", "kip996", name+".txt"))
}

// A follower that is cut off keeps its epoch and comes back quietly.
func TestKIP996_P1(t *testing.T) { statement(t, "p01") }

// A leader that notices that it is cut off steps down, in its own epoch.
func TestKIP996_P2(t *testing.T) { statement(t, "p02") }

// A leader that has not noticed follows whom it meets in a higher epoch, and
// nobody of a lower one.
func TestKIP996_P3(t *testing.T) { statement(t, "p03") }

// Three epochs meet, and the highest stays.
func TestKIP996_P4(t *testing.T) { statement(t, "p04") }

// Slow, late and lost fetches cost no epoch.
func TestKIP996_P5(t *testing.T) { statement(t, "p05") }

// Late, repeated and foreign answers count for nothing.
func TestKIP996_P7(t *testing.T) { statement(t, "p07") }

// A majority of pre-votes comes before the next epoch.
func TestKIP996_P8(t *testing.T) { statement(t, "p08") }

// The version of Vote decides, for each connection.
func TestKIP996_P9(t *testing.T) { statement(t, "p09") }

// Upgraded and old voters elect leaders together, one in an epoch.
func TestKIP996_P10(t *testing.T) { statement(t, "p10") }

// Check quorum frees a minority that follows a leader without a majority.
func TestKIP996_P11(t *testing.T) { statement(t, "p11") }

// The links of the example of P4, in many of their orders: one soon after the
// other, or so late that A has stepped down and D meets epoch 2 first. The
// simulator takes all orders.
func TestKIP996_P4InOrdersOfLinks(t *testing.T) {
	links := []string{"1-2", "1-3", "1-5", "1-4", "4-2", "4-3", "4-5"}
	for n := 0; n < 5040; n += 101 {
		order, apart := permutation(links, n), 20*time.Millisecond
		if n%2 == 1 {
			apart = 900 * time.Millisecond
		}
		w := &world{quiet: true}
		for _, line := range []string{"nodes 1,2,3,4,5", "cut 4", "timeout 1", "live 1s", "cut 1", "propose 1 2", "live 2300ms"} {
			if err := w.do(line); err != nil {
				t.Fatal(err)
			}
		}
		w.cuts = map[[2]kafka.NodeID]bool{}
		for _, link := range links {
			w.cutLinks(link)
		}
		for _, link := range order {
			w.mendLinks([]string{link})
			w.settle(apart, func() bool { return false })
		}
		if !w.settle(20*time.Second, w.agreed) {
			t.Fatalf("order %v: no agreement", order)
		}
		for _, m := range w.nodes {
			if s := m.core.State(); s.Election.Epoch != 2 || s.Leader != 2 {
				t.Errorf("order %v: node %d is in epoch %d and follows %d, not 2 in epoch 2", order, m.id, s.Election.Epoch, s.Leader)
			}
		}
		w.check(t)
	}
}

// permutation gives the n-th order of things.
func permutation(of []string, n int) []string {
	rest, out := slices.Clone(of), []string(nil)
	for i := len(rest); i > 0; i-- {
		out = append(out, rest[n%i])
		rest = slices.Delete(rest, n%i, n%i+1)
		n /= i
	}
	return out
}

func TestPermutationsAreAllDifferent(t *testing.T) {
	seen := map[string]bool{}
	for n := range 24 {
		seen[fmt.Sprint(permutation([]string{"a", "b", "c", "d"}, n))] = true
	}
	if len(seen) != 24 {
		t.Errorf("%d orders of four things", len(seen))
	}
}
