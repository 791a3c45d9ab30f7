package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// checkLeaderOnly is what requests to a leader have in common that would change
// something: one that is about to hand over takes no more of them.
func checkLeaderOnly(c *Core, epoch kafka.Epoch) kerr.Code {
	if code := checkLeads(c, epoch); code != kerr.None || c.closing == nil || c.quorum.alone() {
		return code
	}
	return kerr.BrokerNotAvailable
}

// checkLeads refuses who does not ask the leader of an epoch. A higher epoch
// does not move us: only its leader or a vote does.
func checkLeads(c *Core, epoch kafka.Epoch) kerr.Code {
	switch {
	case epoch < c.election.Epoch:
		return kerr.FencedLeaderEpoch
	case epoch > c.election.Epoch:
		return kerr.UnknownLeaderEpoch
	case !c.leads():
		return kerr.NotLeaderOrFollower
	}
	return kerr.None
}

// serveFetch answers a fetch, or parks it until there is something to tell. One
// that was parked before is answered whatever there is.
func serveFetch(c *Core, call Call, r FetchRequest, again bool) {
	code := kerr.None
	if r.MaxWait < 0 || r.Offset < 0 || r.LastEpoch < 0 || r.LastEpoch > r.Epoch {
		code = kerr.InvalidRequest
	}
	if code == kerr.None {
		code = checkLeads(c, r.Epoch)
	}
	if code == kerr.None && r.Replica.Node == c.cfg.Self.Node && r.Replica.Node >= 0 {
		code = kerr.UnknownServerError // we do not fetch from ourselves
	}
	if code != kerr.None {
		c.answer(call, Refuse(r, code, c.hint()))
		return
	}
	l := c.role.(*leader)
	a := FetchAnswer{Hint: c.hint(), HighWatermark: l.hw, LogStart: c.log.start}
	switch l.compare(c, r, &a) {
	case valid:
		l.serveRecords(c, call, r, a, again)
	default:
		// Such a fetch is no progress: it counts neither for the high
		// watermark nor for check quorum.
		c.answer(call, a)
	}
}

// compare looks whether the replica's log is a beginning of ours. An empty
// replica gets the latest snapshot even if our log reaches back to 0
// (KAFKA-15078).
func (l *leader) compare(c *Core, r FetchRequest, a *FetchAnswer) verdict {
	latest, have := c.log.latestSnapshot()
	have = have && latest.ID != (SnapshotID{})
	if r.Offset == 0 && have {
		a.Snapshot = pointer(latest.ID)
		return needSnapshot
	}
	result, end := c.log.validate(r.Offset, r.LastEpoch)
	switch {
	case result == diverging:
		a.Diverging = pointer(end)
	case result == needSnapshot && have:
		a.Snapshot = pointer(latest.ID)
	case result == needSnapshot && c.log.start > 0:
		// The snapshot that held what came before our log was damaged. The next one
		// is being written.
		a.Err = kerr.KafkaStorageError
	case result == needSnapshot:
		// Only the checkpoint of format time is there, and that is not sent.
		a.Diverging, result = &EpochEnd{}, diverging
	}
	return result
}

// pointer is to a copy: what most answers do not tell is not made for them.
func pointer[T any](x T) *T { return &x }

// serveRecords notes how far the replica has come and gives it what follows:
// everything written, committed or not.
func (l *leader) serveRecords(c *Core, call Call, r FetchRequest, a FetchAnswer, again bool) {
	voters := c.quorum.voters()
	voter := voters.Contains(r.Replica)
	wait := waitFor(c, r, voter)
	if r.Replica.Node >= 0 && !again {
		l.replicas.reached(voters, r.Replica, r.Offset, c.log.end, c.now)
		if voter {
			l.quorum.granted = max(l.quorum.granted, wait)
			l.quorum.heard(c, r.Replica)
		}
		before := l.hw
		l.advance(c)
		if l.hw != before {
			defer l.unpark(c)
		}
	}
	a.HighWatermark = l.hw
	a.Read = Read{From: r.Offset, Below: max(r.Offset, c.log.written), MaxBytes: r.MaxBytes}
	if a.Read.From < a.Read.Below || wait == 0 || again || r.HighWatermark < l.hw {
		c.answer(call, a)
		return
	}
	f := parkedFetch{call: call, request: r, hw: l.hw, until: c.now.Add(wait), answer: a}
	if room, full := l.parked.add(f, voter); full {
		c.answer(room.call, room.answer)
	}
}

// serveSnapshot answers FetchSnapshot. It counts for check quorum, not for the
// high watermark.
func serveSnapshot(c *Core, r SnapshotRequest) SnapshotAnswer {
	a := SnapshotAnswer{ID: r.ID, Position: r.Position}
	a.Err = checkLeads(c, r.Epoch)
	if a.Err == kerr.None {
		s, have := c.log.snapshot(r.ID)
		switch {
		case !have || r.ID == (SnapshotID{}):
			a.Err = kerr.SnapshotNotFound
		case r.Position < 0 || r.Position >= s.Size:
			a.Err = kerr.PositionOutOfRange
		default:
			a.Size = s.Size
			a.Bytes = int32(min(int64(max(r.MaxBytes, 1)), s.Size-r.Position))
			c.role.(*leader).quorum.heard(c, r.Replica)
		}
	}
	a.Hint = c.hint()
	return a
}
