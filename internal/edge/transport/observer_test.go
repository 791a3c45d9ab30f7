package transport

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// notes is an Observer that writes down what it sees.
type notes struct {
	mu   sync.Mutex
	seen []string
}

func (n *notes) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = append(n.seen, fmt.Sprintf(format, args...))
}

func (n *notes) Request(r *Request, size int, _ time.Duration) {
	n.note("request %d of %d", r.Key, size)
}
func (n *notes) Answer(r *Request, m kmsg.Response)            { n.note("answer %d by %d", r.Key, m.Key()) }
func (n *notes) Reply(r *Request, size int64, _ time.Duration) { n.note("reply %d of %d", r.Key, size) }
func (n *notes) Connection(listener string, delta int)         { n.note("%s %+d", listener, delta) }
func (n *notes) Refused(reason string)                         { n.note("refused: %s", reason) }

func TestObserverSeesWhatGoesThrough(t *testing.T) {
	var n notes
	s, addr := serve(t, Config{Observer: &n}, services{12: {Handler: func(r *Request, reply func(Reply)) {
		reply(FromMessage(r.Body.ResponseKind()))
	}}})
	c := dial(t, addr)
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	c.send(1, heartbeat)
	c.receive()
	c.send(2, about("t")) // not served
	c.closed()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(n.seen)
	request := len(appendRequest(nil, heartbeat, 1, "test")) - 4
	want := []string{"PLAINTEXT +1", "PLAINTEXT -1", "answer 12 by 12", "refused: unserved", "reply 12 of 10", fmt.Sprintf("request 12 of %d", request)}
	if !slices.Equal(n.seen, want) {
		t.Errorf("saw %q, want %q", n.seen, want)
	}
}
