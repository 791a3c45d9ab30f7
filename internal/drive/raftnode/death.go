package raftnode

import (
	"context"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Witness is a Sender that can find out whether the process at an address is
// gone for certain (B3). Gone waits for that, some 20 ms, and at most until ctx
// ends.
type Witness interface {
	Gone(ctx context.Context, addr string) bool
}

// term is an epoch and who leads it.
type term struct {
	leader kafka.NodeID
	epoch  kafka.Epoch
}

// suspicion is that a leader's process is gone: the connection that carried our
// fetches in its epoch was reset. It may have been while no fetch was under way;
// then the next one finds nobody.
type suspicion struct {
	term
	addr  string
	reset bool
}

// suspect tells whether what became of a request is a reason to look closer.
func (n *Node) suspect(m raft.Message, addr string, err error) {
	fetch, isFetch := m.Body.(raft.FetchRequest)
	reset := transport.Reset(err)
	if _, able := n.cfg.Sender.(Witness); able && isFetch && (reset || transport.Refused(err)) {
		_ = n.put(suspicion{term{m.To, fetch.Epoch}, addr, reset})
	}
}

// run looks beside the loop whether it is so, once at a time. Without a fetch that
// was answered in this epoch there was no connection that could have been reset.
func (s suspicion) run(l *loop) {
	if l.examined == s.term || !s.reset && l.fetched != s.term {
		return
	}
	l.examined = s.term
	l.greetVoters(s.leader)
	n := l.n
	n.wg.Go(func() {
		if n.cfg.Sender.(Witness).Gone(n.life, s.addr) {
			n.mourned.Store(&proof{s.leader, s.epoch, time.Now()})
			_ = n.put(gone{s.term})
		}
		_ = n.put(cleared{s.term})
	})
}

// gone says that the process of an epoch's leader is.
type gone struct{ term }

func (g gone) run(l *loop) {
	l.proven = g.term
	l.step(raft.Dead{Leader: g.leader, Epoch: g.epoch})
}

// proof is that the process of an epoch's leader is gone.
type proof struct {
	leader kafka.NodeID
	epoch  kafka.Epoch
	at     time.Time
}

// proofLasts is how long proof of a process's death is told: it may have come back.
const proofLasts = 5 * time.Second

// Bereaved tells which leader of an epoch before one this node has proven to be
// gone, some seconds ago at most.
func (n *Node) Bereaved(epoch kafka.Epoch) (kafka.NodeID, bool) {
	p := n.mourned.Load()
	if p == nil || p.epoch >= epoch || time.Since(p.at) > proofLasts {
		return kafka.NoNode, false
	}
	return p.leader, true
}

// Greeter is a Sender that can connect to an address before there is a request to
// send.
type Greeter interface{ Greet(addr string) }

// greetVoters connects to those who will be asked if the leader is gone. Voters have
// no connections to each other as long as they follow one.
func (l *loop) greetVoters(leader kafka.NodeID) {
	g, able := l.n.cfg.Sender.(Greeter)
	if !able {
		return
	}
	for _, v := range l.core.State().Voters {
		at, named := v.Endpoints.Named(l.n.cfg.Listener)
		if named && v.Key.Node != leader && v.Key.Node != l.n.cfg.Self.Node {
			g.Greet(hostPort(at))
		}
	}
}

// cleared says that a suspicion was looked into.
type cleared struct{ term }

func (c cleared) run(l *loop) {
	if l.examined == c.term {
		l.examined = term{}
	}
}

// fetchedFrom notes whose answer to a fetch arrived.
func (l *loop) fetchedFrom(body raft.Body) {
	if a, ok := body.(raft.FetchAnswer); ok && a.Err == kerr.None {
		l.fetched = term{a.Hint.Leader, a.Hint.Epoch}
	}
}

// refusalPause lies between the two refusals that are proof: a process that
// restarts may listen again by then.
const refusalPause = 20 * time.Millisecond

// Gone is the proof that a pool's dialer can give.
func (p *peers) Gone(ctx context.Context, addr string) bool {
	return p.dialer.Gone(ctx, refusalPause, addr)
}
