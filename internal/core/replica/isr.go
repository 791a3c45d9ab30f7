package replica

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// maybeExpand proposes to take a follower into the ISR when it has all that is
// committed and all that was in the log when this epoch began.
func (c *Core) maybeExpand(f *follower, out *Effects) {
	ready := f.end >= c.hw && f.end >= c.lead.epochStart && f.eligible()
	if ready && !slices.Contains(c.isr, f.Node) {
		c.propose(append(slices.Clone(c.isr), f.Node), out)
	}
}

// tick proposes to drop followers that have been behind for too long, and looks
// again at the high watermark: those about to join may have stopped counting.
func (c *Core) tick(now kafka.Instant, out *Effects) {
	if c.lead == nil {
		return
	}
	kept := c.inSyncNow(now)
	if len(kept) < len(c.isr) {
		c.propose(kept, out)
	}
	c.advance(now, out)
}

// inSyncNow is the ISR without those that lag; the leader never leaves it.
func (c *Core) inSyncNow(now kafka.Instant) []kafka.NodeID {
	kept := make([]kafka.NodeID, 0, len(c.isr))
	for _, node := range c.isr {
		f := c.lead.find(node)
		if node == c.self || f != nil && f.inSync(now, c.log.End, c.lagMax) {
			kept = append(kept, node)
		}
	}
	return kept
}

// propose asks for an ISR, unless an answer is awaited or metadata has moved on.
func (c *Core) propose(isr []kafka.NodeID, out *Effects) {
	if c.lead.pending != nil || c.lead.stale {
		return
	}
	p := &Proposal{LeaderEpoch: c.leaderEpoch, Epoch: c.epoch, Was: len(c.isr)}
	for _, node := range isr {
		m := c.lead.self
		if f := c.lead.find(node); f != nil {
			m = f.Member
		}
		p.ISR = append(p.ISR, m)
	}
	c.lead.pending, out.Propose = p, p
}

func (c *Core) proposed(now kafka.Instant, p Proposed, out *Effects) {
	if c.lead == nil || c.lead.pending == nil || c.lead.pending != p.To {
		return // metadata was faster than the answer
	}
	based := c.lead.pending.Epoch
	c.lead.pending = nil
	switch p.Outcome {
	case Superseded:
		c.lead.stale, c.lead.staleEpoch = true, based
	case Accepted:
		if p.Epoch > c.epoch {
			out.ISRChanged = !slices.Equal(c.isr, p.ISR)
			c.epoch, c.isr = p.Epoch, p.ISR
		}
	}
	c.advance(now, out)
}
