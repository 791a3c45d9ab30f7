package raftnode

import (
	"context"
	"net"
	"slices"
	"sync"
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
			_ = n.put(event{raft.Dead{Leader: s.leader, Epoch: s.epoch}})
		}
	})
}

// Dialer connects to peers and remembers where it got through, for Gone.
type Dialer struct {
	dialer  net.Dialer
	mu      sync.Mutex
	reached map[string][]string // addresses of the network, by host:port
}

// maxReached bounds what is remembered of a host:port; all of it has to refuse.
const maxReached = 4

const (
	// refusalPause lies between the two refusals that are proof: a process that
	// restarts may listen again by then.
	refusalPause = 20 * time.Millisecond
	// refusalLimit is how long a refusal may take. A refusal is quick; silence
	// proves nothing.
	refusalLimit = time.Second
)

// Dial is for transport.ClientConfig.
func (d *Dialer) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		d.note(addr, conn.RemoteAddr().String())
	}
	return conn, err
}

func (d *Dialer) note(addr, at string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reached == nil {
		d.reached = map[string][]string{}
	}
	known := slices.DeleteFunc(d.reached[addr], func(o string) bool { return o == at })
	d.reached[addr] = append(known[max(0, len(known)-maxReached+1):], at)
}

// Gone tells whether every address that was reached under addr refuses a
// connection, twice. Time-outs, unreachable hosts and failed look-ups prove
// nothing, and neither does an address that was never reached.
func (d *Dialer) Gone(ctx context.Context, addr string) bool {
	d.mu.Lock()
	reached := slices.Clone(d.reached[addr])
	d.mu.Unlock()
	if len(reached) == 0 || !d.allRefuse(ctx, reached) {
		return false
	}
	pause := time.NewTimer(refusalPause)
	defer pause.Stop()
	select {
	case <-pause.C:
		return d.allRefuse(ctx, reached)
	case <-ctx.Done():
		return false
	}
}

func (d *Dialer) allRefuse(ctx context.Context, reached []string) bool {
	ctx, cancel := context.WithTimeout(ctx, refusalLimit)
	defer cancel()
	for _, at := range reached {
		conn, err := d.dialer.DialContext(ctx, "tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		if !transport.Refused(err) {
			return false
		}
	}
	return true
}
