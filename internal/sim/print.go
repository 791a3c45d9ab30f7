package sim

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// appendBody writes a message for the story.
func appendBody(to []byte, body raft.Body) []byte {
	switch b := body.(type) {
	case raft.VoteRequest:
		kind := "Vote"
		if b.PreVote {
			kind = "PreVote"
		}
		return fmt.Appendf(to, "%s epoch=%d log=%d@%d", kind, b.Epoch, b.End, b.LastEpoch)
	case raft.VoteAnswer:
		return fmt.Appendf(appendHint(to, "VoteReply", b.Hint, b.Err), " granted=%v", b.Granted)
	case raft.BeginRequest:
		return fmt.Appendf(to, "Begin epoch=%d", b.Epoch)
	case raft.BeginAnswer:
		return appendHint(to, "BeginReply", b.Hint, b.Err)
	case raft.EndRequest:
		return fmt.Appendf(to, "End epoch=%d", b.Epoch)
	case raft.EndAnswer:
		return appendHint(to, "EndReply", b.Hint, b.Err)
	case raft.FetchRequest:
		return fmt.Appendf(to, "Fetch epoch=%d from=%d@%d hw=%d", b.Epoch, b.Offset, b.LastEpoch, b.HighWatermark)
	case raft.FetchAnswer:
		return appendFetched(appendHint(to, "FetchReply", b.Hint, b.Err), b)
	case raft.SnapshotRequest:
		return fmt.Appendf(to, "FetchSnapshot epoch=%d id=%d-%d at=%d", b.Epoch, b.ID.EndOffset, b.ID.Epoch, b.Position)
	case raft.SnapshotAnswer:
		return fmt.Appendf(appendHint(to, "FetchSnapshotReply", b.Hint, b.Err), " at=%d bytes=%d of %d", b.Position, b.Bytes, b.Size)
	}
	return fmt.Appendf(to, "%#v", body)
}

func appendHint(to []byte, what string, h raft.Hint, code kerr.Code) []byte {
	to = fmt.Appendf(to, "%s epoch=%d leader=%d", what, h.Epoch, h.Leader)
	if code != kerr.None {
		to = fmt.Appendf(to, " error=%v", code)
	}
	return to
}

func appendFetched(to []byte, a raft.FetchAnswer) []byte {
	to = fmt.Appendf(to, " hw=%d", a.HighWatermark)
	if a.Diverging != nil {
		to = fmt.Appendf(to, " diverging=%d@%d", a.Diverging.End, a.Diverging.Epoch)
	}
	if a.Snapshot != nil {
		to = fmt.Appendf(to, " snapshot=%d-%d", a.Snapshot.EndOffset, a.Snapshot.Epoch)
	}
	if a.Span.End > a.Span.Base {
		to = fmt.Appendf(to, " records=%d..%d", a.Span.Base, a.Span.End)
	}
	return to
}

// elected prints an election state, when it is needed.
type elected raft.Election

func (e elected) String() string {
	return fmt.Sprintf("epoch=%d leader=%d voted=%d", e.Epoch, e.Leader, e.Voted.Node)
}
