package raftnode

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
)

// coroner is a Sender that counts how often it is asked for proof.
type coroner struct {
	asked atomic.Int32
	hold  chan struct{}
}

func (c *coroner) Send(kafka.NodeID, string, kmsg.Request, func(kmsg.Response, error)) {}

func (c *coroner) Gone(context.Context, string) bool {
	c.asked.Add(1)
	<-c.hold
	return false
}

// B3: a process is looked for when the connection that carried our fetches was
// reset. When that happened between two fetches the second one is refused, which is
// as good, but only if one was answered before.
func TestWhatMakesALeadersDeathASuspicion(t *testing.T) {
	reset, refused := fmt.Errorf("read: %w", syscall.ECONNRESET), fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	if !transport.Reset(reset) || !transport.Refused(refused) {
		t.Fatal("the errors are not what they are taken for")
	}
	f := func(what string, err error, fetched term, want int32) {
		t.Helper()
		c := &coroner{hold: make(chan struct{})}
		n := &Node{inbox: make(chan item, 8), life: t.Context()}
		n.cfg.Sender = c
		l := &loop{n: n, fetched: fetched}
		for range 2 { // the second finds that somebody looks already
			n.suspect(raft.Message{To: 2, Body: raft.FetchRequest{Epoch: 5}}, "two:9093", err)
			select {
			case it := <-n.inbox:
				it.run(l)
			default:
			}
		}
		close(c.hold)
		n.wg.Wait()
		if got := c.asked.Load(); got != want {
			t.Errorf("%s: looked %d times, not %d", what, got, want)
		}
	}
	f("reset", reset, term{}, 1)
	f("refused after a fetch", refused, term{2, 5}, 1)
	f("refused, never fetched", refused, term{}, 0)
	f("refused, fetched in another epoch", refused, term{2, 4}, 0)
	f("refused, fetched from another", refused, term{3, 5}, 0)
	f("time-out", context.DeadlineExceeded, term{2, 5}, 0)
	f("unreachable", syscall.EHOSTUNREACH, term{2, 5}, 0)
}
