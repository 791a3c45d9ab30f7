package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// tally counts the answers of one round among the voters at its start. Our own
// vote, if we have one, is granted from the beginning.
type tally struct {
	voters  Voters
	answers []ballot // one for each voter heard from
}

type ballot struct {
	node    kafka.NodeID
	granted bool
}

func newTally(voters Voters, self kafka.ReplicaKey) tally {
	t := tally{voters: voters}
	if voters.Contains(self) {
		t.record(self.Node, true)
	}
	return t
}

// record notes an answer; a later one of the same voter replaces it. Nodes
// that are no voters do not count.
func (t *tally) record(node kafka.NodeID, granted bool) {
	if _, voter := t.voters.Node(node); !voter {
		return
	}
	if i := t.find(node); i >= 0 {
		t.answers[i].granted = granted
		return
	}
	t.answers = append(t.answers, ballot{node, granted})
}

func (t *tally) find(node kafka.NodeID) int {
	return slices.IndexFunc(t.answers, func(b ballot) bool { return b.node == node })
}

func (t *tally) recorded(node kafka.NodeID) bool { return t.find(node) >= 0 }

func (t *tally) refusedBy(node kafka.NodeID) bool {
	i := t.find(node)
	return i >= 0 && !t.answers[i].granted
}

func (t *tally) granted() []kafka.NodeID {
	var ids []kafka.NodeID
	for _, b := range t.answers {
		if b.granted {
			ids = append(ids, b.node)
		}
	}
	slices.Sort(ids)
	return ids
}

func (t *tally) won() bool { return len(t.granted()) >= t.voters.Majority() }

// decides tells that who granted so far cannot split the votes, whatever the other
// voters are at, of which one does not count: there is nobody left who could stand,
// too, or one, and the votes of who granted cannot be shared between the two so that
// neither has a majority.
func (t *tally) decides(without kafka.NodeID) bool {
	granted, rivals := 0, 0
	for _, v := range t.voters {
		switch i := t.find(v.Key.Node); {
		case i >= 0 && t.answers[i].granted:
			granted++
		case v.Key.Node != without:
			rivals++
		}
	}
	others := granted - 1
	return rivals == 0 || rivals == 1 && (others+1)/2+1 >= t.voters.Majority()
}

// wonWithoutUs tells that a round of another voter may have its majority although we
// refused it and the lost leader says nothing.
func (t *tally) wonWithoutUs() bool { return len(t.voters)-2 >= t.voters.Majority() }

// lost tells whether a majority cannot be reached any more.
func (t *tally) lost() bool {
	return len(t.granted())+len(t.voters)-len(t.answers) < t.voters.Majority()
}

// ask sends a vote request to every voter whose answer is missing and whose
// connection is free. It tells only what our disk holds. A candidate that is
// killed comes back as candidate of the same epoch, and whoever granted before
// grants again without another look at the log: what we said must still be true.
func (t *tally) ask(c *Core, preVote bool) {
	position := c.log.durablePosition()
	for _, v := range t.voters {
		at, reachable := addressOf(c, v.Endpoints)
		if v.Key.Node == c.cfg.Self.Node || !reachable || t.recorded(v.Key.Node) || !c.calls.ready(v.Key.Node, c.now) {
			continue
		}
		sendRequest(c, v.Key.Node, at, c.cfg.Timing.Request, VoteRequest{
			Voter: v.Key, Candidate: c.cfg.Self, Epoch: c.election.Epoch,
			LastEpoch: position.Epoch, End: position.End, PreVote: preVote,
		})
	}
}

// nextAsk is when a voter whose answer is missing can be asked again.
func (t *tally) nextAsk(c *Core) kafka.Instant {
	at := kafka.Never
	for _, v := range t.voters {
		if v.Key.Node != c.cfg.Self.Node && len(v.Endpoints) > 0 && !t.recorded(v.Key.Node) {
			at = min(at, c.calls.readyAt(v.Key.Node))
		}
	}
	return at
}
