package sim

import (
	"io"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/drive/quorumtrace"
)

// protocol holds a step of a node against the protocol, as package abstract has it
// from the text: what the node has become and says must be one of the things that
// may follow on the event (V4).
func (c *checker) protocol(n *node, st *abstract.Step) {
	if c.w.traced != nil {
		c.w.trace(st)
	}
	c.count[Protocol]++
	if err := n.follows.Step(st); err != nil {
		c.w.fail(Protocol, "node %d: %v", n.id, err)
	}
}

// RunTraced plays a seed as Run does, and writes the steps of all its nodes in the
// form of a running node's trace.
func RunTraced(seed uint64, to io.Writer) Result {
	w := newWorld(NewPlan(seed), nil)
	w.traced = to
	w.play()
	return w.result()
}

// trace writes a step; a write that fails ends the writing, not the run.
func (w *World) trace(st *abstract.Step) {
	line, err := quorumtrace.Line(st)
	if err == nil {
		_, err = w.traced.Write(line)
	}
	if err != nil {
		w.traced = nil
	}
}
