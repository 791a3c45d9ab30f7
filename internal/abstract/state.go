package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Role is what a node is at the moment.
type Role string

// The roles of the protocol. An observer is Unattached or Follower.
const (
	Unattached  Role = "unattached"
	Prospective Role = "prospective"
	Candidate   Role = "candidate"
	Leader      Role = "leader"
	Follower    Role = "follower"
	Resigned    Role = "resigned"
)

// Voter is an entry of a voter set. Endpoints is how many addresses it has.
type Voter struct {
	Key       kafka.ReplicaKey
	Endpoints int
}

// EpochStart is the first offset of an epoch in a log.
type EpochStart struct {
	Epoch kafka.Epoch
	Start kafka.Offset
}

// EpochEnd is an epoch and the offset one past its last record.
type EpochEnd struct {
	Epoch kafka.Epoch
	End   kafka.Offset
}

// SnapshotID names a snapshot: its end offset, and the epoch of its last record.
type SnapshotID struct {
	End   kafka.Offset
	Epoch kafka.Epoch
}

// SetAt is a voter set, in effect from the record at an offset on.
type SetAt struct {
	Offset kafka.Offset
	Set    []Voter
}

// LevelAt is a level of kraft.version, in effect from the record at an offset on.
type LevelAt struct {
	Offset kafka.Offset
	Level  int16
}

// Seen is what shows of a node after a step: the projection in which the model
// and a real node are compared.
type Seen struct {
	Role          Role
	Epoch         kafka.Epoch
	Voted         kafka.ReplicaKey // Node -1: nobody
	Leader        kafka.NodeID     // of the epoch, as the election state has it; -1: not known
	LogStart      kafka.Offset
	LogEnd        kafka.Offset // with what is asked to be written
	LastEpoch     kafka.Epoch  // of the last record; of the snapshot when none follows it; else 0
	HighWatermark kafka.Offset // -1: not known
	Voters        []Voter      // in effect, committed or not
	Level         int16        // of kraft.version
	Entered       []Role       // roles entered in this step, in order
}

// State is all that the model knows of a node: what shows, and what follows from
// the events so far. States are values: a step makes new ones and shares what
// has not changed. There are many steps, and a state is large, so what the common
// ones do to the new state they do in its place: only slices are never changed.
type State struct {
	Seen
	self      kafka.ReplicaKey
	endpoints int // of our own
	ctl       bool
	static    []Voter

	synced    kafka.Offset
	epochs    []EpochStart
	snapshots []SnapshotID
	sets      []SetAt
	levels    []LevelAt
	asked     uint64 // the last write asked for
	done      uint64 // the last one known to be durable
	cut       uint64 // the last truncation asked for

	at        int  // addresses known of the leader we follow or lost
	fetched   bool // a fetch from this leader has succeeded (3.3)
	farewell  bool // it said that it resigned (B5)
	gone      bool // its process is proven dead (B3)
	download  *download
	round     round
	questions []question // whose answers are waited for

	began    kafka.Offset // where the epoch we lead begins
	leaderHW kafka.Offset // high watermark of that epoch, -1 until its first record is committed
	replicas []progress   // the one that fetched last stands last

	silent     led         // who was given up because it did not answer
	mourned    kafka.Epoch // the last one whose leader was proven dead
	insisted   kafka.Epoch // the last one in which we insisted on a round
	lostUpTo   kafka.Epoch // votes given up to here may be forgotten: none is given again
	seeking    bool        // no later epoch has been met since votes were forgotten
	installing uint64      // the write that puts a snapshot in the place of the log
	closing    bool
	dead       bool // its disk failed
}

// led is an epoch and its leader.
type led struct {
	epoch  kafka.Epoch
	leader kafka.NodeID
}

var nobody = led{kafka.NoEpoch, kafka.NoNode}

// download is a snapshot on its way.
type download struct {
	id       SnapshotID
	position int64
}

// question is a request without answer.
type question struct {
	call uint64
	to   kafka.NodeID
	kind Kind
	// outdated: a pre-vote was granted since this fetch was sent.
	outdated bool
	// bygone: who is asked has led, and has said farewell since.
	bygone bool
}

// progress is what a leader knows of one that fetches.
type progress struct {
	key kafka.ReplicaKey
	end kafka.Offset
}

var noKey = kafka.ReplicaKey{Node: kafka.NoNode}

// enter takes up a role. Questions of the one before are void.
func (s State) enter(r Role) State {
	s.Role, s.questions = r, nil
	s.Entered = append(slices.Clip(s.Entered), r)
	return s
}

// votesLost: there may be a vote of ours that we do not know, and that counts: in an
// epoch that has a leader nobody else gets one.
func (s *State) votesLost() bool { return s.seeking || s.Epoch <= s.lostUpTo && s.Leader < 0 }

func (s *State) voted() bool { return s.Voted.Node >= 0 }

// known is who leads the epoch as far as this role tells peers: a leader that has
// resigned names itself.
func (s *State) known() kafka.NodeID {
	if s.Role == Candidate {
		return kafka.NoNode
	}
	return s.Leader
}

// member tells whether we are a voter by the set in effect.
func (s *State) member() bool { return contains(s.Voters, s.self) }

func (s *State) alone() bool { return len(s.Voters) == 1 && s.member() }

// electable: a voter may stand for election, and so may one that the last set
// dropped, as long as it does not know that set as committed.
func (s *State) electable() bool {
	n := len(s.sets)
	if s.member() || n == 0 || s.sets[n-1].Offset < s.HighWatermark {
		return s.member()
	}
	return n > 1 && contains(s.sets[n-2].Set, s.self)
}

func (s *State) mayStand() bool { return s.electable() && !s.closing && s.installing == 0 }

// inEffect sets voters and level to what the log says now.
func (s *State) inEffect() {
	s.Voters, s.Level = s.static, 0
	if n := len(s.sets); n > 0 {
		s.Voters = s.sets[n-1].Set
	}
	if n := len(s.levels); n > 0 {
		s.Level = s.levels[n-1].Level
	}
}

func contains(set []Voter, key kafka.ReplicaKey) bool {
	v, ok := find(set, key.Node)
	return ok && v.Key.Matches(key)
}

func find(set []Voter, id kafka.NodeID) (Voter, bool) {
	for _, v := range set {
		if v.Key.Node == id {
			return v, true
		}
	}
	return Voter{Key: noKey}, false
}

func majority(n int) int { return n/2 + 1 }
