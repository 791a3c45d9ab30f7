package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// story is what happened, line by line. Every input and every effect has a line,
// so its hash stands for the whole run; the text itself is kept only when
// somebody wants to read it.
type story struct {
	to   io.Writer // nil when nobody reads
	sum  hash.Hash
	line []byte
}

func newStory(to io.Writer) story { return story{to: to, sum: sha256.New()} }

// note adds a line. A write that fails ends the telling, not the run.
func (s *story) note(now kafka.Instant, format string, args ...any) {
	s.line = fmt.Appendf(s.line[:0], "%12.6f  ", time.Duration(now).Seconds())
	s.line = fmt.Appendf(s.line, format, args...)
	s.line = append(s.line, '\n')
	s.sum.Write(s.line)
	if s.to != nil {
		if _, err := s.to.Write(s.line); err != nil {
			s.to = nil
		}
	}
}

// hash is 128 bits, in hex.
func (s *story) hash() string { return hex.EncodeToString(s.sum.Sum(nil)[:16]) }
