package quorumtrace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kafka"
)

// maxLine bounds a line of a trace: a step with a voter set of hundreds.
const maxLine = 1 << 20

// Summary is what a trace holds.
type Summary struct {
	Steps   int // that the protocol allows
	Lives   int // starts of a process
	Leading int // times that a node began to lead
	Torn    int // lines that a killed process did not finish
}

// Check reads a trace, of one node or of several in one file, and holds every step
// against the protocol. The error names the line of the first step that it does
// not allow, and what it would allow.
func Check(r io.Reader) (Summary, error) {
	c := checker{nodes: map[kafka.NodeID]*abstract.Tracker{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	for lines.Scan() {
		c.line++
		if err := c.take(bytes.TrimSpace(lines.Bytes())); err != nil {
			return c.sum, fmt.Errorf("line %d: %w", c.line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return c.sum, fmt.Errorf("line %d: %w", c.line+1, err)
	}
	if c.torn != nil {
		c.sum.Torn++
	}
	return c.sum, nil
}

type checker struct {
	nodes map[kafka.NodeID]*abstract.Tracker
	sum   Summary
	line  int
	torn  error // of a line that is none, until an empty one follows
}

func (c *checker) take(text []byte) error {
	if len(text) == 0 {
		if c.torn != nil {
			c.sum.Torn++
			c.torn = nil
		}
		return nil
	}
	if c.torn != nil {
		return fmt.Errorf("the line before it is no step: %w", c.torn)
	}
	var st abstract.Step
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&st); err != nil {
		c.torn = err
		return nil
	}
	if in.More() {
		return errors.New("more than one step")
	}
	return c.step(&st)
}

func (c *checker) step(st *abstract.Step) error {
	t := c.nodes[st.Node]
	if t == nil {
		t = &abstract.Tracker{}
		c.nodes[st.Node] = t
	}
	if err := t.Step(st); err != nil {
		return fmt.Errorf("node %d: %w", st.Node, err)
	}
	c.sum.Steps++
	if st.Event.Kind == abstract.Start {
		c.sum.Lives++
	}
	for _, role := range st.Seen.Entered {
		if role == abstract.Leader {
			c.sum.Leading++
		}
	}
	return nil
}
