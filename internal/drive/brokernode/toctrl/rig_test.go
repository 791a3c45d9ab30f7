package toctrl

import (
	"context"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/wire"
	"github.com/ottla/ottla/internal/edge/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// client is who sends in tests.
var client = transport.Caller{ConnInfo: &transport.ConnInfo{Principal: "User:ANONYMOUS", ClientHost: "127.0.0.1"}, ClientID: "c"}

// arrived is a request that a controller of a test has got.
type arrived struct {
	key   int16
	reply func(kmsg.Response)
	ctx   context.Context // ends with the connection
}

// answer gives an answer without errors.
func (a arrived) answer() { a.refuse(kerr.None) }

// refuse gives an envelope with an error. Requests without an envelope are only
// answered.
func (a arrived) refuse(code kerr.Code) {
	if a.key != envelopeKey {
		a.reply(kmsg.RequestForKey(a.key).ResponseKind())
		return
	}
	resp := kmsg.NewPtrEnvelopeResponse()
	resp.ErrorCode = int16(code)
	a.reply(resp)
}

const envelopeKey = 58

// controllerRig is a node that takes what brokers send and answers when the test
// says so.
type controllerRig struct {
	addr string
	got  chan arrived
}

func (c *controllerRig) Find(key, _ int16) (transport.Service, bool) {
	if key == 18 {
		return transport.Service{Barrier: true, Handler: func(r *transport.Request, reply func(transport.Reply)) {
			resp := r.Body.ResponseKind().(*kmsg.ApiVersionsResponse)
			for key := range int16(kmsg.MaxKey + 1) {
				if oldest, newest, ok := wire.Known(key); ok {
					resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MinVersion: oldest, MaxVersion: newest})
				}
			}
			reply(transport.FromMessage(resp))
		}}, true
	}
	return transport.Service{Handler: func(r *transport.Request, reply func(transport.Reply)) {
		c.got <- arrived{r.Key, func(resp kmsg.Response) {
			if resp == nil {
				reply(transport.CloseConn)
				return
			}
			resp.SetVersion(r.Version)
			reply(transport.FromMessage(resp))
		}, r.Ctx}
	}}, true
}

// take waits for the next request.
func (c *controllerRig) take(t *testing.T) arrived {
	t.Helper()
	select {
	case a := <-c.got:
		return a
	case <-time.After(patience):
		t.Fatal("no request came")
		panic("unreachable")
	}
}

func startController(t *testing.T) *controllerRig {
	t.Helper()
	c := &controllerRig{got: make(chan arrived, 1024)}
	s := transport.NewServer(transport.Config{})
	l, err := s.Listen(transport.ListenerConfig{Name: "CONTROLLER", Addr: "127.0.0.1:0", Outstanding: 1024, Routes: c})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing a test left behind is waited for
		_ = s.Close(ctx)
	})
	c.addr = l.Addr().String()
	return c
}

// at names a controller.
func (c *controllerRig) at(node kafka.NodeID, epoch kafka.Epoch) Leader {
	return Leader{Node: node, Epoch: epoch, Addr: c.addr}
}

func seal(transport.Caller, kmsg.Request) *kmsg.EnvelopeRequest {
	sealed := kmsg.NewPtrEnvelopeRequest()
	sealed.RequestData, sealed.ClientHostAddress = []byte{0}, []byte{127, 0, 0, 1}
	return sealed
}

func unseal(req kmsg.Request, answer *kmsg.EnvelopeResponse) (kmsg.Response, error) {
	if code := kerr.Code(answer.ErrorCode); code != kerr.None {
		return nil, code
	}
	return req.ResponseKind(), nil
}

// broker makes a channel of node 1, which has no controller.
func broker(t *testing.T, dial func(context.Context, string) (net.Conn, error)) *Channel {
	clients := transport.NewPool(transport.ClientConfig{Dial: dial})
	own := transport.NewPool(transport.ClientConfig{Dial: dial})
	c := New(Config{
		Self: 1, Seal: seal, Unseal: unseal, Clients: clients, Pool: own,
		Elsewhere: func(kmsg.Response) bool { return false },
	})
	t.Cleanup(func() {
		c.Close()
		clients.Close()
		own.Close()
	})
	return c
}

// refuseAll is a network where nobody listens.
func refuseAll(context.Context, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }

// answers gathers what became of requests.
type answers struct {
	t   *testing.T
	all chan error
	mu  sync.Mutex
	n   int
}

func gather(t *testing.T) *answers { return &answers{t: t, all: make(chan error, 1024)} }

// of is the callback of one request.
func (a *answers) of() func(kmsg.Response, error) {
	answered := false
	return func(resp kmsg.Response, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if answered {
			a.t.Error("answered twice")
		}
		answered = true
		if (resp == nil) == (err == nil) {
			a.t.Errorf("answered %v and %v", resp, err)
		}
		a.n++
		a.all <- err
	}
}

func (a *answers) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// next waits for an answer.
func (a *answers) next() error {
	a.t.Helper()
	select {
	case err := <-a.all:
		return err
	case <-time.After(patience):
		a.t.Fatal("no answer came")
		panic("unreachable")
	}
}

// must fails unless an error has a code and says something.
func must(t *testing.T, err error, want kerr.Code, says string) {
	t.Helper()
	if kerr.Of(err) != want || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("answered %v, not %v with %q", err, want, says)
	}
}
