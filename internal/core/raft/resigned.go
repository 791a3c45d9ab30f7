package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// resigned has led the current epoch and leads it no more: it gave up, or was
// restarted. It names itself as the epoch's leader to peers, votes for nobody
// in this epoch, and tells the voters to elect another. When its timer ends it
// asks for pre-votes in the same epoch (B1; Kafka goes to the next epoch).
type resigned struct {
	self      kafka.NodeID
	silent    []kafka.NodeID     // voters that have not acknowledged
	preferred []kafka.ReplicaKey // most caught-up first
	// heirAt is when the first of them is told at the latest: it stands at once,
	// and who has not been told before it asks refuses it.
	heirAt  kafka.Instant
	expires kafka.Instant
}

// newResigned begins to tell the voters. A restarted leader knows no preferred
// successor.
func newResigned(c *Core, preferred []kafka.ReplicaKey, expires kafka.Instant) *resigned {
	r := &resigned{self: c.cfg.Self.Node, preferred: preferred, expires: expires}
	c.quorum.others(func(v Voter) { r.silent = append(r.silent, v.Key.Node) })
	return r
}

func (r *resigned) name() Role                        { return RoleResigned }
func (r *resigned) leader() (kafka.NodeID, Endpoints) { return r.self, nil }

func (r *resigned) turn(c *Core) {
	switch stands, over := c.quorum.electable(c.hw), c.now >= r.expires; {
	case c.closing != nil:
	case stands && over:
		c.becomeProspective()
		return
	case !stands && (over || r.told(c)):
		c.becomeUnattached(c.election.Epoch, c.cfg.Self.Node, kafka.Never)
		return
	}
	for _, id := range r.silent {
		if c.now < r.heldBack(c, id) {
			continue
		}
		at, reachable := addressOf(c, c.quorum.voters().endpoints(id))
		if reachable && c.calls.ready(id, c.now) {
			sendRequest(c, id, at, c.cfg.Timing.Request, EndRequest{
				Leader: c.cfg.Self.Node, Epoch: c.election.Epoch, Preferred: r.preferred,
			})
		}
	}
}

func (r *resigned) next(c *Core) kafka.Instant {
	at := kafka.Never
	if c.closing == nil {
		at = r.expires
	}
	for _, id := range r.silent {
		if len(c.quorum.voters().endpoints(id)) > 0 {
			at = min(at, max(c.calls.readyAt(id), r.heldBack(c, id)))
		}
	}
	return at
}

// heldBack is when a voter may be told: the first successor when so many others
// know that it will have a majority, or when they have had their time.
func (r *resigned) heldBack(c *Core, id kafka.NodeID) kafka.Instant {
	if len(r.preferred) == 0 || r.preferred[0].Node != id {
		return 0
	}
	voters := c.quorum.voters()
	granting := 1 + len(r.preferred) - len(r.silent) // the successor, and who knows
	if voters.Contains(c.cfg.Self) {
		granting++
	}
	if granting >= voters.Majority() {
		return 0
	}
	return r.heirAt
}

// told tells that a majority of the voters knows, so that another will lead. Who is no
// voter any more hears of it only by asking: no leader calls those who do not vote.
func (r *resigned) told(c *Core) bool {
	voters := c.quorum.voters()
	return len(voters)-len(r.silent) >= voters.Majority()
}

// acknowledged notes that a voter knows.
func (r *resigned) acknowledged(id kafka.NodeID) {
	r.silent = slices.DeleteFunc(r.silent, func(s kafka.NodeID) bool { return s == id })
}
