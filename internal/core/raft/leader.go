package raft

import (
	"cmp"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// leader appends, and commits what a majority of the voters has on disk.
type leader struct {
	self kafka.NodeID
	// start is where this epoch begins: the offset of its change of leader.
	start kafka.Offset
	// hw is the high watermark of this epoch, -1 until the change of leader is
	// committed. Only then is it known what earlier epochs committed.
	hw       kafka.Offset
	replicas replicas
	parked   parked
	quorum   quorumCheck
	beginAt  kafka.Instant // next round of BeginQuorumEpoch
	// told is the static voters as they told what they are; nil with dynamic
	// voters, which stand in the log.
	told   Voters
	change *change // nil when none is under way
	// leaveBy is when a leader that was asked to stop resigns at the latest; 0
	// while it was not asked.
	leaveBy kafka.Instant
}

// becomeLeader starts the epoch that a candidate has won with a control batch
// that names the leader.
func (c *Core) becomeLeader(granting []kafka.NodeID) {
	l := &leader{self: c.cfg.Self.Node, start: c.log.end, hw: kafka.NoOffset, beginAt: c.now}
	l.quorum.restart(c)
	c.longer.settled()
	c.elect(Election{Epoch: c.election.Epoch, Leader: c.cfg.Self.Node, Voted: c.election.Voted})
	c.enter(l)
	l.openEpoch(c, granting)
}

// openEpoch appends the control batch. With dynamic voters it also writes
// level and voters when they stand only in the checkpoint of format time, or
// when our own entry is not what we are.
func (l *leader) openEpoch(c *Core, granting []kafka.NodeID) {
	change := &LeaderChange{Leader: c.cfg.Self.Node, Granting: granting}
	for _, v := range c.quorum.voters() {
		change.Voters = append(change.Voters, v.Key.Node)
	}
	if c.quorum.level() < 1 {
		l.told = c.quorum.voters().With(c.itself())
	}
	control, count := Control{Change: change}, kafka.Offset(1)
	if set, write := l.votersToWrite(c); write {
		level := c.quorum.level()
		control.Level, control.Set = &level, set
		count = 3
	}
	base := c.log.end
	c.log.epochs.assign(EpochStart{c.election.Epoch, base})
	if control.Set != nil {
		c.log.levels.add(At[int16]{base + 1, *control.Level})
		c.log.voters.add(At[Voters]{base + 2, control.Set})
	}
	l.write(c, Append{Base: base, End: base + count, Control: &control})
}

func (l *leader) votersToWrite(c *Core) (Voters, bool) {
	last, ok := c.log.votersAtEnd()
	if !ok || c.quorum.level() < 1 {
		return nil, false
	}
	mine, ok := last.Value.Node(c.cfg.Self.Node)
	if !ok {
		return last.Value, last.Offset == kafka.NoOffset
	}
	want := c.itself()
	return last.Value.With(want), last.Offset == kafka.NoOffset || !mine.equal(want)
}

// maxLevel is the highest kraft.version this node supports.
const maxLevel = 1

// write moves the end of the log and hands the batch on.
func (l *leader) write(c *Core, a Append) {
	a.Seq, a.Epoch = c.log.next(), c.election.Epoch
	c.log.end = a.End
	c.pace.asked(c.now, a.Seq)
	c.out.Append = append(c.out.Append, a)
}

// propose appends one batch for whoever believes that we lead an epoch.
func propose(c *Core, p Propose) {
	l, leads := c.role.(*leader)
	switch {
	case !leads || p.Epoch != c.election.Epoch || p.Count <= 0, c.closing != nil && !c.quorum.alone():
		c.out.Refused = append(c.out.Refused, Refused{p.Ticket, kerr.NotLeaderOrFollower})
	default:
		l.write(c, Append{Base: c.log.end, End: c.log.end + kafka.Offset(p.Count), Ticket: p.Ticket})
	}
}

func (l *leader) name() Role                        { return RoleLeader }
func (l *leader) leader() (kafka.NodeID, Endpoints) { return l.self, nil }

func (l *leader) turn(c *Core) {
	if !l.settleChange(c) {
		return
	}
	if l.quorum.expired(c) || l.diskStalls(c) || l.handsOver(c) {
		c.resign()
		return
	}
	if c.now >= l.beginAt {
		l.beginAt = c.now.Add(max(c.cfg.Timing.Fetch/2, time.Millisecond))
		l.callVoters(c)
	}
	l.parked.expire(c)
}

// handsOver tells that a leader which was asked to stop may resign now. It takes
// nothing more, and first lets a majority come to the end of its log, at most for
// F/4: its successor then has it all, is granted every vote at once, and what
// clients have written is answered.
func (l *leader) handsOver(c *Core) bool {
	if c.closing == nil || c.quorum.alone() {
		return false
	}
	if l.leaveBy == 0 {
		l.leaveBy = c.now.Add(c.cfg.Timing.Fetch / 4)
	}
	return l.hw >= c.log.end || c.now >= l.leaveBy
}

// diskStalls tells that a write has been under way for longer than F/2. The
// leader makes room for one whose disk works (B7); an only voter cannot.
func (l *leader) diskStalls(c *Core) bool {
	return !c.quorum.alone() && c.pace.syncing != 0 && c.now.Sub(c.pace.since) > c.cfg.Timing.Fetch/2
}

// callVoters tells the voters that have not fetched for F/2 who leads. They
// need it: nobody stores a leader's address.
func (l *leader) callVoters(c *Core) {
	silence := c.cfg.Timing.Fetch / 2
	c.quorum.others(func(v Voter) {
		at, reachable := addressOf(c, v.Endpoints)
		fetched, ever := l.replicas.lastFetch(v.Key)
		if !reachable || ever && c.now.Sub(fetched) < silence || !c.calls.ready(v.Key.Node, c.now) {
			return
		}
		sendRequest(c, v.Key.Node, at, c.cfg.Timing.Request, BeginRequest{
			Voter: v.Key, Leader: c.cfg.Self.Node, Epoch: c.election.Epoch, Endpoints: c.cfg.Endpoints,
		})
	})
}

func (l *leader) next(c *Core) kafka.Instant {
	at := l.parked.next()
	if l.change != nil {
		at = min(at, l.change.expires)
	}
	if c.quorum.alone() {
		return at
	}
	if l.leaveBy != 0 {
		at = min(at, l.leaveBy)
	}
	if c.pace.syncing != 0 {
		at = min(at, c.pace.since.Add(c.cfg.Timing.Fetch/2)+1, c.pace.glance(c.now, c.cfg.Timing.voterWait()))
	}
	return min(at, l.beginAt, l.quorum.expires)
}

// advance moves the high watermark to what a majority of the voters has on
// disk. Our own part is what is synced, not what is written (B7). It has to
// pass the start of the epoch: the change of leader itself must be replicated
// before anything of earlier epochs counts as committed (KAFKA-12619).
func (l *leader) advance(c *Core) {
	voters := c.quorum.voters()
	if len(voters) == 0 {
		return
	}
	ends := make([]kafka.Offset, 0, 8)
	for _, v := range voters {
		if v.Key.Matches(c.cfg.Self) {
			ends = append(ends, c.log.synced)
		} else {
			ends = append(ends, min(l.replicas.end(v.Key), c.log.end))
		}
	}
	slices.SortFunc(ends, func(a, b kafka.Offset) int { return cmp.Compare(b, a) })
	if hw := ends[len(ends)/2]; hw > l.start && hw > l.hw {
		l.hw = hw
		c.hw = max(c.hw, hw)
	}
}

// successors orders the other voters by how far they have come, for
// EndQuorumEpoch: ties by key, unknown ones last.
func (l *leader) successors(c *Core) []kafka.ReplicaKey {
	var keys []kafka.ReplicaKey
	c.quorum.others(func(v Voter) { keys = append(keys, v.Key) })
	slices.SortStableFunc(keys, func(a, b kafka.ReplicaKey) int {
		return cmp.Or(cmp.Compare(l.replicas.end(b), l.replicas.end(a)), cmp.Compare(a.Node, b.Node), a.Dir.Compare(b.Dir))
	})
	return keys
}

// dismiss answers everything that waits here: we lead no more.
func (l *leader) dismiss(c *Core) {
	if l.change != nil {
		l.giveUp(c, no{code: kerr.NotLeaderOrFollower})
	}
	for _, p := range l.parked.takeAll() {
		c.answer(p.call, Refuse(p.request, kerr.NotLeaderOrFollower, c.hint()))
	}
}

// unpark answers every parked fetch that there is news for: the log has grown
// past it, or the high watermark has moved (KIP-1166). That it was parked is no
// sign of life, so it counts for nothing a second time.
func (l *leader) unpark(c *Core) {
	for _, p := range l.parked.take(c.log.written, l.hw) {
		serveFetch(c, p.call, p.request, true)
	}
}
