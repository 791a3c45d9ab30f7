package abstract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Tracker follows one node from step to step. Its zero value waits for a start.
type Tracker struct {
	// Steps counts those that were found in the relation.
	Steps int

	state   State
	durable ballotPaper // the election state before the last step: a crash may leave that one
	lost    bool        // votes were lost before the last step
	posts   []Post      // used again
}

// ballotPaper is the election state, which outlives a crash.
type ballotPaper struct {
	epoch  kafka.Epoch
	voted  kafka.ReplicaKey
	leader kafka.NodeID
}

func paperOf(s *Seen) ballotPaper { return ballotPaper{s.Epoch, s.Voted, s.Leader} }

// is tells whether a file holds an election state. The form of it that belongs to
// static voters has no place for the directory of a vote (1.6).
func (p ballotPaper) is(was ballotPaper) bool {
	if p.voted.Dir == (kafka.DirID{}) {
		was.voted.Dir = kafka.DirID{}
	}
	return p == was
}

// Step takes the next step of the node. The error says what the protocol does not
// allow; after one the tracker is of no use any more.
func (t *Tracker) Step(st *Step) error {
	if st.Event.Kind == Start {
		if err := t.kept(st.Event.Disk); err != nil {
			return err
		}
	}
	t.posts = allowed(t.posts[:0], &t.state, &st.Event, &st.Seen)
	for i := range t.posts {
		p := &t.posts[i]
		if !p.Seen.same(&st.Seen) {
			continue
		}
		if err := p.promises(st); err != nil {
			return fmt.Errorf("%w\nevent %s\nthe node then: %v", err, describe(&st.Event), st.Seen)
		}
		t.durable, t.lost = paperOf(&t.state.Seen), t.state.votesLost()
		if d := st.Event.Disk; d != nil {
			t.durable, t.lost = ballotPaper{d.Epoch, d.Voted, d.Leader}, d.Forgotten
		}
		p.took(st)
		t.state = p.State
		t.Steps++
		return nil
	}
	return t.stray(st)
}

// stray says what a step that is not in the relation should have been.
func (t *Tracker) stray(st *Step) error {
	var out strings.Builder
	fmt.Fprintf(&out, "the protocol does not allow this step\nbefore: %v\nevent %s\nafter: %v", t.state.Seen, describe(&st.Event), st.Seen)
	for _, p := range Allowed(t.state, st.Event) {
		fmt.Fprintf(&out, "\nallowed: %v", p.Seen)
	}
	return fmt.Errorf("%s", out.String())
}

// kept: what was durable when the process ended is there when the next one
// begins (R2, R3). The step in which it ended may not have come to its write.
func (t *Tracker) kept(d *Disk) error {
	if t.state.Role == "" || d == nil || d.Self != t.state.self {
		return nil // its first life, or another disk
	}
	found := ballotPaper{d.Epoch, d.Voted, d.Leader}
	lost := t.lost
	if found.is(paperOf(&t.state.Seen)) {
		lost = t.state.votesLost()
	} else if !found.is(t.durable) {
		return fmt.Errorf("the node starts with the election state %v, and had %v", found, paperOf(&t.state.Seen))
	}
	if lost && !d.Forgotten {
		return fmt.Errorf("the node starts as if it knew all its votes, with the election state %v", found)
	}
	// A snapshot that was downloaded may have taken the place of the log although
	// nobody was told so any more.
	installed := t.state.installing != 0 && d.LogStart == d.LogEnd
	if d.LogEnd < t.state.synced && !installed && t.state.ctl && !t.state.dead { // others promise nothing
		return fmt.Errorf("the log ends at %d, and was durable up to %d", d.LogEnd, t.state.synced)
	}
	return nil
}

// same compares what shows.
func (s *Seen) same(o *Seen) bool {
	return s.Role == o.Role && s.Epoch == o.Epoch && s.Voted == o.Voted && s.Leader == o.Leader &&
		s.LogStart == o.LogStart && s.LogEnd == o.LogEnd && s.LastEpoch == o.LastEpoch && s.HighWatermark == o.HighWatermark &&
		s.Level == o.Level && slices.Equal(s.Entered, o.Entered) && slices.Equal(s.Voters, o.Voters)
}

func (s Seen) String() string {
	var voters []kafka.NodeID
	for _, v := range s.Voters {
		voters = append(voters, v.Key.Node)
	}
	return fmt.Sprintf("%s epoch=%d voted=%d leader=%d log=%d..%d@%d hw=%d voters=%v level=%d, entered %v",
		s.Role, s.Epoch, s.Voted.Node, s.Leader, s.LogStart, s.LogEnd, s.LastEpoch, s.HighWatermark, voters, s.Level, s.Entered)
}

func describe(ev *Event) string {
	text := fmt.Sprintf("%s call=%d seq=%d end=%d epoch=%d", ev.Kind, ev.Call, ev.Seq, ev.End, ev.Epoch)
	if m := &ev.Message; m.Kind != "" {
		text += fmt.Sprintf(" %+v", *m)
		if m.Records != nil {
			text += fmt.Sprintf(" records %+v", *m.Records)
		}
	}
	return text
}

// took takes over what a step has asked of the disk and of peers.
func (s *State) took(st *Step) {
	s.asked = max(s.asked, st.Asked)
	s.cut = max(s.cut, st.Cut)
	if st.Install != 0 {
		s.installing = st.Install
	}
	for i := range st.Sent {
		m := &st.Sent[i]
		if m.To == kafka.NoNode || !asks(s.Role, m.Message.Kind) {
			continue
		}
		q := question{call: m.Call, to: m.To, kind: m.Message.Kind}
		all := make([]question, 0, len(s.questions)+1)
		for _, o := range s.questions {
			if o.to != q.to {
				all = append(all, o)
			}
		}
		s.questions = append(all, q)
	}
}

// asks tells which role asks what.
func asks(r Role, kind Kind) bool {
	switch kind {
	case VoteRequest:
		return r == Prospective || r == Candidate
	case BeginRequest, VersionsRequest:
		return r == Leader
	case EndRequest:
		return r == Resigned
	case FetchRequest:
		return r == Follower || r == Unattached
	case SnapshotRequest, UpdateRequest, AddRequest, RemoveRequest:
		return r == Follower
	}
	return false
}
