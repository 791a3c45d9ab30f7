package abstract

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// betweenVoters is what Vote, BeginQuorumEpoch and EndQuorumEpoch have in common.
func (s *State) betweenVoters(id kafka.NodeID, epoch kafka.Epoch) kerr.Code {
	switch {
	case epoch < s.Epoch:
		return kerr.FencedLeaderEpoch
	case id < 0:
		return kerr.InvalidRequest
	}
	return kerr.None
}

// meantForUs: a request that names its receiver names this node and its directory.
func (s *State) meantForUs(m *Message) kerr.Code {
	if m.To.Node >= 0 && !m.To.Matches(s.self) {
		return kerr.InvalidVoterKey
	}
	return kerr.None
}

// vote answers a Vote (2.2).
func (p *Post) vote(m *Message) {
	s := &p.State
	refuse := func(code kerr.Code) { p.Answer = Message{Code: code} }
	legal := m.LastEpoch < m.Epoch || m.PreVote && m.LastEpoch == m.Epoch
	if m.Offset < 0 || m.LastEpoch < 0 || !legal {
		refuse(kerr.InvalidRequest)
		return
	}
	if code := s.betweenVoters(m.From.Node, m.Epoch); code != kerr.None {
		refuse(code)
		return
	}
	if m.Epoch > s.Epoch { // also for a pre-vote
		*s = s.unattached(m.Epoch, kafka.NoNode)
	}
	if code := s.meantForUs(m); code != kerr.None {
		refuse(code)
		return
	}
	granted := s.grants(m)
	if granted && !m.PreVote && !s.voted() {
		s.Voted = m.From
		*s = s.enter(s.Role)
		if s.Role == Prospective {
			*s = s.ask()
		}
	}
	if granted && m.PreVote {
		s.outdate()
	}
	p.Answer = Message{Granted: granted}
	p.Precedes, p.Insists = m.PreVote && s.precedes(m), m.PreVote && s.mayInsist(m)
}

// grants is the table of 3.3, after the epoch of the request has become ours.
func (s *State) grants(m *Message) bool {
	upToDate := m.LastEpoch > s.LastEpoch || m.LastEpoch == s.LastEpoch && m.Offset >= s.LogEnd
	if m.PreVote {
		switch s.Role {
		case Leader:
			return false
		case Follower:
			return upToDate && (!s.fetched || s.farewell || s.gone)
		}
		return upToDate
	}
	switch {
	case s.Role != Unattached && s.Role != Prospective, m.From.Node == s.self.Node, s.self.Node < 0:
		return false
	case s.voted():
		return s.Voted.Matches(m.From)
	}
	return s.Leader < 0 && upToDate && m.Epoch > s.lostUpTo
}

// reach is how many addresses of a leader are known: those a message names, else
// those of the voter set.
func (s *State) reach(named int, leader kafka.NodeID) int {
	if named > 0 || leader < 0 {
		return named
	}
	v, _ := find(s.Voters, leader)
	return v.Endpoints
}

// beginEpoch answers BeginQuorumEpoch (2.3).
func (p *Post) beginEpoch(m *Message) {
	s := &p.State
	code := s.betweenVoters(m.Leader, m.Epoch)
	if code == kerr.None {
		s.learn(m.Epoch, m.Leader, s.reach(m.Endpoints, m.Leader))
		code = s.meantForUs(m)
	}
	p.Answer.Code = code
}

// endEpoch answers EndQuorumEpoch (2.4, B5).
func (p *Post) endEpoch(m *Message) {
	s := &p.State
	code := s.betweenVoters(m.Leader, m.Epoch)
	if code == kerr.None {
		s.learn(m.Epoch, m.Leader, s.reach(m.Endpoints, m.Leader))
		if s.Role == Follower && s.Leader == m.Leader {
			s.farewell = true
			s.parted()
		}
	}
	p.Answer.Code = code
}

// learn acts on who leads which epoch (1.5). What contradicts us is ignored: a
// message that names ourselves comes from a past that our disk has lost, if it is
// of a later epoch, and one epoch has one leader.
func (s *State) learn(epoch kafka.Epoch, leader kafka.NodeID, at int) {
	known := s.known()
	switch {
	case epoch < s.Epoch:
	case leader == s.self.Node && leader >= 0:
		if epoch > s.Epoch {
			*s = s.unattached(epoch, kafka.NoNode)
			s.lostUpTo = max(s.lostUpTo, epoch)
		}
	case epoch > s.Epoch && leader < 0:
		*s = s.unattached(epoch, kafka.NoNode)
	case leader < 0, epoch == s.Epoch && known >= 0 && known != leader:
	case epoch == s.Epoch && known == leader && at <= s.at:
	case at > 0:
		*s = s.follow(epoch, leader, at)
	case epoch > s.Epoch || known != leader:
		*s = s.unattached(epoch, leader)
	}
}

// leaderOnly is what requests for a leader's log have in common (2.1). A higher
// epoch does not move us. One that is about to leave serves on, or nobody could
// take its place.
func (s *State) leaderOnly(epoch kafka.Epoch) kerr.Code {
	switch {
	case epoch < s.Epoch:
		return kerr.FencedLeaderEpoch
	case epoch > s.Epoch:
		return kerr.UnknownLeaderEpoch
	case s.Role != Leader:
		return kerr.NotLeaderOrFollower
	}
	return kerr.None
}

// serve answers a Fetch (2.5).
func (p *Post) serve(m *Message) {
	s, a := &p.State, &p.Answer
	code := s.leaderOnly(m.Epoch)
	switch {
	case m.Wait < 0 || m.Offset < 0 || m.LastEpoch < 0 || m.LastEpoch > m.Epoch:
		code = kerr.InvalidRequest
	case code == kerr.None && m.From.Node == s.self.Node && s.self.Node >= 0:
		code = kerr.UnknownServerError
	}
	if code != kerr.None {
		a.Code, a.HighWatermark = code, kafka.NoOffset
		return
	}
	latest, have := s.latest()
	verdict, end := s.compare(m.Offset, m.LastEpoch)
	switch {
	case have && (m.Offset == 0 || verdict == needsSnapshot):
		id := latest // only what is told escapes
		a.Snapshot = &id
	case verdict == needsSnapshot:
		a.Diverging = &EpochEnd{}
	case verdict == diverging:
		until := end
		a.Diverging = &until
	default:
		if m.From.Node >= 0 {
			s.reached(m.From, m.Offset)
			s.advance()
		}
	}
	a.HighWatermark = s.leaderHW
}
