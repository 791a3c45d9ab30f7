package sim

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// printBody writes a message for the story.
func printBody(body raft.Body) string {
	switch b := body.(type) {
	case raft.VoteRequest:
		kind := "Vote"
		if b.PreVote {
			kind = "PreVote"
		}
		return fmt.Sprintf("%s epoch=%d log=%d@%d", kind, b.Epoch, b.End, b.LastEpoch)
	case raft.VoteAnswer:
		return fmt.Sprintf("VoteReply%s granted=%v", printHint(b.Hint, b.Err), b.Granted)
	case raft.BeginRequest:
		return fmt.Sprintf("Begin epoch=%d", b.Epoch)
	case raft.BeginAnswer:
		return "BeginReply" + printHint(b.Hint, b.Err)
	case raft.EndRequest:
		return fmt.Sprintf("End epoch=%d", b.Epoch)
	case raft.EndAnswer:
		return "EndReply" + printHint(b.Hint, b.Err)
	case raft.FetchRequest:
		return fmt.Sprintf("Fetch epoch=%d from=%d@%d hw=%d", b.Epoch, b.Offset, b.LastEpoch, b.HighWatermark)
	case raft.FetchAnswer:
		return "FetchReply" + printHint(b.Hint, b.Err) + printFetched(b)
	case raft.SnapshotRequest:
		return fmt.Sprintf("FetchSnapshot epoch=%d id=%d-%d at=%d", b.Epoch, b.ID.EndOffset, b.ID.Epoch, b.Position)
	case raft.SnapshotAnswer:
		return fmt.Sprintf("FetchSnapshotReply%s at=%d bytes=%d of %d", printHint(b.Hint, b.Err), b.Position, b.Bytes, b.Size)
	}
	return fmt.Sprintf("%#v", body)
}

func printHint(h raft.Hint, code kerr.Code) string {
	text := fmt.Sprintf(" epoch=%d leader=%d", h.Epoch, h.Leader)
	if code != kerr.None {
		text += fmt.Sprintf(" error=%v", code)
	}
	return text
}

func printFetched(a raft.FetchAnswer) string {
	text := fmt.Sprintf(" hw=%d", a.HighWatermark)
	if a.Diverging != nil {
		text += fmt.Sprintf(" diverging=%d@%d", a.Diverging.End, a.Diverging.Epoch)
	}
	if a.Snapshot != nil {
		text += fmt.Sprintf(" snapshot=%d-%d", a.Snapshot.EndOffset, a.Snapshot.Epoch)
	}
	if a.Span.End > a.Span.Base {
		text += fmt.Sprintf(" records=%d..%d", a.Span.Base, a.Span.End)
	}
	return text
}

// elected prints an election state, when it is needed.
type elected raft.Election

func (e elected) String() string {
	return fmt.Sprintf("epoch=%d leader=%d voted=%d", e.Epoch, e.Leader, e.Voted.Node)
}
