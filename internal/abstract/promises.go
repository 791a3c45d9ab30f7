package abstract

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// promises checks what a step sends: nothing says what the state does not bear
// out, and an answer is the one that the protocol gives.
func (p *Post) promises(st *Step) error {
	answered := false
	for i := range st.Sent {
		m := &st.Sent[i]
		var err error
		switch {
		case m.To != kafka.NoNode:
			err = p.question(m, st)
		case m.Call == st.Event.Call && requests(st.Event.Kind):
			answered = true
			err = p.answer(st.Event.Kind, &m.Message)
		default:
			err = p.late(&m.Message)
		}
		if err != nil {
			return err
		}
	}
	if !answered && atOnce(st.Event.Kind) {
		return fmt.Errorf("a %s is not answered", st.Event.Kind)
	}
	return nil
}

func requests(kind Kind) bool {
	switch kind {
	case VoteRequest, BeginRequest, EndRequest, FetchRequest, SnapshotRequest, AddRequest, RemoveRequest, UpdateRequest, RaiseRequest:
		return true
	}
	return false
}

// atOnce are the requests whose answers wait for nothing.
func atOnce(kind Kind) bool { return kind == VoteRequest || kind == BeginRequest || kind == EndRequest }

// question checks a request.
func (p *Post) question(m *Sent, st *Step) error {
	r := &m.Message
	s := &p.State
	if !asks(s.Role, r.Kind) && !(r.Kind == VersionsRequest && s.Role == Resigned) {
		return fmt.Errorf("a %s node sends a %s", s.Role, r.Kind)
	}
	switch r.Kind {
	case VoteRequest:
		return p.asksForVote(m)
	case BeginRequest, EndRequest:
		if r.Epoch != s.Epoch || r.Leader != s.self.Node {
			return fmt.Errorf("a %s of epoch %d and leader %d", r.Kind, r.Epoch, r.Leader)
		}
	case FetchRequest:
		if r.Epoch != s.Epoch || r.Offset != s.LogEnd || r.LastEpoch != s.LastEpoch || r.From != s.self || r.HighWatermark > s.HighWatermark {
			return fmt.Errorf("a fetch of epoch %d from %d@%d", r.Epoch, r.Offset, r.LastEpoch)
		}
		if !m.Held && s.ctl && max(s.asked, st.Asked) > s.done {
			return fmt.Errorf("a fetch promises %d, of which only write %d is durable", r.Offset, s.done)
		}
	case SnapshotRequest:
		if s.download == nil || r.Epoch != s.Epoch || *r.Snapshot != s.download.id || r.Position != s.download.position {
			return fmt.Errorf("a fetch of snapshot %v from byte %d", r.Snapshot, r.Position)
		}
	}
	return nil
}

// asksForVote: what a vote request says of the log is durable, and only voters
// that have not answered are asked.
func (p *Post) asksForVote(m *Sent) error {
	r, s := &m.Message, &p.State
	if r.PreVote != (s.Role == Prospective) || r.Epoch != s.Epoch || r.From != s.self {
		return fmt.Errorf("a %s node of epoch %d asks for votes of epoch %d, pre-vote %t", s.Role, s.Epoch, r.Epoch, r.PreVote)
	}
	end, last := s.synced, s.lastEpochOf(s.synced)
	if r.Offset != end || r.LastEpoch != last {
		return fmt.Errorf("a vote request names log end %d@%d, durable is %d@%d", r.Offset, r.LastEpoch, end, last)
	}
	if _, voter := find(s.round.voters, m.To); !voter || m.To == s.self.Node || s.round.answered(m.To) {
		return fmt.Errorf("a vote request goes to %d", m.To)
	}
	return nil
}

// answer checks the answer to the request of this step.
func (p *Post) answer(kind Kind, a *Message) error {
	want := &p.Answer
	switch kind {
	case VoteRequest, BeginRequest, EndRequest:
		if a.Granted != want.Granted && (a.Granted || !p.refuses()) || a.Code != want.Code {
			return fmt.Errorf("a %s is answered with granted=%t, %v; it should be granted=%t, %v", kind, a.Granted, a.Code, want.Granted, want.Code)
		}
	case FetchRequest:
		if p.dismissed(a) {
			break
		}
		if a.Code != want.Code || a.Code == kerr.None && !sameFetch(a, want) {
			return fmt.Errorf("a fetch is answered with %+v; it should be %+v", *a, *want)
		}
	}
	if p.dead || kind == AddRequest || kind == RemoveRequest || kind == RaiseRequest {
		return nil
	}
	if a.Epoch != want.Epoch || a.Leader != want.Leader {
		return fmt.Errorf("an answer names epoch %d and leader %d; they are %d and %d", a.Epoch, a.Leader, want.Epoch, want.Leader)
	}
	return nil
}

// dismissed: the fetch was parked, and in the same step a timer ended our
// leadership, with which all that is parked is answered.
func (p *Post) dismissed(a *Message) bool {
	want := &p.Answer
	return p.Role == Resigned && a.Code == kerr.NotLeaderOrFollower &&
		want.Code == kerr.None && want.Diverging == nil && want.Snapshot == nil
}

func sameFetch(a, b *Message) bool {
	return a.HighWatermark == b.HighWatermark && same(a.Diverging, b.Diverging) && same(a.Snapshot, b.Snapshot)
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// late checks an answer to an earlier request: it was parked.
func (p *Post) late(a *Message) error {
	switch a.Kind {
	case FetchAnswer:
		if a.Code == kerr.None && a.HighWatermark > p.HighWatermark {
			return fmt.Errorf("a parked fetch is told high watermark %d, which is %d", a.HighWatermark, p.HighWatermark)
		}
	case ChangeAnswer, UpdateAnswer:
	default:
		return fmt.Errorf("a %s to no request", a.Kind)
	}
	return nil
}
