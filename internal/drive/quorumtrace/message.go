package quorumtrace

import (
	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// message turns a request or an answer into one of the model. It is made in its
// place, which is empty: a message is large, and every step has some.
func (o *Observer) message(m *abstract.Message, body raft.Body) {
	switch b := body.(type) {
	case raft.VoteRequest:
		m.Kind, m.Epoch, m.To, m.From = abstract.VoteRequest, b.Epoch, b.Voter, b.Candidate
		m.PreVote, m.LastEpoch, m.Offset = b.PreVote, b.LastEpoch, b.End
	case raft.VoteAnswer:
		answer(m, abstract.VoteAnswer, b.Err, &b.Hint)
		m.Granted = b.Granted
	case raft.BeginRequest:
		m.Kind, m.Epoch, m.Leader, m.To, m.Endpoints = abstract.BeginRequest, b.Epoch, b.Leader, b.Voter, len(b.Endpoints)
	case raft.BeginAnswer:
		answer(m, abstract.BeginAnswer, b.Err, &b.Hint)
	case raft.EndRequest:
		m.Kind, m.Epoch, m.Leader, m.Endpoints = abstract.EndRequest, b.Epoch, b.Leader, len(b.Endpoints)
	case raft.EndAnswer:
		answer(m, abstract.EndAnswer, b.Err, &b.Hint)
	case raft.FetchRequest:
		m.Kind, m.Epoch, m.From, m.LastEpoch, m.Offset = abstract.FetchRequest, b.Epoch, b.Replica, b.LastEpoch, b.Offset
		m.Wait, m.HighWatermark = int64(b.MaxWait), b.HighWatermark
	case raft.FetchAnswer:
		o.fetchAnswer(m, &b)
	case raft.SnapshotRequest:
		id := snapshot(b.ID)
		m.Kind, m.Epoch, m.From, m.Snapshot, m.Position = abstract.SnapshotRequest, b.Epoch, b.Replica, &id, b.Position
	case raft.SnapshotAnswer:
		id := snapshot(b.ID)
		answer(m, abstract.SnapshotAnswer, b.Err, &b.Hint)
		m.Snapshot, m.Position, m.Bytes, m.Size = &id, b.Position, b.Bytes, b.Size
	default:
		*m = change(body)
	}
}

// change turns what is said about the voters.
func change(body raft.Body) abstract.Message {
	switch b := body.(type) {
	case raft.AddVoterRequest:
		return abstract.Message{Kind: abstract.AddRequest, From: b.Voter, Endpoints: len(b.Endpoints)}
	case raft.RemoveVoterRequest:
		return abstract.Message{Kind: abstract.RemoveRequest, From: b.Voter}
	case raft.RaiseRequest:
		return abstract.Message{Kind: abstract.RaiseRequest, Epoch: b.Epoch, Level: b.Level, Ask: b.Ask}
	case raft.ChangeAnswer:
		return abstract.Message{Kind: abstract.ChangeAnswer, Code: b.Err}
	case raft.UpdateVoterRequest:
		return abstract.Message{Kind: abstract.UpdateRequest, Epoch: b.Epoch, From: b.Voter, Endpoints: len(b.Endpoints)}
	case raft.UpdateVoterAnswer:
		var m abstract.Message
		answer(&m, abstract.UpdateAnswer, b.Err, &b.Hint)
		return m
	case raft.VersionsRequest:
		return abstract.Message{Kind: abstract.VersionsRequest}
	case raft.VersionsAnswer:
		return abstract.Message{Kind: abstract.VersionsAnswer, Code: b.Err}
	}
	return abstract.Message{}
}

func answer(m *abstract.Message, kind abstract.Kind, code kerr.Code, h *raft.Hint) {
	m.Kind, m.Code, m.Epoch, m.Leader, m.Endpoints = kind, code, h.Epoch, h.Leader, len(h.Endpoints)
}

func (o *Observer) fetchAnswer(m *abstract.Message, b *raft.FetchAnswer) {
	answer(m, abstract.FetchAnswer, b.Err, &b.Hint)
	m.HighWatermark, m.Damaged = b.HighWatermark, b.Damaged
	if b.Diverging != nil {
		d := abstract.EpochEnd(*b.Diverging)
		m.Diverging = &d
	}
	if b.Snapshot != nil {
		id := snapshot(*b.Snapshot)
		m.Snapshot = &id
	}
	if s := &b.Span; s.End > s.Base {
		m.Records = &abstract.Records{Base: s.Base, End: s.End, Epochs: epochs(s.Epochs), Sets: o.sets(s.Voters), Levels: levels(s.Levels)}
	}
}
