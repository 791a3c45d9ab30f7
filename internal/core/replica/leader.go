package replica

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// leader is what a replica knows while it leads one epoch.
type leader struct {
	// epochStart is where the log ended when the epoch began.
	epochStart kafka.Offset
	self       Member
	followers  []follower // every other replica
	// pending is the proposal the controller has not answered.
	pending *Proposal
	// stale: metadata has moved past epoch staleEpoch, and nothing may be
	// proposed until it is known here.
	stale      bool
	staleEpoch int32
}

// follower is how far another replica has come.
type follower struct {
	Member
	// end is its log end at its last fetch; kafka.NoOffset before the first.
	end      kafka.Offset
	logStart kafka.Offset
	// leaderEnd is where our log ended at lastFetch.
	leaderEnd kafka.Offset
	lastFetch kafka.Instant
	// caughtUp is the last time it had everything.
	caughtUp kafka.Instant
	// fetchEpoch is the broker epoch it fetched with.
	fetchEpoch kafka.BrokerEpoch
}

func newLeader(end kafka.Offset) *leader {
	return &leader{epochStart: end}
}

// longAgo is when a follower caught up that never did.
const longAgo kafka.Instant = -1 << 62

// reassign follows metadata: new replicas have no progress, others keep theirs.
// Members of the ISR start as if they had just caught up, so that a new leader
// does not throw out those it inherited; others must not hold up the high
// watermark before they have shown themselves.
func (l *leader) reassign(now kafka.Instant, self kafka.NodeID, a Assigned) {
	next := make([]follower, 0, len(a.Replicas))
	for _, m := range a.Replicas {
		if m.Node == self {
			l.self = m
			continue
		}
		f := follower{end: kafka.NoOffset, logStart: kafka.NoOffset, caughtUp: longAgo, fetchEpoch: kafka.NoBrokerEpoch}
		if slices.Contains(a.ISR, m.Node) {
			f.caughtUp = now
		}
		if old := l.find(m.Node); old != nil {
			f = *old
		}
		f.Member = m
		next = append(next, f)
	}
	l.followers = next
}

// settle forgets a proposal that metadata has overtaken.
func (l *leader) settle(epoch int32) {
	if l.pending != nil && epoch > l.pending.Epoch {
		l.pending = nil
	}
	l.stale = l.stale && epoch <= l.staleEpoch
}

func (l *leader) find(node kafka.NodeID) *follower {
	for i := range l.followers {
		if l.followers[i].Node == node {
			return &l.followers[i]
		}
	}
	return nil
}

// inSync tells whether a follower is not behind for longer than lagMax. How
// many bytes it lacks does not matter.
func (f *follower) inSync(now kafka.Instant, leaderEnd kafka.Offset, lagMax time.Duration) bool {
	return f.end == leaderEnd || now.Sub(f.caughtUp) <= lagMax
}

// eligible tells whether the controller would take a follower into the ISR: its
// broker is active, and the incarnation that fetched is the registered one.
func (f *follower) eligible() bool {
	return f.Active && (f.fetchEpoch == kafka.NoBrokerEpoch || f.fetchEpoch == f.BrokerEpoch)
}

// reached notes a fetch at offset.
//
// A follower has caught up at t when it fetches at our end at t. But while
// producers keep writing, a good follower never sees the end: it asks for what
// was the end when it asked before. Then it had caught up at that time.
func (f *follower) reached(now kafka.Instant, e Fetched, leaderEnd kafka.Offset) {
	switch {
	case e.Offset >= leaderEnd:
		f.caughtUp = max(f.caughtUp, now)
	case f.end != kafka.NoOffset && e.Offset >= f.leaderEnd:
		f.caughtUp = max(f.caughtUp, f.lastFetch)
	}
	f.end, f.logStart, f.fetchEpoch = e.Offset, e.LogStart, e.BrokerEpoch
	f.leaderEnd, f.lastFetch = leaderEnd, now
}

func (c *Core) fetched(now kafka.Instant, e Fetched, out *Effects) {
	if c.lead == nil {
		out.Err = kerr.NotLeaderOrFollower
		return
	}
	f := c.lead.find(e.Node)
	if f == nil || e.BrokerEpoch != kafka.NoBrokerEpoch && e.BrokerEpoch < f.BrokerEpoch {
		out.Err = kerr.NotLeaderOrFollower // no replica of this partition, or a dead incarnation of one
		return
	}
	low := c.LowWatermark()
	f.reached(now, e, c.log.End)
	c.maybeExpand(f, out)
	c.advance(now, out)
	out.LowWatermarkMoved = c.LowWatermark() > low
}

// advance moves a leader's high watermark to what every replica that counts has
// copied.
//
// Who counts is the largest ISR that may be committed: the committed one, those
// we asked to add, and those about to join. While a shrink is pending the old
// ISR still counts. Below min.insync.replicas nothing is committed (KIP-966).
func (c *Core) advance(now kafka.Instant, out *Effects) {
	if c.lead == nil || !c.enoughInSync() {
		return
	}
	hw := c.log.End
	for i := range c.lead.followers {
		f := &c.lead.followers[i]
		if f.end < hw && (c.counts(f) || f.eligible() && f.inSync(now, c.log.End, c.lagMax)) {
			hw = f.end
		}
	}
	if hw > c.hw {
		c.hw, out.HighWatermarkMoved = hw, true
	}
}

func (c *Core) counts(f *follower) bool {
	if slices.Contains(c.isr, f.Node) {
		return true
	}
	p := c.lead.pending
	return p != nil && slices.ContainsFunc(p.ISR, func(m Member) bool { return m.Node == f.Node })
}

// lowWatermark is the smallest log start of the live replicas.
func (l *leader) lowWatermark(own kafka.Offset) kafka.Offset {
	low := own
	for i := range l.followers {
		if f := &l.followers[i]; f.Active {
			low = min(low, f.logStart)
		}
	}
	return low
}
