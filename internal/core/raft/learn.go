package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// learn acts on who leads which epoch, as a message tells it. A message that
// is at odds with what we know is ignored: one that names ourselves while we do
// not lead comes from our past (B1), and a second leader of one epoch cannot be.
func learn(c *Core, h Hint) {
	known, at := c.role.leader()
	switch {
	case h.Epoch < c.election.Epoch:
	case !believable(c, h.Epoch):
		c.trace("epoch ignored", h.Leader)
	case h.Leader == c.cfg.Self.Node && h.Leader >= 0:
		learnOwn(c, h.Epoch)
	case h.Epoch > c.election.Epoch && h.Leader >= 0:
		follow(c, h)
	case h.Epoch > c.election.Epoch:
		c.becomeUnattached(h.Epoch, kafka.NoNode, inherited(c))
	case h.Leader < 0:
	case known >= 0 && known != h.Leader:
		c.trace("other leader ignored", h.Leader)
	case known < 0 || len(h.Endpoints) > len(at):
		follow(c, h)
	}
}

// learnOwn acts on a message that says we lead an epoch. In a higher one than
// ours we did so before we lost our disk; we vote for nobody in it.
func learnOwn(c *Core, epoch kafka.Epoch) {
	if epoch > c.election.Epoch {
		c.becomeUnattached(epoch, kafka.NoNode, inherited(c))
		c.lost.upTo = max(c.lost.upTo, epoch)
	}
}

// follow becomes follower of a leader whose address is known; else it waits,
// and remembers who leads.
func follow(c *Core, h Hint) {
	if len(h.Endpoints) > 0 {
		c.becomeFollower(h.Epoch, h.Leader, h.Endpoints)
		return
	}
	if known, _ := c.role.leader(); h.Epoch > c.election.Epoch || known != h.Leader {
		c.becomeUnattached(h.Epoch, h.Leader, inherited(c))
	}
}

// answered acts on an answer. What it tells of the quorum comes first; the
// rest counts only if nothing in that made the question void.
func answered(c *Core, call Call, body Body) {
	x, ok := c.calls.close(call)
	if !ok {
		return
	}
	from, outdated, bygone := x.to, x.outdated, x.bygone
	switch a := body.(type) {
	case VersionsAnswer:
		probed(c, call, from, a)
		return
	case ChangeAnswer:
		if f, ok := c.role.(*follower); ok {
			f.changeAnswered(c, a)
		}
		return
	}
	c.measure(c.now.Sub(x.sent), body)
	code, hint := outcome(body)
	if code == kerr.None {
		x.vain = 0
	}
	hint.Endpoints = endpointsOr(c, hint.Endpoints, hint.Leader)
	role := c.role
	switch {
	case code != kerr.None && c.silence.names(hint, c.now):
		restBriefly(c, x)
		return
	case hint.Epoch < c.election.Epoch || code == kerr.UnknownLeaderEpoch:
		restBriefly(c, x)
		return
	case hint.Epoch > c.election.Epoch && hint.Leader < 0 && !c.quorum.electable(c.hw):
		stayBehind(c, x)
		return
	case hint.Epoch > c.election.Epoch || code == kerr.FencedLeaderEpoch || code == kerr.NotLeaderOrFollower:
		learn(c, hint)
		if c.role == role {
			restBriefly(c, x)
		}
		return
	case hint.Leader >= 0:
		learn(c, hint)
	}
	if c.role != role && code != kerr.None {
		return
	}
	if code == kerr.None && (bygone || outdated && grows(body)) {
		c.trace("outdated answer dropped", from)
		return
	}
	act(c, call, from, code, body)
}

// grows tells whether an answer to a fetch brings records or some of a snapshot.
func grows(body Body) bool {
	a, isFetch := body.(FetchAnswer)
	return !isFetch || a.Span.End > a.Span.Base
}

// outcome is what every answer has.
func outcome(body Body) (kerr.Code, Hint) {
	switch a := body.(type) {
	case VoteAnswer:
		return a.Err, a.Hint
	case BeginAnswer:
		return a.Err, a.Hint
	case EndAnswer:
		return a.Err, a.Hint
	case FetchAnswer:
		return a.Err, a.Hint
	case SnapshotAnswer:
		return a.Err, a.Hint
	case UpdateVoterAnswer:
		return a.Err, a.Hint
	}
	return kerr.UnknownServerError, Hint{Epoch: kafka.NoEpoch, Leader: kafka.NoNode}
}

// act does what an answer to a standing question asks for.
func act(c *Core, call Call, from kafka.NodeID, code kerr.Code, body Body) {
	switch a := body.(type) {
	case VoteAnswer:
		// A voter that holds another directory will not grant: that is a
		// refusal, or it would be asked again without end.
		if code == kerr.None || code == kerr.InvalidVoterKey {
			voteAnswered(c, from, a.Granted && code == kerr.None)
			return
		}
	case EndAnswer:
		if r, ok := c.role.(*resigned); ok && code == kerr.None {
			r.acknowledged(from)
			return
		}
	case FetchAnswer:
		f, follows := c.role.(*follower)
		switch {
		case follows && code == kerr.None && a.Hint.Leader == f.id:
			f.fetchAnswered(c, call, a)
			return
		case follows && code == kerr.KafkaStorageError && from == f.id:
			f.inVain(c, "leader cannot read its log")
			return
		}
	case SnapshotAnswer:
		if f, ok := c.role.(*follower); ok {
			f.chunkAnswered(c, from, call, a)
			return
		}
	case UpdateVoterAnswer:
		if f, ok := c.role.(*follower); ok && f.updateAnswered(c, code) {
			return
		}
	case BeginAnswer:
	}
	if code != kerr.None {
		pause(c, from)
	}
}

// pause lets a destination rest for the retry back-off.
func pause(c *Core, to kafka.NodeID) {
	c.calls.conn(to).backoff = c.now.Add(c.cfg.Timing.RetryBackoff)
}

// restBriefly lets a destination rest that answers and knows no more than we do.
// A quorum without a leader has one again in a few milliseconds as a rule. Voters
// are told by it; whoever has to look for it is not to sleep through that: such
// rests begin with an eighth of the back-off, and double up to all of it.
func restBriefly(c *Core, x *conn) {
	const brief, whole = 8, 3
	if c.quorum.electable(c.hw) {
		pause(c, x.to)
		return
	}
	x.backoff = c.now.Add(c.cfg.Timing.RetryBackoff / brief << x.vain)
	x.vain = min(x.vain+1, whole)
}

// unanswered acts on a request without answer. A voter that does not know
// pre-votes decides for a prospective node: it stands as before KIP-996.
func unanswered(c *Core, call Call, code kerr.Code) {
	x, ok := c.calls.close(call)
	if !ok {
		return
	}
	if _, asks := c.role.(*prospective); asks && code == kerr.UnsupportedVersion && !x.fetch && mayStand(c) {
		c.becomeCandidate()
		return
	}
	x.fresh = code == kerr.BrokerNotAvailable
	pause(c, x.to)
	switch role := c.role.(type) {
	case *leader:
		probed(c, call, x.to, VersionsAnswer{Err: code})
	case *follower:
		// A leader from before KIP-853 will not learn it.
		role.told = role.told || call == role.announced && code == kerr.UnsupportedVersion
	}
}
