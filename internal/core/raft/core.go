package raft

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Config is what a node is told about itself and its quorum.
type Config struct {
	Self kafka.ReplicaKey
	// Controller tells that the node has the controller role: it may become a
	// voter, so what it appends is durable before it fetches on.
	Controller bool
	// Endpoints are our own controller listeners, the default one first.
	Endpoints Endpoints
	// Listener is the name under which peers' addresses are looked up.
	Listener string
	// Static is the voter set that holds while the log has none.
	Static Voters
	// Bootstrap are addresses to ask for the leader; when there are none, the
	// static voters are asked.
	Bootstrap []Endpoint
	// AutoJoin has a controller that is no voter ask to become one
	// (controller.quorum.auto.join.enable).
	AutoJoin bool
	Timing   Timing
	Rand     *rand.Rand
	// Unix is the date at the start, in seconds since 1970; 0 when it is not
	// known. It bounds the epochs that peers are believed to be in.
	Unix int64
}

// Timing are the settings controller.quorum.*.
type Timing struct {
	Election     time.Duration
	Fetch        time.Duration
	Request      time.Duration
	RetryBackoff time.Duration
	BackoffMax   time.Duration // of followers after EndQuorumEpoch
	FetchBytes   int32
	ChunkBytes   int32 // of a snapshot
}

// DefaultTiming are Kafka's defaults.
func DefaultTiming() Timing {
	return Timing{
		Election: time.Second, Fetch: 2 * time.Second, Request: 2 * time.Second,
		RetryBackoff: 20 * time.Millisecond, BackoffMax: time.Second,
		FetchBytes: 1 << 20, ChunkBytes: 1 << 20,
	}
}

// Stored is what the disk held at the start.
type Stored struct {
	Election Election
	// Forgotten tells that there was a log but no quorum-state file, now or at an
	// earlier start since which Core.VotesLost has held: whom this node voted for is
	// not known.
	Forgotten bool
	LogStart  kafka.Offset
	LogEnd    kafka.Offset
	Epochs    []EpochStart
	Snapshots []Snapshot
	Voters    []At[Voters]
	Levels    []At[int16] // kraft.version
}

// Core is one member of the quorum, voter or observer. It is used by one
// goroutine.
type Core struct {
	cfg      Config
	now      kafka.Instant
	started  kafka.Instant
	held     kafka.Epoch // the highest one on the disk at the start
	election Election    // what the disk holds, or will before anything is sent
	role     role
	log      logState
	quorum   members
	// hw is the high watermark, -1 while it is not known. It never falls.
	hw      kafka.Offset
	calls   calls
	pace    pace
	due     kafka.Instant // the deadline of the step before
	lost    lostVotes
	mourned mourning
	longer  longerLog
	silence silence
	vain    vain
	rivals  rivals // of rounds of others, outside of our own
	closing *Shutdown
	// installing is the write that puts a downloaded snapshot in the place of
	// the log, or 0. Until it is reported nothing is fetched, and this node
	// does not stand for election: it would append to a log that goes away.
	installing Seq
	dead       bool // a write failed
	out        Effects
}

// role is what the node is at the moment. Moving to another role builds a new
// value.
type role interface {
	name() Role
	// leader tells who leads the current epoch as far as this role knows.
	leader() (kafka.NodeID, Endpoints)
	// turn does what time or a free connection allows.
	turn(c *Core)
	// next is when turn has something to do again.
	next(c *Core) kafka.Instant
}

// Role names a role.
type Role string

// The roles of a node. A follower or unattached node that is not in the voter
// set is an observer.
const (
	RoleUnattached  Role = "unattached"
	RoleProspective Role = "prospective"
	RoleCandidate   Role = "candidate"
	RoleLeader      Role = "leader"
	RoleFollower    Role = "follower"
	RoleResigned    Role = "resigned"
)

// New makes a core from what the disk held and takes the role that follows
// from it. The effects are those of the start: an only voter leads at once.
func New(now kafka.Instant, cfg Config, st Stored) (*Core, Effects, error) {
	if st.Election.hasVoted() && cfg.Self.Node < 0 {
		return nil, Effects{}, fmt.Errorf("a vote for %d is recorded but this node has no id", st.Election.Voted.Node)
	}
	if n := len(st.Snapshots); n > 0 && st.Snapshots[n-1].ID.EndOffset > st.LogEnd {
		return nil, Effects{}, fmt.Errorf("log ends at %d, before snapshot %v", st.LogEnd, st.Snapshots[n-1].ID)
	}
	if st.LogStart > st.LogEnd {
		return nil, Effects{}, fmt.Errorf("log starts at %d, beyond its end %d", st.LogStart, st.LogEnd)
	}
	if epoch := storedEpoch(st); epoch >= lastEpoch {
		return nil, Effects{}, fmt.Errorf("epoch %d is the last one, no election can follow it: quorum-state or the log is damaged", epoch)
	}
	c := &Core{cfg: cfg, now: now, started: now, held: storedEpoch(st), due: now, election: st.Election, hw: kafka.NoOffset, lost: noLostVotes, mourned: noMourning, longer: noLongerLog}
	c.log = logState{
		start: st.LogStart, end: st.LogEnd, written: st.LogEnd, synced: st.LogEnd,
		epochs: epochTable{st.Epochs}, snapshots: st.Snapshots,
		voters: history[Voters]{st.Voters}, levels: history[int16]{st.Levels},
	}
	c.quorum = members{self: cfg.Self, static: cfg.Static, log: &c.log}
	begin(c, st.Forgotten)
	c.settle()
	return c, c.out, nil
}

// storedEpoch is the highest epoch that the disk names.
func storedEpoch(st Stored) kafka.Epoch {
	epoch := st.Election.Epoch
	for _, e := range st.Epochs {
		epoch = max(epoch, e.Epoch)
	}
	for _, s := range st.Snapshots {
		epoch = max(epoch, s.ID.Epoch)
	}
	return epoch
}

// begin chooses the first role.
func begin(c *Core, forgotten bool) {
	e, logEpoch := c.election, c.log.lastEpoch()
	if forgotten {
		c.lost = lostVotes{upTo: max(e.Epoch, logEpoch), seeking: true}
	}
	timer := electionTimer(c)
	known := c.quorum.voters().endpoints(e.Leader)
	switch {
	case e.Epoch < logEpoch:
		c.elect(Election{Epoch: logEpoch, Leader: kafka.NoNode, Voted: NoVote})
		c.role = &unattached{known: kafka.NoNode, expires: timer}
	case e.Leader == c.cfg.Self.Node && e.Leader >= 0:
		c.role = newResigned(c, nil, timer)
	case e.Leader < 0 && e.hasVoted() && e.Voted.Matches(c.cfg.Self) && c.quorum.electable(c.hw):
		c.role = newCandidate(c, timer)
	case e.Leader >= 0 && len(known) > 0:
		c.role = newFollower(c, e.Leader, known)
	default:
		c.role = &unattached{known: e.Leader, expires: timer}
	}
	if c.quorum.alone() {
		leadAlone(c)
	}
}

// leadAlone takes an only voter through an election that nobody else decides.
func leadAlone(c *Core) {
	switch c.role.(type) {
	case *unattached, *follower, *resigned:
		c.becomeProspective()
	}
}

// Step takes one event and returns everything that has to happen because of it.
// It never blocks, never fails and never looks at a clock.
func (c *Core) Step(now kafka.Instant, ev Event) Effects {
	c.out.reset()
	before := c.now
	c.now = max(c.now, now)
	c.excuse(c.now.Sub(before), c.now.Sub(c.due))
	if c.dead {
		refuseAll(c, ev)
	} else {
		c.handle(ev)
		c.settle()
	}
	return c.out
}

// excuse takes out of account that this process stood still, or that its clock
// jumped: passed is the time since the last step, late by how much a deadline was
// missed.
func (c *Core) excuse(passed, late time.Duration) {
	much := c.cfg.Timing.voterWait()
	c.pace.excuse(passed, late, much)
	if l, leads := c.role.(*leader); leads {
		l.quorum.excuse(late, much)
	}
}

func (c *Core) handle(ev Event) {
	switch ev := ev.(type) {
	case Received:
		c.receive(ev.Call, ev.Body)
	case Answered:
		answered(c, ev.Call, ev.Body)
	case Unanswered:
		unanswered(c, ev.Call, ev.Code)
	case Propose:
		propose(c, ev)
	case Written:
		c.log.reported(ev.Seq, ev.End, false)
		wake(c)
	case Synced:
		c.log.reported(ev.Seq, ev.End, true)
		c.calls.released(c.now, ev.Seq)
		c.pace.synced(c.now, ev.Seq)
		wake(c)
	case Failed:
		fail(c)
	case SnapshotCreated:
		c.log.addSnapshot(ev.Snapshot)
	case SnapshotDamaged:
		c.log.dropSnapshot(ev.ID)
	case Installed:
		installed(c, ev)
	case Spoiled:
		spoiled(c, ev)
	case Cleaned:
		c.log.moveStart(ev.Start)
	case Resign:
		if _, leads := c.role.(*leader); leads && ev.Epoch == c.election.Epoch {
			c.resign()
		}
	case Dead:
		leaderDied(c, ev)
	case Shutdown:
		shutdown(c, ev)
	case Passed:
	}
}

// settle lets the role act until it has nothing to do now, and fills in what
// every step tells.
func (c *Core) settle() {
	if c.dead {
		return
	}
	for range 8 { // unattached, prospective, candidate, leader is the longest way
		before := c.role
		before.turn(c)
		if c.role == before {
			break
		}
	}
	invariant.Check(!c.mourned.insists, "a round that is insisted on has not begun")
	c.out.Commit = min(c.hw, c.log.written)
	c.out.Deadline = max(c.role.next(c), c.now+1)
	c.due = c.out.Deadline
	c.inOrder()
}

// inOrder checks the ends of the log. Each step comes here, so that nothing is made
// for a text that is not needed.
func (c *Core) inOrder() {
	if l := &c.log; l.synced > l.written || l.written > l.end || c.hw > l.end {
		invariant.Check(false, "synced %d, written %d, end %d, high watermark %d", l.synced, l.written, l.end, c.hw)
	}
}

// receive hands a peer's request to whoever answers it.
func (c *Core) receive(call Call, body Body) {
	switch r := body.(type) {
	case VoteRequest:
		c.answer(call, vote(c, r))
	case BeginRequest:
		c.answer(call, beginEpoch(c, r))
	case EndRequest:
		c.answer(call, endEpoch(c, r))
	case FetchRequest:
		serveFetch(c, call, r, false)
	case SnapshotRequest:
		c.answer(call, serveSnapshot(c, r))
	case AddVoterRequest:
		addVoter(c, call, r)
	case RemoveVoterRequest:
		removeVoter(c, call, r)
	case UpdateVoterRequest:
		updateVoter(c, call, r)
	case RaiseRequest:
		c.answer(call, raise(c, r))
	}
}

func (c *Core) answer(call Call, body Body) {
	c.out.Send = append(c.out.Send, Message{Call: call, To: kafka.NoNode, Body: body})
}

// wake does what a change of the log allows: a leader's high watermark and
// the fetches parked for its end.
func wake(c *Core) {
	if l, ok := c.role.(*leader); ok {
		l.advance(c)
		l.unpark(c)
	}
}

// fail makes a leader resign before anything else is sent, and the node silent.
func fail(c *Core) {
	if _, leads := c.role.(*leader); leads {
		c.resign()
		c.role.turn(c)
	}
	c.out.SendSync = c.out.SendSync[:0]
	c.out.Commit, c.out.Deadline = min(c.hw, c.log.written), kafka.Never
	c.dead = true
}

// refuseAll is the whole life of a node whose metadata directory failed.
func refuseAll(c *Core, ev Event) {
	c.out.Commit, c.out.Deadline = min(c.hw, c.log.written), kafka.Never
	switch ev := ev.(type) {
	case Received:
		if body := Refuse(ev.Body, kerr.BrokerNotAvailable, c.hint()); body != nil {
			c.answer(ev.Call, body)
		}
	case Propose:
		c.out.Refused = append(c.out.Refused, Refused{ev.Ticket, kerr.KafkaStorageError})
	}
}

// Refuse gives the answer of the right kind that says nothing but an error.
func Refuse(request Body, code kerr.Code, hint Hint) Body {
	switch r := request.(type) {
	case VoteRequest:
		return VoteAnswer{Err: code, Hint: hint}
	case BeginRequest:
		return BeginAnswer{Err: code, Hint: hint}
	case EndRequest:
		return EndAnswer{Err: code, Hint: hint}
	case FetchRequest:
		return FetchAnswer{Err: code, Hint: hint, HighWatermark: kafka.NoOffset, LogStart: kafka.NoOffset}
	case SnapshotRequest:
		return SnapshotAnswer{Err: code, Hint: hint, ID: r.ID}
	case UpdateVoterRequest:
		return UpdateVoterAnswer{Err: code, Hint: hint}
	case AddVoterRequest, RemoveVoterRequest, RaiseRequest:
		return ChangeAnswer{Err: code}
	}
	return nil
}

func (c *Core) trace(what string, node kafka.NodeID) {
	c.out.Trace = append(c.out.Trace, Trace{What: what, Epoch: c.election.Epoch, Node: node})
}
