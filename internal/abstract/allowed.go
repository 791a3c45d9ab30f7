package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Post is a state that may follow, and what a request is answered with in it:
// an answer that comes in the same step says this and nothing else. It is the
// zero message for events that are no requests.
type Post struct {
	State
	Answer Message
	// MayRefuse: a pre-vote may be refused although it could be granted, to let
	// another round come first (B4).
	MayRefuse bool
}

// Allowed are the states that the protocol allows after an event. There is more
// than one, because any timer may have ended meanwhile. There is none for an
// event that the protocol does not know.
func Allowed(pre State, ev Event) []Post { return allowed(nil, pre, &ev, nil) }

// manyTimers is how many timers can end in one step: that of a role, and that of
// the role which follows, when it goes on with the time of the first.
const manyTimers = 2

// allowed appends to a list. Of the states that follow it gives, with want, only
// those that have entered the same roles.
func allowed(to []Post, pre State, ev *Event, want *Seen) []Post {
	pre.Entered = nil
	if ev.Kind == Start {
		if ev.Disk == nil {
			return to
		}
		return settled(to, &Post{State: begin(*ev.Disk)}, want, manyTimers)
	}
	if pre.Role == "" {
		return to // no process runs
	}
	if pre.dead {
		return append(to, Post{State: pre, Answer: Message{Code: kerr.BrokerNotAvailable}})
	}
	post, known := happen(pre, ev)
	if !known {
		return to
	}
	post.Answer.Epoch, post.Answer.Leader = post.Epoch, post.known()
	if post.dead {
		return append(to, post)
	}
	to = settled(to, &post, want, manyTimers)
	if pre.mayIgnore(&ev.Message) {
		ignored := Post{State: pre, Answer: Message{Code: kerr.BrokerNotAvailable, Epoch: pre.Epoch, Leader: pre.known()}}
		if asked, ok := pre.answered(ev); ok {
			ignored.State = asked
		}
		to = settled(to, &ignored, want, manyTimers)
	}
	return to
}

// mayIgnore: no quorum gets to a far epoch, so a node need not believe it. And who
// has given up a silent leader need not wait for it again because a refusal still
// names it.
func (s State) mayIgnore(m *Message) bool {
	far := m.Epoch > farEpoch && m.Epoch > s.Epoch
	return far || m.Code != kerr.None && s.silent == (led{m.Epoch, m.Leader})
}

// farEpoch is farther than a quorum gets in 34 years of an election a second.
const farEpoch kafka.Epoch = 1 << 30

// happen is what an event itself does.
func happen(s State, ev *Event) (Post, bool) {
	m := &ev.Message
	switch ev.Kind {
	case VoteRequest:
		return s.vote(m), true
	case BeginRequest:
		return s.beginEpoch(m), true
	case EndRequest:
		return s.endEpoch(m), true
	case FetchRequest:
		return s.serve(m), true
	case SnapshotRequest:
		return Post{State: s}, true
	case AddRequest, RemoveRequest, UpdateRequest, RaiseRequest:
		return Post{State: s.change(ev)}, true
	case VoteAnswer, BeginAnswer, EndAnswer, FetchAnswer, SnapshotAnswer, UpdateAnswer, ChangeAnswer, VersionsAnswer:
		return Post{State: s.hear(ev)}, true
	case Unanswered:
		return Post{State: s.unanswered(ev)}, true
	}
	s, known := s.local(ev)
	return Post{State: s}, known
}

// local is what happens to a node by itself.
func (s State) local(ev *Event) (State, bool) {
	switch ev.Kind {
	case Passed:
	case Propose:
		if s.Role == Leader && ev.Epoch == s.Epoch && ev.Count > 0 && !s.leaving() {
			s.LogEnd += kafka.Offset(ev.Count)
		}
	case Written, Synced:
		s = s.reported(ev)
	case Failed:
		s = s.fail()
	case Snapshot:
		s = s.withSnapshot(ev.Snapshot)
	case Lost:
		s = s.withoutSnapshot(ev.Snapshot)
	case Installed:
		if s.installing == ev.Seq && ev.Seq != 0 {
			s.installing, s.download = 0, nil
			s.done = max(s.done, ev.Seq)
			s = s.install(ev.Snapshot, ev.Sets, ev.Levels)
		}
	case Spoiled:
		if s.installing == ev.Seq && ev.Seq != 0 {
			s.installing, s.download = 0, nil
			s.done = max(s.done, ev.Seq)
		}
	case Cleaned:
		s = s.startAt(ev.End)
	case Resign:
		if s.Role == Leader && ev.Epoch == s.Epoch {
			s = s.enter(Resigned)
		}
	case Dead:
		if s.Role == Follower && s.Leader == ev.Node && s.Epoch == ev.Epoch && s.mourned != ev.Epoch {
			s.mourned, s.gone = ev.Epoch, true
		}
	case Shutdown:
		s.closing = true
	default:
		return s, false
	}
	return s, true
}

// reported: the disk has a write. What it says of the end is out of date when the
// log was cut after it.
func (s State) reported(ev *Event) State {
	if ev.Kind == Synced {
		s.done = max(s.done, min(ev.Seq, s.asked))
		if ev.Seq >= s.cut && ev.End <= s.LogEnd {
			s.synced = max(s.synced, ev.End)
		}
	}
	return s.advance()
}

// fail: a leader whose disk fails resigns, and the node says nothing any more.
func (s State) fail() State {
	if s.Role == Leader {
		s = s.enter(Resigned)
	}
	s.dead = true
	return s
}

// settled adds a state, after the changes of role that must follow, and those
// that may follow because a timer has ended.
func settled(to []Post, p *Post, want *Seen, timers int) []Post {
	if !want.begins(p.Entered) {
		return to
	}
	if forced := p.forced(); len(forced) > 0 {
		for _, s := range forced {
			to = settled(to, &Post{s, p.Answer, p.MayRefuse}, want, timers)
		}
		return to
	}
	to = append(to, *p)
	if timers == 0 || want != nil && len(want.Entered) == len(p.Entered) {
		return to
	}
	for _, s := range p.expired() {
		to = settled(to, &Post{s, p.Answer, p.MayRefuse}, want, timers-1)
	}
	return to
}

// begins tells whether roles are a beginning of those that were entered. A nil
// wants nothing in particular.
func (w *Seen) begins(roles []Role) bool {
	return w == nil || len(roles) <= len(w.Entered) && slices.Equal(roles, w.Entered[:len(roles)])
}
