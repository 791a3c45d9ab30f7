package raft

import (
	"fmt"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// change is a change of the voters that a leader has under way. There is one at
// most: two sets of which nobody knows which one holds could both elect a
// leader (KIP-853).
type change struct {
	call    Call // who waits for the answer; 0 once it was given
	request Body
	voter   Voter // as it is to be; the zero voter for a removal
	// probe is our question to the voter for its levels; 0 once it is answered.
	probe Call
	// at is the record's offset, or NoOffset before it is appended.
	at      kafka.Offset
	expires kafka.Instant
}

// no is why a change is refused; the zero value refuses nothing.
type no struct {
	code   kerr.Code
	why    string
	passes bool // the same request is taken a moment later
}

func because(code kerr.Code, format string, args ...any) no {
	return no{code: code, why: fmt.Sprintf(format, args...)}
}

// notYet refuses what is to be asked again.
func notYet(why string) no { return no{code: kerr.RequestTimedOut, why: why, passes: true} }

// tell answers a change in the form that its request has.
func (n no) tell(c *Core, call Call, request Body) {
	if call == 0 {
		return
	}
	if _, update := request.(UpdateVoterRequest); update {
		a := UpdateVoterAnswer{Err: n.code, Hint: c.hint(), Why: n.why}
		if n.passes {
			a.Why = ""
		}
		c.answer(call, a)
		return
	}
	c.answer(call, ChangeAnswer{Err: n.code, Why: n.why})
}

// addVoter begins to make an observer a voter. It is asked first which levels
// it supports, which also shows that its address is right.
func addVoter(c *Core, call Call, r AddVoterRequest) {
	v := Voter{Key: r.Voter, Endpoints: r.Endpoints}
	if n := mayAdd(c, v); n.code != kerr.None {
		n.tell(c, call, r)
		return
	}
	c.role.(*leader).probe(c, call, r, v, c.cfg.Timing.Request)
}

func mayAdd(c *Core, v Voter) no {
	if n := mayChange(c, v.Key, v.Endpoints); n.code != kerr.None {
		return n
	}
	for _, have := range c.quorum.voters() {
		if have.Key.Node == v.Key.Node {
			return because(kerr.DuplicateVoter, "node %d is a voter with directory %v", have.Key.Node, have.Key.Dir)
		}
		if have.Key.Dir == v.Key.Dir {
			return because(kerr.DuplicateVoter, "directory %v is that of voter %d", v.Key.Dir, have.Key.Node)
		}
	}
	return no{}
}

// removeVoter appends the set without a voter. A leader may be asked to remove
// itself; it leads on until the others have committed that.
func removeVoter(c *Core, call Call, r RemoveVoterRequest) {
	n := mayChange(c, r.Voter, nil)
	voters := c.quorum.voters()
	if v, ok := voters.Node(r.Voter.Node); n.code == kerr.None && (!ok || v.Key != r.Voter) {
		n = because(kerr.VoterNotFound, "there is no voter %d with directory %v", r.Voter.Node, r.Voter.Dir)
	}
	if n.code == kerr.None && len(voters) == 1 {
		n = because(kerr.VoterNotFound, "voter %d is the last one and stays", r.Voter.Node)
	}
	if n.code != kerr.None {
		n.tell(c, call, r)
		return
	}
	l := c.role.(*leader)
	l.change = &change{call: call, request: r, expires: c.now.Add(c.cfg.Timing.Request)}
	l.change.at = l.appendVoters(c, voters.Without(r.Voter.Node))
}

// mayChange is what additions and removals have in common; at is nil for a
// removal.
func mayChange(c *Core, key kafka.ReplicaKey, at Endpoints) no {
	if code := checkLeaderOnly(c, c.election.Epoch); code != kerr.None {
		return no{code: code}
	}
	if n := named(c, key); n.code != kerr.None {
		return n
	}
	if at != nil {
		if n := reachable(c, at); n.code != kerr.None {
			return n
		}
	}
	l := c.role.(*leader)
	if n := l.free(); n.code != kerr.None {
		return n
	}
	if c.quorum.level() < 1 {
		return because(kerr.UnsupportedVersion, "the voters are static: kraft.version is %d", c.quorum.level())
	}
	return l.settledVoters(c)
}

func named(_ *Core, key kafka.ReplicaKey) no {
	if key.Node < 0 || key.Dir == (kafka.DirID{}) {
		return because(kerr.InvalidRequest, "voter %d with directory %v cannot be", key.Node, key.Dir)
	}
	return no{}
}

// reachable asks for an address of the listener that the quorum talks on.
func reachable(c *Core, at Endpoints) no {
	if _, ok := at.Named(c.cfg.Listener); !ok {
		return because(kerr.InvalidRequest, "no endpoint of listener %s", c.cfg.Listener)
	}
	return no{}
}

// free tells whether a change may begin: none is under way, and something of
// this epoch is committed. Before that a set of an earlier epoch might still
// come to hold.
func (l *leader) free() no {
	switch {
	case l.change != nil:
		return notYet("another change of the voters is under way")
	case l.hw < 0:
		return notYet("nothing is committed in this epoch yet")
	}
	return no{}
}

func (l *leader) settledVoters(c *Core) no {
	if last, ok := c.log.votersAtEnd(); ok && last.Offset >= l.hw {
		return because(kerr.RequestTimedOut, "the last change of the voters is not committed")
	}
	return no{}
}

// probe asks a node for its levels before it is written down as a voter.
func (l *leader) probe(c *Core, call Call, request Body, v Voter, limit time.Duration) {
	if !c.calls.ready(v.Key.Node, c.now) {
		because(kerr.RequestTimedOut, "the connection to node %d is in use", v.Key.Node).tell(c, call, request)
		return
	}
	at, _ := addressOf(c, v.Endpoints)
	l.change = &change{
		call: call, request: request, voter: v, at: kafka.NoOffset, expires: c.now.Add(limit),
		probe: sendRequest(c, v.Key.Node, at, limit, VersionsRequest{Node: v.Key.Node}),
	}
}

// probed acts on the answer to a probe.
func probed(c *Core, call Call, from kafka.NodeID, a VersionsAnswer) {
	l, leads := c.role.(*leader)
	if !leads || l.change == nil || l.change.probe != call {
		return
	}
	x, level := l.change, c.quorum.level()
	set, _ := c.log.votersAtEnd()
	x.probe = 0
	switch _, adds := x.request.(AddVoterRequest); {
	case a.Err != kerr.None:
		pause(c, from)
		l.giveUp(c, because(kerr.RequestTimedOut, "node %d does not answer: %v", from, a.Err))
	case level < a.MinLevel || level > a.MaxLevel:
		l.giveUp(c, because(kerr.InvalidRequest, "node %d supports kraft.version %d to %d, the quorum has %d", from, a.MinLevel, a.MaxLevel, level))
	case adds && !l.replicas.ready(x.voter.Key, set.Offset, c.now):
		l.giveUp(c, because(kerr.RequestTimedOut, "node %d has not caught up", from))
	default:
		if adds {
			x.voter.MinLevel, x.voter.MaxLevel = a.MinLevel, a.MaxLevel
		}
		l.store(c)
	}
}

// store appends the voter of the change. An answer that does not wait for the
// commit is given now: an update always (the voter fetches nothing while it
// waits), an addition when it asked for that.
func (l *leader) store(c *Core) {
	x := l.change
	x.expires = c.now.Add(c.cfg.Timing.Request)
	x.at = l.appendVoters(c, c.quorum.voters().With(x.voter))
	switch r := x.request.(type) {
	case UpdateVoterRequest:
		l.quorum.heard(c, r.Voter)
		l.giveUp(c, no{})
	case AddVoterRequest:
		if r.AtOnce {
			no{}.tell(c, x.call, x.request)
			x.call = 0
		}
	}
}

// giveUp ends the change with an answer.
func (l *leader) giveUp(c *Core, n no) {
	n.tell(c, l.change.call, l.change.request)
	l.change = nil
}

// settleChange answers a change that is committed, or that took too long: then
// the record may still be committed later. A leader that the committed set does
// not name gives up leading.
func (l *leader) settleChange(c *Core) (leads bool) {
	if x := l.change; x != nil {
		switch {
		case x.at >= 0 && l.hw > x.at:
			l.giveUp(c, no{})
		case c.now >= x.expires:
			l.giveUp(c, because(kerr.RequestTimedOut, "the change takes too long; it may be committed later"))
		}
	}
	if last, ok := c.log.votersAtEnd(); ok && last.Offset < l.hw && !c.quorum.member() {
		c.trace("removed", l.self)
		c.resign()
		return false
	}
	return true
}

// appendVoters makes a set the one in effect, committed or not. Its majority is
// another one, so the check of the quorum begins anew.
func (l *leader) appendVoters(c *Core, set Voters) kafka.Offset {
	at := c.log.end
	c.log.voters.add(At[Voters]{at, set})
	l.write(c, Append{Base: at, End: at + 1, Control: &Control{Set: set}})
	l.quorum.restart(c)
	return at
}
