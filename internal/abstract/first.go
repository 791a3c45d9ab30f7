package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// A pre-vote that could be granted may be refused for the sake of our own round. The
// model knows no time, so not until when (B4), and not from when on (B3); who may,
// and what for, it knows.

// precedes: our own round goes before that of a request with a shorter log, or with
// an equal one and a higher node id, unless its sender has refused ours (B4).
func (s *State) precedes(m *Message) bool {
	if s.Role != Prospective || s.round.refusedBy(m.From.Node) {
		return false
	}
	mine, theirs := s.durable(), EpochEnd{m.LastEpoch, m.Offset}
	if mine == theirs {
		return s.self.Node < m.From.Node
	}
	return mine.Epoch > theirs.Epoch || mine.Epoch == theirs.Epoch && mine.End > theirs.End
}

// mayInsist: we had proof of our leader's death, and our last round is lost or will
// not be granted by this voter. It is held back once in an epoch, in odd ones, and
// only if its log is equal to ours (B3). That we may stand shows in the round that
// begins with it.
func (s *State) mayInsist(m *Message) bool {
	if s.mourned != s.Epoch || s.Epoch%2 == 0 || s.insisted == s.Epoch {
		return false
	}
	_, votes := find(s.Voters, m.From.Node)
	return votes && s.durable() == EpochEnd{m.LastEpoch, m.Offset} && s.refusedBefore(m.From.Node)
}

func (s *State) refusedBefore(by kafka.NodeID) bool {
	switch s.Role {
	case Follower:
		return !s.farewell && !s.gone // one that has fetched grants nobody
	case Prospective:
		return !s.round.won() && s.round.refusedBy(by)
	}
	return false
}

// refuses tells whether a pre-vote that could be granted may be refused in a step
// that has come to this state. Who insists has begun its round in it.
func (p *Post) refuses() bool {
	switch {
	case p.Precedes:
		return true
	case p.Insists && slices.Contains(p.Entered, Prospective):
		p.insisted = p.mourned
		return true
	}
	return false
}

// durable is the end of what the disk has of our log.
func (s *State) durable() EpochEnd { return EpochEnd{s.lastEpochOf(s.synced), s.synced} }
