package raftnode

import (
	"context"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Witness is a Sender that can find out whether the process at an address is
// gone for certain (B3). Gone waits for that, some 20 ms, and at most until ctx
// ends.
type Witness interface {
	Gone(ctx context.Context, addr string) bool
}

// suspicion is that a leader's process is gone: the connection that carried our
// fetches in its epoch was reset.
type suspicion struct {
	leader kafka.NodeID
	epoch  kafka.Epoch
	addr   string
}

// suspect tells whether what became of a request is a reason to look closer.
func (n *Node) suspect(m raft.Message, addr string, err error) {
	fetch, isFetch := m.Body.(raft.FetchRequest)
	if _, able := n.cfg.Sender.(Witness); able && isFetch && transport.Reset(err) {
		_ = n.put(suspicion{m.To, fetch.Epoch, addr})
	}
}

// run looks beside the loop whether it is so.
func (s suspicion) run(l *loop) {
	n := l.n
	n.wg.Go(func() {
		if n.cfg.Sender.(Witness).Gone(n.life, s.addr) {
			n.mourned.Store(&proof{s.leader, s.epoch, time.Now()})
			_ = n.put(event{raft.Dead{Leader: s.leader, Epoch: s.epoch}})
		}
	})
}

// proof is that the process of an epoch's leader is gone.
type proof struct {
	leader kafka.NodeID
	epoch  kafka.Epoch
	at     time.Time
}

// mourning is how long proof of a process's death is told: it may have come back.
const mourning = 5 * time.Second

// Bereaved tells which leader of an epoch before one this node has proven to be
// gone, some seconds ago at most.
func (n *Node) Bereaved(epoch kafka.Epoch) (kafka.NodeID, bool) {
	p := n.mourned.Load()
	if p == nil || p.epoch >= epoch || time.Since(p.at) > mourning {
		return kafka.NoNode, false
	}
	return p.leader, true
}

// refusalPause lies between the two refusals that are proof: a process that
// restarts may listen again by then.
const refusalPause = 20 * time.Millisecond

// Gone is the proof that a pool's dialer can give.
func (p *peers) Gone(ctx context.Context, addr string) bool {
	return p.dialer.Gone(ctx, refusalPause, addr)
}
