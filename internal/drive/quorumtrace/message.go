package quorumtrace

import (
	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// message turns a request or an answer into one of the model.
func (o *Observer) message(body raft.Body) abstract.Message {
	switch b := body.(type) {
	case raft.VoteRequest:
		return abstract.Message{
			Kind: abstract.VoteRequest, Epoch: b.Epoch, To: b.Voter, From: b.Candidate, PreVote: b.PreVote, LastEpoch: b.LastEpoch, Offset: b.End,
		}
	case raft.VoteAnswer:
		m := answer(abstract.VoteAnswer, b.Err, b.Hint)
		m.Granted = b.Granted
		return m
	case raft.BeginRequest:
		return abstract.Message{Kind: abstract.BeginRequest, Epoch: b.Epoch, Leader: b.Leader, To: b.Voter, Endpoints: len(b.Endpoints)}
	case raft.BeginAnswer:
		return answer(abstract.BeginAnswer, b.Err, b.Hint)
	case raft.EndRequest:
		return abstract.Message{Kind: abstract.EndRequest, Epoch: b.Epoch, Leader: b.Leader, Endpoints: len(b.Endpoints)}
	case raft.EndAnswer:
		return answer(abstract.EndAnswer, b.Err, b.Hint)
	case raft.FetchRequest:
		return abstract.Message{
			Kind: abstract.FetchRequest, Epoch: b.Epoch, From: b.Replica, LastEpoch: b.LastEpoch, Offset: b.Offset, Wait: int64(b.MaxWait),
			HighWatermark: b.HighWatermark,
		}
	case raft.FetchAnswer:
		return o.fetchAnswer(b)
	case raft.SnapshotRequest:
		id := snapshot(b.ID)
		return abstract.Message{Kind: abstract.SnapshotRequest, Epoch: b.Epoch, From: b.Replica, Snapshot: &id, Position: b.Position}
	case raft.SnapshotAnswer:
		m, id := answer(abstract.SnapshotAnswer, b.Err, b.Hint), snapshot(b.ID)
		m.Snapshot, m.Position, m.Bytes, m.Size = &id, b.Position, b.Bytes, b.Size
		return m
	}
	return change(body)
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
		return answer(abstract.UpdateAnswer, b.Err, b.Hint)
	case raft.VersionsRequest:
		return abstract.Message{Kind: abstract.VersionsRequest}
	case raft.VersionsAnswer:
		return abstract.Message{Kind: abstract.VersionsAnswer, Code: b.Err}
	}
	return abstract.Message{}
}

func answer(kind abstract.Kind, code kerr.Code, h raft.Hint) abstract.Message {
	return abstract.Message{Kind: kind, Code: code, Epoch: h.Epoch, Leader: h.Leader, Endpoints: len(h.Endpoints)}
}

func (o *Observer) fetchAnswer(b raft.FetchAnswer) abstract.Message {
	m := answer(abstract.FetchAnswer, b.Err, b.Hint)
	m.HighWatermark, m.Damaged = b.HighWatermark, b.Damaged
	if b.Diverging != nil {
		d := abstract.EpochEnd(*b.Diverging)
		m.Diverging = &d
	}
	if b.Snapshot != nil {
		id := snapshot(*b.Snapshot)
		m.Snapshot = &id
	}
	if s := b.Span; s.End > s.Base {
		m.Records = &abstract.Records{Base: s.Base, End: s.End, Epochs: epochs(s.Epochs), Sets: o.sets(s.Voters), Levels: levels(s.Levels)}
	}
	return m
}
