package dirs

import (
	"sync"

	"github.com/ottla/ottla/internal/edge/storage"
)

// stirred are the logs of a directory that have asked for a tick. All others are
// left alone: of 10,000 partitions a few are written to at any time. Its lock is a
// leaf.
type stirred struct {
	mu   sync.Mutex
	logs []*storage.Log
	// rounds counts the ticks that found something. What a log says of itself has
	// not changed since a round if there was none after it.
	rounds uint64
}

func (s *stirred) add(l *storage.Log) {
	s.mu.Lock()
	s.logs = append(s.logs, l)
	s.mu.Unlock()
}

// take gives the logs that have asked, each once.
func (s *stirred) take() []*storage.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.logs
	s.logs = nil
	if len(taken) > 0 {
		s.rounds++
	}
	return taken
}

// round is the number of the last round; logs that wait for the next one count as
// changed.
func (s *stirred) round() (n uint64, waiting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rounds, len(s.logs) > 0
}
