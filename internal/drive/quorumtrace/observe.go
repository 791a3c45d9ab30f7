package quorumtrace

import (
	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// Observer makes steps of what it is told of one core. A step belongs to the
// observer, which uses its memory again.
type Observer struct {
	step   abstract.Step
	voters voterCache
}

// Started is the first step of a process: what it found on its disk.
func (o *Observer) Started(cfg raft.Config, st raft.Stored, s raft.State, e raft.Effects) *abstract.Step {
	disk := &abstract.Disk{
		Self: cfg.Self, Endpoints: len(cfg.Endpoints), Controller: cfg.Controller, Static: o.set(cfg.Static),
		Epoch: st.Election.Epoch, Voted: st.Election.Voted, Leader: st.Election.Leader, Forgotten: st.Forgotten,
		LogStart: st.LogStart, LogEnd: st.LogEnd, Epochs: epochs(st.Epochs), Sets: o.sets(st.Voters), Levels: levels(st.Levels),
	}
	for _, snap := range st.Snapshots {
		disk.Snapshots = append(disk.Snapshots, abstract.SnapshotID{End: snap.ID.EndOffset, Epoch: snap.ID.Epoch})
	}
	o.begin(cfg.Self.Node)
	o.step.Event.Kind, o.step.Event.Disk = abstract.Start, disk
	return o.after(&s, &e)
}

// Stepped is what the core has made of an event. It changes neither state nor
// effects.
func (o *Observer) Stepped(ev raft.Event, s *raft.State, e *raft.Effects) *abstract.Step {
	o.begin(o.step.Node)
	o.event(&o.step.Event, ev)
	return o.after(s, e)
}

func (o *Observer) begin(node kafka.NodeID) {
	o.step = abstract.Step{Node: node, Sent: o.step.Sent[:0], Seen: abstract.Seen{Entered: o.step.Seen.Entered[:0]}}
}

// after adds what the node is and asks for after the event.
func (o *Observer) after(s *raft.State, e *raft.Effects) *abstract.Step {
	st := &o.step
	entered := st.Seen.Entered
	for _, t := range e.Trace {
		switch role := raft.Role(t.What); role {
		case raft.RoleUnattached, raft.RoleProspective, raft.RoleCandidate, raft.RoleLeader, raft.RoleFollower, raft.RoleResigned:
			entered = append(entered, abstract.Role(role))
		}
	}
	st.Seen = abstract.Seen{
		Role: abstract.Role(s.Role), Epoch: s.Election.Epoch, Voted: s.Election.Voted, Leader: s.Election.Leader,
		LogStart: s.LogStart, LogEnd: s.Log.End, LastEpoch: s.Log.Epoch, HighWatermark: s.HighWatermark,
		Voters: o.set(s.Voters), Level: s.Level, Entered: entered,
	}
	if e.Truncate != nil {
		st.Asked, st.Cut = uint64(e.Truncate.Seq), uint64(e.Truncate.Seq)
	}
	for _, a := range e.Append {
		st.Asked = max(st.Asked, uint64(a.Seq))
		if a.Control != nil && a.Control.Set != nil && a.Control.Change == nil {
			st.Event.Chosen = o.set(a.Control.Set)
		}
	}
	if c := e.Chunk; c != nil && c.Last {
		st.Install = uint64(c.Seq)
		st.Asked = max(st.Asked, st.Install)
	}
	for i := range e.Send {
		o.sent(&e.Send[i], false)
	}
	for i := range e.SendSync {
		o.sent(&e.SendSync[i].Message, true)
	}
	st.Fault = e.Fault != nil
	return st
}

func (o *Observer) sent(m *raft.Message, held bool) {
	st := &o.step
	st.Sent = append(st.Sent, abstract.Sent{Call: uint64(m.Call), To: m.To, Held: held})
	o.message(&st.Sent[len(st.Sent)-1].Message, m.Body)
}

// event turns an event of the core into one of the model, which is empty. A kind
// that is not known here has no name, which is no event of the protocol.
func (o *Observer) event(to *abstract.Event, ev raft.Event) {
	switch ev := ev.(type) {
	case raft.Received:
		o.message(&to.Message, ev.Body)
		to.Kind, to.Call = to.Message.Kind, uint64(ev.Call)
	case raft.Answered:
		o.message(&to.Message, ev.Body)
		to.Kind, to.Call = to.Message.Kind, uint64(ev.Call)
	case raft.Unanswered:
		to.Kind, to.Call, to.Code = abstract.Unanswered, uint64(ev.Call), ev.Code
	case raft.Passed:
		to.Kind = abstract.Passed
	case raft.Propose:
		to.Kind, to.Epoch, to.Count = abstract.Propose, ev.Epoch, ev.Count
	case raft.Written:
		to.Kind, to.Seq, to.End = abstract.Written, uint64(ev.Seq), ev.End
	case raft.Synced:
		to.Kind, to.Seq, to.End = abstract.Synced, uint64(ev.Seq), ev.End
	case raft.Failed:
		to.Kind, to.Seq = abstract.Failed, uint64(ev.Seq)
	case raft.SnapshotCreated:
		to.Kind, to.Snapshot = abstract.Snapshot, snapshot(ev.Snapshot.ID)
	case raft.SnapshotDamaged:
		to.Kind, to.Snapshot = abstract.Lost, snapshot(ev.ID)
	case raft.Installed:
		to.Kind, to.Seq, to.Snapshot = abstract.Installed, uint64(ev.Seq), snapshot(ev.Snapshot.ID)
		to.Sets, to.Levels = o.sets(ev.Voters), levels(ev.Levels)
	case raft.Spoiled:
		to.Kind, to.Seq = abstract.Spoiled, uint64(ev.Seq)
	case raft.Cleaned:
		to.Kind, to.End = abstract.Cleaned, ev.Start
	case raft.Resign:
		to.Kind, to.Epoch = abstract.Resign, ev.Epoch
	case raft.Dead:
		to.Kind, to.Node, to.Epoch = abstract.Dead, ev.Leader, ev.Epoch
	case raft.Shutdown:
		to.Kind = abstract.Shutdown
	}
}

// voterCache remembers the last sets: they are values that nobody changes, so one
// with the same memory is the same set.
type voterCache struct {
	of   [2]raft.Voters
	made [2][]abstract.Voter
	next int
}

func (o *Observer) set(v raft.Voters) []abstract.Voter {
	if len(v) == 0 {
		return nil
	}
	c := &o.voters
	for i, have := range c.of {
		if len(have) == len(v) && &have[0] == &v[0] {
			return c.made[i]
		}
	}
	made := make([]abstract.Voter, len(v))
	for i, x := range v {
		made[i] = abstract.Voter{Key: x.Key, Endpoints: len(x.Endpoints)}
	}
	c.of[c.next], c.made[c.next] = v, made
	c.next = 1 - c.next
	return made
}

func (o *Observer) sets(all []raft.At[raft.Voters]) (out []abstract.SetAt) {
	for _, v := range all {
		out = append(out, abstract.SetAt{Offset: v.Offset, Set: o.set(v.Value)})
	}
	return out
}

func levels(all []raft.At[int16]) (out []abstract.LevelAt) {
	for _, v := range all {
		out = append(out, abstract.LevelAt{Offset: v.Offset, Level: v.Value})
	}
	return out
}

func epochs(all []raft.EpochStart) (out []abstract.EpochStart) {
	for _, e := range all {
		out = append(out, abstract.EpochStart(e))
	}
	return out
}

func snapshot(id raft.SnapshotID) abstract.SnapshotID {
	return abstract.SnapshotID{End: id.EndOffset, Epoch: id.Epoch}
}
