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
	// Precedes and Insists: a pre-vote may be refused although it could be granted,
	// because our own round is under way (B4), or because it begins (B3).
	Precedes, Insists bool
}

// Allowed are the states that the protocol allows after an event. There is more
// than one, because any timer may have ended meanwhile. There is none for an
// event that the protocol does not know.
func Allowed(pre State, ev Event) []Post { return allowed(nil, &pre, &ev, nil) }

// manyTimers is how many timers can end in one step: that of a role, and that of
// the role which follows, when it goes on with the time of the first.
const manyTimers = 2

// allowed appends to a list. Of the states that follow it gives, with want, only
// those that have entered the same roles.
func allowed(to []Post, pre *State, ev *Event, want *Seen) []Post {
	if ev.Kind == Start {
		if ev.Disk == nil {
			return to
		}
		return settled(append(to, Post{State: begin(*ev.Disk)}), want, manyTimers)
	}
	if pre.Role == "" {
		return to // no process runs
	}
	to = unchanged(to, pre)
	post := &to[len(to)-1]
	if pre.dead {
		post.Answer.Code = kerr.BrokerNotAvailable
		return to
	}
	if !happen(post, ev) {
		return to[:len(to)-1]
	}
	post.Answer.Epoch, post.Answer.Leader = post.Epoch, post.known()
	if post.dead {
		return to
	}
	to = settled(to, want, manyTimers)
	if pre.mayIgnore(&ev.Message) {
		to = unchanged(to, pre)
		ignored := &to[len(to)-1]
		ignored.Answer = Message{Code: kerr.BrokerNotAvailable, Epoch: pre.Epoch, Leader: pre.known()}
		ignored.answered(ev)
		to = settled(to, want, manyTimers)
	}
	return to
}

// unchanged adds a state as it was before the step.
func unchanged(to []Post, pre *State) []Post {
	n := len(to)
	to = slices.Grow(to, 1)[:n+1]
	p := &to[n]
	p.State, p.Answer, p.Precedes, p.Insists = *pre, Message{}, false, false
	p.Entered = nil
	return to
}

// mayIgnore: no quorum gets to a far epoch, so a node need not believe it. And who
// has given up a silent leader need not wait for it again because a refusal still
// names it.
func (s *State) mayIgnore(m *Message) bool {
	far := m.Epoch > farEpoch && m.Epoch > s.Epoch
	return far || m.Code != kerr.None && s.silent == (led{m.Epoch, m.Leader})
}

// farEpoch is farther than a quorum gets in 34 years of an election a second.
const farEpoch kafka.Epoch = 1 << 30

// happen is what an event itself does; false when the protocol has no such event.
func happen(p *Post, ev *Event) bool {
	m := &ev.Message
	switch ev.Kind {
	case VoteRequest:
		p.vote(m)
	case BeginRequest:
		p.beginEpoch(m)
	case EndRequest:
		p.endEpoch(m)
	case FetchRequest:
		p.serve(m)
	case SnapshotRequest:
	case AddRequest, RemoveRequest, UpdateRequest, RaiseRequest:
		p.change(ev)
	case VoteAnswer, BeginAnswer, EndAnswer, FetchAnswer, SnapshotAnswer, UpdateAnswer, ChangeAnswer, VersionsAnswer:
		p.hear(ev)
	case Unanswered:
		p.unanswered(ev)
	default:
		return p.local(ev)
	}
	return true
}

// local is what happens to a node by itself.
func (s *State) local(ev *Event) bool {
	switch ev.Kind {
	case Passed:
	case Propose:
		if s.Role == Leader && ev.Epoch == s.Epoch && ev.Count > 0 && !s.leaving() {
			s.LogEnd += kafka.Offset(ev.Count)
		}
	case Written, Synced:
		s.reported(ev)
	case Failed:
		s.fail()
	case Snapshot:
		s.withSnapshot(ev.Snapshot)
	case Lost:
		s.withoutSnapshot(ev.Snapshot)
	case Installed:
		if s.installing == ev.Seq && ev.Seq != 0 {
			s.installing, s.download = 0, nil
			s.done = max(s.done, ev.Seq)
			s.install(ev.Snapshot, ev.Sets, ev.Levels)
		}
	case Spoiled:
		if s.installing == ev.Seq && ev.Seq != 0 {
			s.installing, s.download = 0, nil
			s.done = max(s.done, ev.Seq)
		}
	case Cleaned:
		s.startAt(ev.End)
	case Resign:
		if s.Role == Leader && ev.Epoch == s.Epoch {
			*s = s.enter(Resigned)
		}
	case Dead:
		if s.Role == Follower && s.Leader == ev.Node && s.Epoch == ev.Epoch && s.mourned != ev.Epoch {
			s.mourned, s.gone = ev.Epoch, true
		}
	case Shutdown:
		s.closing = true
	default:
		return false
	}
	return true
}

// reported: the disk has a write. What it says of the end is out of date when the
// log was cut after it.
func (s *State) reported(ev *Event) {
	if ev.Kind == Synced {
		s.done = max(s.done, min(ev.Seq, s.asked))
		if ev.Seq >= s.cut && ev.End <= s.LogEnd {
			s.synced = max(s.synced, ev.End)
		}
	}
	s.advance()
}

// fail: a leader whose disk fails resigns, and the node says nothing any more.
func (s *State) fail() {
	if s.Role == Leader {
		*s = s.enter(Resigned)
	}
	s.dead = true
}

// settled lets the last state of a list settle: it is replaced by those of which one
// must follow at once, and those are added that may follow because a timer has ended.
func settled(to []Post, want *Seen, timers int) []Post {
	last := len(to) - 1
	p := &to[last]
	if !want.begins(p.Entered) {
		return to[:last]
	}
	if forced := p.forced(); len(forced) > 0 {
		return follow(to[:last], forced, *p, want, timers)
	}
	if timers == 0 || want != nil && len(want.Entered) == len(p.Entered) {
		return to
	}
	return follow(to, p.expired(), *p, want, timers-1)
}

// follow adds states that have followed on one in the same step.
func follow(to []Post, states []State, on Post, want *Seen, timers int) []Post {
	for _, s := range states {
		to = settled(append(to, Post{s, on.Answer, on.Precedes, on.Insists}), want, timers)
	}
	return to
}

// begins tells whether roles are a beginning of those that were entered. A nil
// wants nothing in particular.
func (w *Seen) begins(roles []Role) bool {
	return w == nil || len(roles) <= len(w.Entered) && slices.Equal(roles, w.Entered[:len(roles)])
}
