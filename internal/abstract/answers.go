package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// answered takes a question off the list; false when nobody waits for an answer
// to it.
func (s *State) answered(ev *Event) bool {
	i := s.asking(ev.Call)
	if i < 0 {
		return false
	}
	if len(s.questions) == 1 {
		s.questions = nil
	} else {
		s.questions = slices.Delete(slices.Clone(s.questions), i, i+1)
	}
	return true
}

func (s *State) asking(call uint64) int {
	return slices.IndexFunc(s.questions, func(q question) bool { return q.call == call })
}

// hear acts on an answer: first on what it says of the quorum, then, if that made
// the question not void, on what was asked (1.5).
func (s *State) hear(ev *Event) {
	i := s.asking(ev.Call)
	if i < 0 {
		return
	}
	q := s.questions[i]
	s.answered(ev)
	m := &ev.Message
	switch m.Kind {
	case VersionsAnswer:
		s.change(ev)
		return
	case ChangeAnswer:
		return
	}
	at, entered := s.reach(m.Endpoints, m.Leader), len(s.Entered)
	switch {
	case m.Epoch < s.Epoch || m.Code == kerr.UnknownLeaderEpoch:
		return
	case m.Epoch > s.Epoch && m.Leader < 0 && !s.electable():
		return // nobody needs its vote, and the quorum may never get there
	case m.Epoch > s.Epoch || m.Code == kerr.FencedLeaderEpoch || m.Code == kerr.NotLeaderOrFollower:
		s.learn(m.Epoch, m.Leader, at)
		return
	case m.Leader >= 0:
		s.learn(m.Epoch, m.Leader, at)
	}
	if len(s.Entered) == entered || m.Code == kerr.None {
		s.act(q, ev)
	}
}

// outdate: who grants a pre-vote takes no more records that it asked for before. Its
// log must not get longer than the one it has granted.
func (s *State) outdate() {
	for i, q := range s.questions {
		if fetches := q.kind == FetchRequest || q.kind == SnapshotRequest; fetches && !q.outdated {
			s.questions = slices.Clone(s.questions)
			s.questions[i].outdated = true
		}
	}
}

// parted: what a leader that has said farewell answers to a question that it was
// asked before is no sign that it leads.
func (s *State) parted() {
	for i, q := range s.questions {
		if q.to == s.Leader && !q.bygone {
			s.questions = slices.Clone(s.questions)
			s.questions[i].bygone = true
		}
	}
}

// act does what the answer to a question asks for.
func (s *State) act(q question, ev *Event) {
	m := &ev.Message
	if m.Code == kerr.None && (q.bygone || q.outdated && (m.Records != nil || m.Kind == SnapshotAnswer)) {
		return
	}
	switch m.Kind {
	case VoteAnswer:
		standing := s.Role == Prospective || s.Role == Candidate
		if standing && (m.Code == kerr.None || m.Code == kerr.InvalidVoterKey) {
			s.round = s.round.with(q.to, m.Granted && m.Code == kerr.None)
		}
	case FetchAnswer:
		if s.Role == Follower && m.Code == kerr.None && m.Leader == s.Leader {
			s.fetch(m)
		}
	case SnapshotAnswer:
		if s.Role == Follower {
			s.chunk(m)
		}
	case UpdateAnswer:
		if s.Role == Follower && (m.Code == kerr.None || m.Code == kerr.UnsupportedVersion) {
			s.heard()
		}
	}
}

// heard: the leader lives, and serves us.
func (s *State) heard() {
	s.fetched, s.farewell, s.gone = true, false, false
}

// fetch acts on the answer to a fetch (2.5). One that brings nothing is no success: a
// cut where the log ends, a snapshot of what is known, records of which none fits.
func (s *State) fetch(m *Message) {
	switch {
	case m.Diverging != nil:
		d := *m.Diverging
		if d.End < 0 || d.Epoch < 0 {
			return
		}
		end := s.cutFor(d)
		if end < s.committed() || end < s.LogStart {
			return // the node stops (KAFKA-12460)
		}
		if end != s.LogEnd {
			s.truncate(end)
			s.heard()
		}
	case m.Snapshot != nil:
		id := *m.Snapshot
		if id.End < 0 || id.Epoch < 0 || id.Epoch > s.Epoch {
			return
		}
		if slices.Contains(s.snapshots, id) || id.End <= s.committed() {
			return
		}
		s.heard()
		s.download = &download{id: id}
	default:
		s.records(m)
	}
}

// records appends what came, up to the first batch of an epoch above ours
// (KAFKA-18723), and takes over the high watermark.
func (s *State) records(m *Message) {
	good := !m.Damaged
	if m.Records != nil {
		r := m.Records.upTo(s.Epoch)
		if good = r.Base == s.LogEnd && r.End > r.Base && r.follows(s.LastEpoch); good {
			s.append(r)
		}
	}
	if good {
		s.heard()
	}
	if m.HighWatermark >= 0 {
		s.HighWatermark = max(s.HighWatermark, min(s.LogEnd, m.HighWatermark))
	}
}

func (r Records) upTo(epoch kafka.Epoch) Records {
	for i, e := range r.Epochs {
		if e.Epoch > epoch {
			r.End, r.Epochs = e.Start, r.Epochs[:i]
			r.Sets = keep(r.Sets, func(o SetAt) bool { return o.Offset < e.Start })
			r.Levels = keep(r.Levels, func(o LevelAt) bool { return o.Offset < e.Start })
			return r
		}
	}
	return r
}

// follows tells whether epochs rise from the last one on.
func (r Records) follows(last kafka.Epoch) bool {
	for _, e := range r.Epochs {
		if e.Epoch < last {
			return false
		}
		last = e.Epoch
	}
	return len(r.Epochs) > 0
}

// chunk acts on the answer to a FetchSnapshot (2.6). Only what continues the
// download is a sign of life.
func (s *State) chunk(m *Message) {
	d := s.download
	switch {
	case d == nil || s.installing != 0:
		return
	case m.Code != kerr.None, m.Snapshot == nil || *m.Snapshot != d.id, m.Position != d.position, m.Bytes <= 0,
		d.position+int64(m.Bytes) > m.Size:
		s.download = nil
		return
	}
	s.heard()
	s.download = &download{d.id, d.position + int64(m.Bytes)}
}

// unanswered: a voter that does not know pre-votes decides for a prospective node,
// which then stands as before KIP-996.
func (s *State) unanswered(ev *Event) {
	i := s.asking(ev.Call)
	if i < 0 {
		return
	}
	q := s.questions[i]
	s.answered(ev)
	if s.Role == Prospective && q.kind == VoteRequest && ev.Code == kerr.UnsupportedVersion && s.mayStand() {
		*s = s.stand()
	}
}
