package sim

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// checker holds the world to the rules of the quorum after every event, and to
// those of liveness at the end.
//
// R4 and R7 have one form here: the first node to see a batch committed enters
// it in a ledger, and every other one must see the same.
type checker struct {
	w      *World
	count  Checks
	ledger batches       // everything committed, from offset 0
	sealed []kafka.Epoch // of each batch in the ledger: that of who saw it committed
	led    map[kafka.Epoch]kafka.NodeID
	newest kafka.Epoch // that a leader was seen in
	kept   map[kafka.NodeID]*record
	votes  map[ballot]kafka.NodeID
}

// wiped forgets a node whose disk is gone: what is on the new one is another's.
func (c *checker) wiped(n *node) { delete(c.kept, n.id) }

// record is what a node has shown.
type record struct {
	epoch    kafka.Epoch
	hw       kafka.Offset // in this life
	verified kafka.Offset // of its log against the ledger, in this life
}

type ballot struct {
	voter kafka.ReplicaKey
	epoch kafka.Epoch
}

func newChecker() checker {
	return checker{
		led: map[kafka.Epoch]kafka.NodeID{}, newest: kafka.NoEpoch,
		kept: map[kafka.NodeID]*record{}, votes: map[ballot]kafka.NodeID{},
	}
}

// must counts a check and ends the run when it fails.
func (c *checker) must(ok bool, rule Rule, format string, args ...any) {
	c.count[rule]++
	if !ok {
		c.w.fail(rule, format, args...)
	}
}

// holds counts a check, where there are so many that none may cost a text that
// nobody reads.
func (c *checker) holds(ok bool, rule Rule) bool {
	c.count[rule]++
	return ok
}

func (c *checker) of(n *node) *record {
	r, ok := c.kept[n.id]
	if !ok {
		r = &record{epoch: kafka.NoEpoch}
		c.kept[n.id] = r
	}
	return r
}

// booted forgets what may be less after a restart.
func (c *checker) booted(n *node) {
	r := c.of(n)
	r.hw, r.verified = kafka.NoOffset, n.disk.start
	n.watch, n.contact = watch{}, contact{}
}

// step looks at a node after an event.
func (c *checker) step(n *node) {
	s, r := n.state, c.of(n)
	e := s.Election
	switch { // without texts that nobody needs: this runs after every event
	case e != n.disk.election && !n.disk.noFile:
		c.w.fail(R3, "node %d has %s in memory and %s on disk", n.id, elected(e), elected(n.disk.election))
	case e.Epoch < r.epoch:
		c.w.fail(R2, "epoch of node %d falls from %d to %d", n.id, r.epoch, e.Epoch)
	case s.HighWatermark < r.hw:
		c.w.fail(R6, "high watermark of node %d falls from %d to %d", n.id, r.hw, s.HighWatermark)
	case !roleFits(n.id, s):
		c.w.fail(R9, "node %d is %s with %s, and takes %d for the leader", n.id, s.Role, elected(e), s.Leader)
	case s.HighWatermark > s.Log.End:
		c.w.fail(R9, "node %d has high watermark %d past its end %d", n.id, s.HighWatermark, s.Log.End)
	}
	c.count[R2]++
	c.count[R3]++
	c.count[R6]++
	c.count[R9] += 2
	if c.w.plan.moving() {
		c.reshapedStep(n, r.hw)
	}
	r.epoch, r.hw = e.Epoch, s.HighWatermark
	c.oneLeader(n, e)
	if e.Voted.Node >= 0 {
		c.oneVote(ballot{n.cfg.Self, e.Epoch}, e.Voted.Node)
	}
	if s.Role == raft.RoleLeader && e.Epoch > c.newest {
		c.newest = e.Epoch
		c.complete(n, R5)
		c.elected(n)
	}
}

// oneLeader is R1. Whoever is named, in memory or on disk, counts.
func (c *checker) oneLeader(n *node, e raft.Election) {
	if e.Leader < 0 {
		return
	}
	c.count[R1]++
	other, known := c.led[e.Epoch]
	if known && other == e.Leader {
		return
	}
	c.must(!known, R1, "node %d has %d as leader of epoch %d, others have %d", n.id, e.Leader, e.Epoch, other)
	c.led[e.Epoch] = e.Leader
}

// oneVote is R3.
func (c *checker) oneVote(b ballot, candidate kafka.NodeID) {
	c.count[R3]++
	other, voted := c.votes[b]
	if voted && other == candidate {
		return
	}
	c.must(!voted, R3, "node %d voted for %d and %d in epoch %d", b.voter.Node, other, candidate, b.epoch)
	c.votes[b] = candidate
}

// answers is R3 at the moment at which a vote leaves.
func (c *checker) answers(n *node, in inbound, body raft.Body) {
	a, isVote := body.(raft.VoteAnswer)
	r, asked := in.body.(raft.VoteRequest)
	if !isVote || !asked || !a.Granted || r.PreVote {
		return
	}
	e := n.disk.election
	c.must(e.Epoch == r.Epoch && e.Voted.Matches(r.Candidate), R3,
		"node %d grants %d its vote in epoch %d with %s on disk", n.id, r.Candidate.Node, r.Epoch, elected(e))
	c.oneVote(ballot{n.cfg.Self, r.Epoch}, r.Candidate.Node)
}

// roleFits is R9.
func roleFits(self kafka.NodeID, s raft.State) bool {
	e := s.Election
	switch s.Role {
	case raft.RoleLeader:
		return e.Leader == self && s.Leader == self && e.Voted.Node == self
	case raft.RoleCandidate:
		return e.Leader == kafka.NoNode && s.Leader == kafka.NoNode && e.Voted.Node == self
	case raft.RoleFollower:
		return e.Leader == s.Leader && s.Leader >= 0 && s.Leader != self
	case raft.RoleResigned:
		return e.Leader == self && s.Leader == kafka.NoNode
	}
	return s.Leader == e.Leader || e.Leader == self // unattached, prospective
}

// elected is R13: who leads has the votes of a majority of its voters, and of
// nobody else.
func (c *checker) elected(n *node) {
	have := 0
	for _, v := range n.state.Voters {
		key := v.Key
		if key.Dir == (kafka.DirID{}) {
			key.Dir = dirOf(key.Node)
		}
		if who, voted := c.votes[ballot{key, n.state.Election.Epoch}]; voted && who == n.id {
			have++
		}
	}
	c.must(have >= n.state.Voters.Majority(), R13, "node %d leads epoch %d with the votes of %d of its %d voters",
		n.id, n.state.Election.Epoch, have, len(n.state.Voters))
}

// complete is R5 of a leader, and L7 of everybody in the end: what is committed
// stands in its log as it was entered.
func (c *checker) complete(n *node, rule Rule) {
	log := n.whole()
	for _, b := range c.ledger[c.ledger.from(n.disk.start):] {
		if b.base < n.disk.start {
			continue
		}
		have, ok := log.at(b.base)
		if !c.holds(ok && have.same(b), rule) {
			c.w.fail(rule, "node %d in epoch %d lacks %d..%d@%d, which is committed", n.id, n.disk.election.Epoch, b.base, b.end, b.epoch)
		}
	}
}

// whole is the log with what is still to be written.
func (n *node) whole() batches {
	log := n.disk.log[:len(n.disk.log):len(n.disk.log)]
	n.writer.undone(func(o *op) { log = o.do(log) })
	return log
}

// committed enters in the ledger what a node says is committed (R4, R6, R7).
func (c *checker) committed(n *node, commit kafka.Offset) {
	r := c.of(n)
	log := n.disk.log
	for i := log.from(r.verified); i < len(log) && log[i].end <= commit && c.w.failure == nil; i++ {
		c.enter(n, log[i])
		r.verified = log[i].end
	}
	c.w.work.committed(c.w, n, commit)
}

func (c *checker) enter(n *node, b batch) {
	end := c.ledger.end(0)
	if b.base < end {
		have, ok := c.ledger.at(b.base)
		if !c.holds(ok && have.same(b), R4) {
			c.w.fail(R4, "node %d has %d..%d@%d ticket %d committed, others have %d..%d@%d ticket %d",
				n.id, b.base, b.end, b.epoch, b.ticket, have.base, have.end, have.epoch, have.ticket)
		}
		return
	}
	if !c.holds(b.base == end, R7) {
		c.w.fail(R7, "node %d commits %d..%d, but only %d is committed before", n.id, b.base, b.end, end)
	}
	c.ledger, c.sealed = append(c.ledger, b), append(c.sealed, n.disk.election.Epoch)
	if c.w.plan.moving() {
		return // see reshapedStep
	}
	have := 0
	for _, v := range c.w.nodes[:c.w.plan.Voters] {
		if d, ok := v.disk.durable.at(b.base); ok && d.same(b) {
			have++
		}
	}
	if !c.holds(have > c.w.plan.Voters/2, R6) {
		c.w.fail(R6, "node %d commits %d..%d@%d, which %d of %d voters have on disk", n.id, b.base, b.end, b.epoch, have, c.w.plan.Voters)
	}
}

// acknowledged: what a client was told is committed is its own batch.
func (c *checker) acknowledged(p proposal) {
	b, ok := c.ledger.at(p.base)
	c.must(ok && b.ticket == p.ticket && b.epoch == p.epoch, R7, "proposal %d is acknowledged at %d, where %d stands", p.ticket, p.base, b.ticket)
}

// truncates is R8: no batch that stands in the ledger is cut off. A node that
// follows a leader from before it was committed may do so all the same: its copy
// did not count.
func (c *checker) truncates(n *node, end kafka.Offset) {
	log := n.whole()
	for _, b := range log[log.from(end):] {
		i := c.ledger.from(b.base)
		held := i < len(c.ledger) && c.ledger[i].same(b) && c.sealed[i] <= n.disk.election.Epoch
		c.must(!held, R8, "node %d cuts off %d..%d@%d, which is committed", n.id, b.base, b.end, b.epoch)
	}
	c.must(end >= n.state.HighWatermark, R8, "node %d truncates to %d, below its high watermark", n.id, end)
	for _, b := range slices.Backward(log[:log.from(end)]) {
		if b.voters != nil {
			c.must(sameVoters(b.voters, n.state.Voters), R11, "node %d cuts its log at %d and keeps voters that stood above", n.id, end)
			return
		}
	}
}

// snapshot is R14: a snapshot stands for committed records.
func (c *checker) snapshot(n *node, id raft.SnapshotID) {
	i := c.ledger.from(id.EndOffset) - 1
	c.must(i >= 0 && c.ledger[i].end == id.EndOffset && c.ledger[i].epoch == id.Epoch, R14,
		"node %d makes snapshot %d-%d, which is not committed", n.id, id.EndOffset, id.Epoch)
	set, _ := n.core.Shape(id.EndOffset)
	for ; i >= 0; i-- {
		if voters := c.ledger[i].voters; voters != nil {
			c.must(sameVoters(voters, set), R14, "snapshot %d-%d of node %d does not hold the voters that are committed at %d",
				id.EndOffset, id.Epoch, n.id, c.ledger[i].base)
			return
		}
	}
}

// starts is R14: who loads a snapshot does not lead, and a log starts where a
// snapshot ends.
func (c *checker) starts(n *node) {
	c.must(n.state.Role != raft.RoleLeader, R14, "node %d leads and loads a snapshot", n.id)
	c.startsAtSnapshot(n)
}

func (c *checker) startsAtSnapshot(n *node) {
	ends := func(s raft.Snapshot) bool { return s.ID.EndOffset == n.disk.start }
	c.must(n.disk.start == 0 || slices.ContainsFunc(n.disk.snapshots, ends), R14,
		"the log of node %d starts at %d, where no snapshot ends", n.id, n.disk.start)
}

func sameVoters(a, b raft.Voters) bool {
	return slices.EqualFunc(a, b, func(x, y raft.Voter) bool { return x.Key == y.Key })
}

// outsiders is R15: a leader without contact to a majority has stopped.
func (c *checker) outsiders() {
	h := c.w.healed
	if h.outside == "mute" { // what it hears keeps it leading
		return
	}
	for _, n := range c.w.nodes {
		// One that stands still, for its disk does, learns of it when it goes on.
		cutOff := max(h.since, n.until)
		c.must(h.has(n) || !n.up || n.role != raft.RoleLeader || c.w.now.Sub(cutOff) < givesUp, R15,
			"node %d still leads, %v after it was cut off", n.id, c.w.now.Sub(cutOff))
	}
}

// calm: nobody goes to another epoch once all agree.
func (c *checker) calm(epoch kafka.Epoch) {
	for _, n := range c.w.healed.core {
		e := n.disk.election.Epoch
		c.must(e == epoch && n.role != raft.RoleProspective, L1, "all agreed in epoch %d, now node %d is %s in %d", epoch, n.id, n.role, e)
	}
}

// agreed counts what an agreement shows: there is a leader, nobody is prospective,
// and all have everything.
func (c *checker) agreed() {
	c.count[L1]++
	c.count[L4] += len(c.w.healed.core)
	c.count[L8] += len(c.w.healed.core)
}

// disagreement tells which rule of liveness is broken.
func (c *checker) disagreement() {
	w := c.w
	for _, n := range w.healed.core {
		s := n.state
		w.note("-- %d is %s epoch=%d leader=%d log=%d@%d hw=%d", n.id, s.Role, s.Election.Epoch, s.Leader, s.Log.End, s.Log.Epoch, s.HighWatermark)
	}
	for _, n := range w.healed.core {
		c.must(n.role != raft.RoleProspective, L4, "node %d is still prospective %v after healing", n.id, w.now.Sub(w.healed.since))
	}
	c.must(w.followed() != nil, L1, "there is no leader that all follow, %v after healing and %v after the last one", w.now.Sub(w.healed.since), w.now.Sub(w.healed.led))
	c.must(false, L8, "the nodes do not agree %v after healing", w.now.Sub(w.healed.since))
}

// end is the full compare: all that was acknowledged is in every log of the
// core, once, as it was (R7, L2).
func (c *checker) end() {
	for _, n := range c.w.healed.core {
		c.complete(n, L7)
	}
	seen := map[uint64]int{}
	for _, b := range c.ledger {
		if b.ticket != 0 {
			seen[b.ticket]++
			c.must(seen[b.ticket] == 1, R7, "proposal %d is in the log twice", b.ticket)
		}
	}
	for _, p := range c.w.work.acked {
		c.must(seen[p.ticket] == 1, R7, "proposal %d was acknowledged and is gone", p.ticket)
	}
	c.unanswered()
	c.count[L2] += c.w.work.answered + len(c.w.work.acked)
	for _, p := range c.w.work.waiting {
		c.must(!c.w.healed.has(p.node), L2, "proposal %d to node %d has no answer", p.ticket, p.node.id)
	}
}
