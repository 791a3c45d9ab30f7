package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// beginEpoch answers BeginQuorumEpoch: we follow the leader that calls. The
// fetch timer of one who follows already is not touched.
func beginEpoch(c *Core, r BeginRequest) BeginAnswer {
	code := checkVoterOnly(c, r.Leader, r.Epoch)
	if code == kerr.None {
		learn(c, Hint{Epoch: r.Epoch, Leader: r.Leader, Endpoints: endpointsOr(c, r.Endpoints, r.Leader)})
		code = checkVoterKey(c, r.Voter)
	}
	return BeginAnswer{Err: code, Hint: c.hint()}
}

// endEpoch answers EndQuorumEpoch: a follower of exactly that leader shortens
// its fetch timer by its place among the preferred successors, and from now on
// grants pre-votes (B5).
func endEpoch(c *Core, r EndRequest) EndAnswer {
	code := checkVoterOnly(c, r.Leader, r.Epoch)
	if code == kerr.None {
		learn(c, Hint{Epoch: r.Epoch, Leader: r.Leader, Endpoints: endpointsOr(c, r.Endpoints, r.Leader)})
		if f, follows := c.role.(*follower); follows && f.id == r.Leader {
			delay := successionDelay(c, r.Preferred)
			f.expires = c.now.Add(delay)
			f.farewell, f.chosen = true, delay == 0
			c.calls.parted(f.id)
		}
	}
	return EndAnswer{Err: code, Hint: c.hint()}
}

// successionDelay gives the first successor no delay, the later ones halves of
// the longest back-off, and those not listed all of it.
func successionDelay(c *Core, preferred []kafka.ReplicaKey) time.Duration {
	longest := c.cfg.Timing.BackoffMax
	for place, key := range preferred {
		if !key.Matches(c.cfg.Self) {
			continue
		}
		if place == 0 {
			return 0
		}
		down, up := min(len(preferred)-1, 62), min(place-1, 30)
		return min(longest, longest>>down<<up)
	}
	return longest
}

// endpointsOr gives the endpoints a message named, else those in the voter set.
func endpointsOr(c *Core, named Endpoints, leader kafka.NodeID) Endpoints {
	if len(named) > 0 || leader < 0 {
		return named
	}
	return c.quorum.voters().endpoints(leader)
}
