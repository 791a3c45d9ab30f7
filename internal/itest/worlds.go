package itest

import "testing"

// World is a size of cluster in which tests have to hold.
type World struct {
	Name  string
	Nodes int
}

// OneNode is the world of a node alone.
var OneNode = World{Name: "one node", Nodes: 1}

// ThreeNodes is the world of a cluster in one process.
var ThreeNodes = World{Name: "three nodes", Nodes: 3}

// worlds are all of them. What a node does for its clients, three do, with three
// replicas of everything.
var worlds = []World{OneNode, ThreeNodes}

// InEachWorld runs a test in every world, side by side with each other and with
// other tests.
func InEachWorld(t *testing.T, test func(t *testing.T, w World)) {
	t.Helper()
	t.Parallel()
	for _, w := range worlds {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// Replicas is how many each partition has, those of internal topics too.
func (w World) Replicas() int { return min(w.Nodes, 3) }
