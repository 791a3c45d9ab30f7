package transport

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// Dialer connects and remembers where it got through, so that it can tell later
// whether nobody is there any more.
type Dialer struct {
	dialer  net.Dialer
	mu      sync.Mutex
	reached map[string][]string // addresses of the network, by host:port
}

// maxReached bounds what is remembered of a host:port; all of it has to refuse.
const maxReached = 4

// maxAttempts bounds the connections that Gone tries to each address: with a pause
// of 20 ms it gives up on a process that goes on accepting after a second.
const maxAttempts = 10

// refusalLimit is how long a refusal may take. A refusal is quick; silence
// proves nothing.
const refusalLimit = time.Second

// Dial is for ClientConfig.
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

// Gone tells whether every address that was reached under these host:port
// refuses a connection, and does so again after a pause. Time-outs, unreachable
// hosts and failed look-ups prove nothing, and neither does an address that was
// never reached. A process that ends closes its connections before, or after,
// its listeners: one that accepts is asked again, after a tenth of the pause, then
// twice that, and so on for a while. Gone waits for all that, at most until ctx ends.
func (d *Dialer) Gone(ctx context.Context, pause time.Duration, addrs ...string) bool {
	var reached []string
	d.mu.Lock()
	for _, addr := range addrs {
		reached = append(reached, d.reached[addr]...)
	}
	d.mu.Unlock()
	return d.refusedTwice(ctx, pause, reached)
}

// RefusedTwice is Gone without the demand that an address was reached before:
// every address that a host has now must refuse. It proves something only together
// with other evidence, since a firewall may refuse too.
func (d *Dialer) RefusedTwice(ctx context.Context, pause time.Duration, addrs ...string) bool {
	var all []string
	for _, addr := range addrs {
		resolved, err := resolve(ctx, addr)
		if err != nil {
			return false
		}
		all = append(all, resolved...)
	}
	return d.refusedTwice(ctx, pause, all)
}

// resolve gives the addresses of a host:port.
func resolve(ctx context.Context, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	for i, at := range hosts {
		hosts[i] = net.JoinHostPort(at, port)
	}
	return hosts, err
}

func (d *Dialer) refusedTwice(ctx context.Context, pause time.Duration, addrs []string) bool {
	if len(addrs) == 0 {
		return false
	}
	refused, accepted := 0, pause/20
	for range maxAttempts {
		wait := pause
		if d.allRefuse(ctx, addrs) {
			refused++
		} else {
			refused, accepted = 0, 2*accepted
			wait = accepted
		}
		if refused == 2 || !sleep(ctx, wait) {
			break
		}
	}
	return refused == 2
}

// sleep waits; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *Dialer) allRefuse(ctx context.Context, addrs []string) bool {
	ctx, cancel := context.WithTimeout(ctx, refusalLimit)
	defer cancel()
	for _, at := range addrs {
		conn, err := d.dialer.DialContext(ctx, "tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		if !Refused(err) {
			return false
		}
	}
	return true
}
