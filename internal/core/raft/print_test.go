package raft

import (
	"fmt"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

func printElection(e Election) string {
	text := fmt.Sprintf("epoch=%d leader=%d", e.Epoch, e.Leader)
	if e.hasVoted() {
		text += fmt.Sprintf(" voted=%d", e.Voted.Node)
	}
	return text
}

func printControl(c *Control) string {
	if c == nil {
		return ""
	}
	text := ""
	if c.Change != nil {
		text = fmt.Sprintf(" leader-change granting=%v", c.Change.Granting)
	}
	if c.Level != nil {
		text += fmt.Sprintf(" kraft.version=%d", *c.Level)
	}
	if c.Set != nil {
		text += " voters=" + printVoters(c.Set)
	}
	return text
}

func printEnvelope(e envelope) string {
	text := fmt.Sprintf("%d->%d %s", e.from, e.to, printBody(e.body, e.batches))
	if e.fresh {
		text += " on a new connection"
	}
	return text
}

// printBody writes a message as scenarios read it.
func printBody(b Body, batches []stored) string {
	switch b := b.(type) {
	case VoteRequest:
		text := fmt.Sprintf("Vote epoch=%d end=%d@%d", b.Epoch, b.End, b.LastEpoch)
		if b.PreVote {
			text += " prevote"
		}
		return text
	case VoteAnswer:
		return "VoteReply" + printHint(b.Hint, b.Err) + fmt.Sprintf(" granted=%v", b.Granted)
	case BeginRequest:
		return fmt.Sprintf("Begin epoch=%d leader=%d", b.Epoch, b.Leader)
	case BeginAnswer:
		return "BeginReply" + printHint(b.Hint, b.Err)
	case EndRequest:
		return fmt.Sprintf("End epoch=%d leader=%d preferred=%s", b.Epoch, b.Leader, printKeys(b.Preferred))
	case EndAnswer:
		return "EndReply" + printHint(b.Hint, b.Err)
	case FetchRequest:
		return fmt.Sprintf("Fetch epoch=%d from=%d@%d hw=%d wait=%v", b.Epoch, b.Offset, b.LastEpoch, b.HighWatermark, b.MaxWait)
	case FetchAnswer:
		return "FetchReply" + printHint(b.Hint, b.Err) + printFetched(b, batches)
	case SnapshotRequest:
		return fmt.Sprintf("FetchSnapshot epoch=%d id=%d-%d position=%d", b.Epoch, b.ID.EndOffset, b.ID.Epoch, b.Position)
	case SnapshotAnswer:
		return "FetchSnapshotReply" + printHint(b.Hint, b.Err) +
			fmt.Sprintf(" position=%d bytes=%d of %d", b.Position, b.Bytes, b.Size)
	}
	return printChange(b)
}

// printChange writes what is about a change of the voters.
func printChange(b Body) string {
	switch b := b.(type) {
	case AddVoterRequest:
		text := "AddVoter " + printKey(b.Voter)
		if b.AtOnce {
			text += " at-once"
		}
		return text
	case RemoveVoterRequest:
		return "RemoveVoter " + printKey(b.Voter)
	case RaiseRequest:
		return fmt.Sprintf("Raise epoch=%d level=%d", b.Epoch, b.Level)
	case ChangeAnswer:
		if b.Err == kerr.None {
			return "ChangeReply"
		}
		return strings.TrimSuffix(fmt.Sprintf("ChangeReply error=%v: %s", b.Err, b.Why), ": ")
	case UpdateVoterRequest:
		return fmt.Sprintf("UpdateVoter epoch=%d %s", b.Epoch, printKey(b.Voter))
	case UpdateVoterAnswer:
		return "UpdateVoterReply" + printHint(b.Hint, b.Err)
	case VersionsRequest:
		return "Versions"
	case VersionsAnswer:
		if b.Err != kerr.None {
			return fmt.Sprintf("VersionsReply error=%v", b.Err)
		}
		return fmt.Sprintf("VersionsReply kraft.version=%d..%d", b.MinLevel, b.MaxLevel)
	}
	return fmt.Sprintf("%#v", b)
}

// printVoters writes a set; a voter whose disk was replaced has its directory
// beside it.
func printVoters(set Voters) string {
	var all []string
	for _, v := range set {
		all = append(all, strings.ReplaceAll(printKey(v.Key), " dir=", "/"))
	}
	return strings.Join(all, ",")
}

func printKey(k kafka.ReplicaKey) string {
	if k.Dir == dirOf(k.Node) || k.Dir == (kafka.DirID{}) {
		return fmt.Sprint(k.Node)
	}
	return fmt.Sprintf("%d dir=%d", k.Node, k.Dir[15])
}

func printHint(h Hint, code kerr.Code) string {
	text := fmt.Sprintf(" epoch=%d leader=%d", h.Epoch, h.Leader)
	if code != kerr.None {
		text += fmt.Sprintf(" error=%v", code)
	}
	return text
}

func printFetched(a FetchAnswer, batches []stored) string {
	text := fmt.Sprintf(" hw=%d", a.HighWatermark)
	if a.Diverging != nil {
		text += fmt.Sprintf(" diverging=%d@%d", a.Diverging.End, a.Diverging.Epoch)
	}
	if a.Snapshot != nil {
		text += fmt.Sprintf(" snapshot=%d-%d", a.Snapshot.EndOffset, a.Snapshot.Epoch)
	}
	if n := len(batches); n > 0 {
		text += fmt.Sprintf(" records=%d..%d", batches[0].base, batches[n-1].end)
	}
	return text
}

func printKeys(keys []kafka.ReplicaKey) string {
	var ids []string
	for _, k := range keys {
		ids = append(ids, fmt.Sprint(k.Node))
	}
	return strings.Join(ids, ",")
}

// show prints what a node knows.
func (m *member) show() {
	c := m.core
	leader := c.State().Leader
	state := ""
	if m.down {
		state = " down"
	}
	if c.closing != nil && c.Finished() {
		state += " finished"
	}
	m.w.printf("%d: %s epoch=%d leader=%d voted=%d log=%d..%d@%d hw=%d%s next=+%v", m.id, c.role.name(), c.election.Epoch, leader,
		c.election.Voted.Node, c.log.start, c.log.end, c.log.lastEpoch(), c.hw, state, round(m.deadline, m.w.now))
}

func round(deadline, now kafka.Instant) string {
	if deadline == kafka.Never {
		return "never"
	}
	return deadline.Sub(now).Round(time.Millisecond).String()
}
