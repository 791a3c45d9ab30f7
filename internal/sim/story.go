package sim

import (
	"fmt"
	"io"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// story is what happened, line by line. Every input and every effect has a line,
// so its digest stands for the whole run; the text itself is written only when
// somebody wants to read it.
type story struct {
	to   io.Writer // nil when nobody reads
	sum  digest
	line []byte
}

func newStory(to io.Writer) story { return story{to: to, sum: newDigest()} }

// note adds a line.
func (s *story) note(now kafka.Instant, format string, args ...any) {
	s.sum.addInt(int64(now))
	s.sum.addText(format)
	for _, a := range args {
		s.sum.addAny(a)
	}
	if s.to != nil {
		s.begin(now)
		s.line = fmt.Appendf(s.line, format, args...)
		s.end()
	}
}

// message adds a line about a message that a node sends or hears.
func (s *story) message(now kafka.Instant, node kafka.NodeID, does string, other kafka.NodeID, body raft.Body) {
	s.sum.addInt(int64(now))
	s.sum.addInt(int64(node)<<32 | int64(other))
	s.sum.addText(does)
	s.sum.addBody(body)
	if s.to != nil {
		s.begin(now)
		s.line = fmt.Appendf(s.line, "%d %s %d: ", node, does, other)
		s.line = appendBody(s.line, body)
		s.end()
	}
}

// begin starts a line with the time, in simulated seconds.
func (s *story) begin(now kafka.Instant) {
	micros := time.Duration(now).Microseconds()
	s.line = fmt.Appendf(s.line[:0], "%5d.%06d  ", micros/1e6, micros%1e6)
}

// end tells the line. A write that fails ends the telling, not the run.
func (s *story) end() {
	s.line = append(s.line, '\n')
	if _, err := s.to.Write(s.line); err != nil {
		s.to = nil
	}
}

// hash is 128 bits, in hex.
func (s *story) hash() string { return s.sum.String() }
