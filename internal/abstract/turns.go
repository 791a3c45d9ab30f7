package abstract

import (
	"github.com/ottla/ottla/internal/base/kafka"
)

// forced are the states of which one must follow at once; none when the role
// stays as it is.
func (s *State) forced() []State {
	switch {
	case s.Role == Prospective && s.round.lost():
		return []State{s.fallBack()}
	case s.Role == Candidate && s.round.won():
		return s.lead()
	case s.Role == Leader && (s.removed() || s.leaving() && s.leaderHW >= s.LogEnd):
		return []State{s.enter(Resigned)}
	}
	return nil
}

// leaving: a leader that was asked to stop takes nothing more, and resigns when a
// majority has all that it took, or after a while (4.5). An only voter has nobody
// to leave it to.
func (s *State) leaving() bool { return s.closing && !s.alone() }

// removed: the set in effect is committed and does not name us (8.3).
func (s *State) removed() bool {
	n := len(s.sets)
	return n > 0 && s.sets[n-1].Offset < s.leaderHW && !s.member()
}

// expired is what may follow when a timer of the role ends (1.3; for Resigned B1).
// A round that is won may wait a little before it becomes an epoch (B4).
func (s *State) expired() []State {
	switch s.Role {
	case Unattached:
		if s.mayStand() {
			return []State{s.prospective()}
		}
	case Follower:
		if s.mayStand() {
			return []State{s.prospective()}
		}
		if !s.electable() {
			gaveUp := s.unattached(s.Epoch, s.Leader)
			gaveUp.silent = led{s.Epoch, s.Leader}
			return []State{gaveUp}
		}
	case Prospective:
		return s.roundEnds()
	case Candidate:
		if !s.closing {
			return []State{s.prospective()}
		}
	case Leader: // no majority fetches, or the disk stalls
		if !s.alone() {
			return []State{s.enter(Resigned)}
		}
	case Resigned:
		switch {
		case s.closing:
		case s.electable():
			return []State{s.prospective()}
		default:
			return []State{s.unattached(s.Epoch, s.self.Node)}
		}
	}
	return nil
}

// roundEnds are the ends of a round of pre-votes that is not lost.
func (s *State) roundEnds() (ends []State) {
	if s.round.won() {
		ends = append(ends, s.stand())
	}
	if !s.closing {
		ends = append(ends, s.fallBack())
	}
	return ends
}

// prospective asks first. Epoch, vote and leader stay, and of the leader its
// addresses; who led itself has none to go back to.
func (s State) prospective() State {
	if s.Role != Follower && s.Role != Prospective {
		s.at = 0
	}
	return s.enter(Prospective).ask()
}

// stand votes for itself in the next epoch. In that one it may have voted before, if
// its votes are forgotten: then it is the one after.
func (s State) stand() State {
	if s.seeking {
		s.Epoch++
		s.lostUpTo, s.seeking = s.Epoch, false
	}
	s.Epoch, s.Voted, s.Leader = s.Epoch+1, s.self, kafka.NoNode
	return s.enter(Candidate).ask()
}

// fallBack goes back to the leader that was lost, else to nobody.
func (s State) fallBack() State {
	if s.Leader >= 0 && s.at > 0 && s.Leader != s.self.Node {
		return s.follow(s.Epoch, s.Leader, s.at)
	}
	return s.unattached(s.Epoch, s.Leader)
}

// lead begins an epoch with its control batch (6.4): the change of leader, and
// for dynamic voters, when they are not in the log as they are, the level and the
// set.
func (s State) lead() []State {
	s.Leader, s.began, s.leaderHW, s.replicas = s.self.Node, s.LogEnd, kafka.NoOffset, nil
	s = s.enter(Leader)
	base := s.LogEnd
	one, three := s, s
	one.append(Records{Base: base, End: base + 1, Epochs: []EpochStart{{s.Epoch, base}}})
	n := len(s.sets)
	if s.Level < 1 || n == 0 {
		return []State{one}
	}
	three.append(Records{
		Base: base, End: base + 3, Epochs: []EpochStart{{s.Epoch, base}},
		Levels: []LevelAt{{base + 1, s.Level}}, Sets: []SetAt{{base + 2, s.withItself()}},
	})
	switch {
	case s.sets[n-1].Offset == kafka.NoOffset: // only at format time
		return []State{three}
	case !s.member():
		return []State{one}
	}
	return []State{one, three}
}

// withItself is the set in effect with our entry as we are.
func (s *State) withItself() []Voter {
	var set []Voter
	for _, v := range s.Voters {
		if v.Key.Node == s.self.Node {
			v = Voter{s.self, s.endpoints}
		}
		set = append(set, v)
	}
	return set
}

// unattached follows nobody. In another epoch there is no vote yet.
func (s State) unattached(epoch kafka.Epoch, leader kafka.NodeID) State {
	s = s.inEpoch(epoch, leader)
	s.at = 0
	return s.enter(Unattached)
}

// follow copies the log of a leader whose addresses are known.
func (s State) follow(epoch kafka.Epoch, leader kafka.NodeID, at int) State {
	s = s.inEpoch(epoch, leader)
	s.at, s.fetched, s.farewell, s.gone, s.download = at, false, false, false, nil
	s.silent = nobody // it lives, if it is the silent one
	return s.enter(Follower)
}

// inEpoch takes an epoch and its leader. The vote lasts as long as the epoch, and a
// leader once known is known until it ends (1.7).
func (s State) inEpoch(epoch kafka.Epoch, leader kafka.NodeID) State {
	if epoch > s.Epoch {
		s.Epoch, s.Voted, s.Leader = epoch, noKey, leader
		if s.seeking {
			s.lostUpTo, s.seeking = max(s.lostUpTo, epoch), false
		}
		return s
	}
	if leader >= 0 {
		s.Leader = leader
	}
	return s
}

// begin is the state in which a process starts (1.2, with B1).
func begin(d Disk) State {
	s := State{
		Seen: Seen{
			Epoch: d.Epoch, Voted: d.Voted, Leader: d.Leader, LogStart: d.LogStart, LogEnd: d.LogEnd, HighWatermark: kafka.NoOffset,
		},
		self: d.Self, endpoints: d.Endpoints, ctl: d.Controller, static: d.Static, synced: d.LogEnd,
		epochs: d.Epochs, snapshots: d.Snapshots, sets: d.Sets, levels: d.Levels,
		leaderHW: kafka.NoOffset, silent: nobody, mourned: kafka.NoEpoch, insisted: kafka.NoEpoch, lostUpTo: kafka.NoEpoch,
	}
	s.LastEpoch = s.lastEpochOf(s.LogEnd)
	s.inEffect()
	if d.Forgotten {
		s.lostUpTo, s.seeking = max(d.Epoch, s.LastEpoch), true
	}
	leader, _ := find(s.Voters, d.Leader)
	switch {
	case s.Epoch < s.LastEpoch:
		s.Epoch, s.Voted, s.Leader, s.Role = s.LastEpoch, noKey, kafka.NoNode, Unattached
	case s.Leader == s.self.Node && s.Leader >= 0:
		s.Role = Resigned
	case s.Leader < 0 && s.voted() && s.Voted.Matches(s.self) && s.electable():
		s.Role = Candidate
		s = s.ask()
	case s.Leader >= 0 && leader.Endpoints > 0:
		s.Role, s.at = Follower, leader.Endpoints
	default:
		s.Role = Unattached
	}
	if s.alone() && s.Role != Candidate {
		return s.prospective()
	}
	return s
}
