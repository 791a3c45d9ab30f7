package toctrl

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// nobody is a pool whose connections are all refused.
func nobody(t *testing.T) *transport.Pool {
	p := transport.NewPool(transport.ClientConfig{Dial: func(context.Context, string) (net.Conn, error) {
		return nil, syscall.ECONNREFUSED
	}})
	t.Cleanup(p.Close)
	return p
}

func seal(*transport.ConnInfo, kmsg.Request) *kmsg.EnvelopeRequest {
	return kmsg.NewPtrEnvelopeRequest()
}

// "Where none can be connected to, it is looked for until the time has passed
// that the request gives the controller; then the error is NOT_CONTROLLER."
func TestARefusedConnectionIsNoUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Leader: func() Leader { return Leader{Node: 2, Addr: "gone:1"} }, Seal: seal, Pool: nobody(t)})
		defer c.Close()
		began := time.Now()
		f := func(what string, want time.Duration, err error) {
			t.Helper()
			if kerr.Of(err) != kerr.NotController || !strings.Contains(err.Error(), "no active controller is known") {
				t.Errorf("%s: %v", what, err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("%s: answered after %v, not %v", what, took, want)
			}
		}
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 3000
		answered := make(chan error)
		c.Forward(t.Context(), &transport.ConnInfo{}, req, func(_ kmsg.Response, err error) { answered <- err })
		f("a client's request", 3*time.Second, <-answered)
		ctx, cancel := context.WithTimeout(t.Context(), 1990*time.Millisecond)
		defer cancel()
		_, err := c.Do(ctx, req)
		f("our own request", 4990*time.Millisecond, err)
	})
}

// A controller that has stopped is looked for until the quorum has another one.
func TestTheNextControllerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Pointer[Leader]
		at.Store(&Leader{Node: 2, Addr: "gone:1"})
		c := New(Config{
			Self: 1, Leader: func() Leader { return *at.Load() }, Seal: seal, Pool: nobody(t),
			Local: func(_ context.Context, _ *transport.ConnInfo, _ kmsg.Request, done func(kmsg.Response, error)) {
				done(kmsg.NewPtrCreateTopicsResponse(), nil)
			},
			Newest: func(int16) (int16, bool) { return 0, false },
		})
		defer c.Close()
		served := make(chan error, 2)
		c.Forward(t.Context(), &transport.ConnInfo{}, kmsg.NewPtrCreateTopicsRequest(), func(_ kmsg.Response, err error) { served <- err })
		go func() {
			_, err := c.Do(t.Context(), kmsg.NewPtrCreateTopicsRequest())
			served <- err
		}()
		synctest.Wait()
		at.Store(&Leader{Node: 1})
		for range 2 {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	})
}

// silent answers ApiVersions and closes the connection at an Envelope.
type silent struct{ got atomic.Int32 }

func (s *silent) Find(key, _ int16) (transport.Service, bool) {
	if key == 18 {
		return transport.Service{Barrier: true, Handler: func(r *transport.Request, reply func(transport.Reply)) {
			resp := r.Body.ResponseKind().(*kmsg.ApiVersionsResponse)
			for _, key := range []int16{18, 58} {
				resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key})
			}
			reply(transport.FromMessage(resp))
		}}, true
	}
	return transport.Service{Handler: func(_ *transport.Request, reply func(transport.Reply)) {
		s.got.Add(1)
		reply(transport.CloseConn)
	}}, true
}

// "When the connection breaks after the request was sent the outcome is unknown
// and the error is REQUEST_TIMED_OUT."
func TestABrokenConnectionIsAnUnknownOutcome(t *testing.T) {
	s, routes := transport.NewServer(transport.Config{}), &silent{}
	l, err := s.Listen(transport.ListenerConfig{Name: "CONTROLLER", Addr: "127.0.0.1:0", Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	defer s.Close(t.Context())
	pool := transport.NewPool(transport.ClientConfig{})
	defer pool.Close()
	c := New(Config{Leader: func() Leader { return Leader{Node: 2, Addr: l.Addr().String()} }, Seal: seal, Pool: pool})
	defer c.Close()
	answered := make(chan error)
	c.Forward(t.Context(), &transport.ConnInfo{}, kmsg.NewPtrCreateTopicsRequest(), func(_ kmsg.Response, err error) { answered <- err })
	if err := <-answered; kerr.Of(err) != kerr.RequestTimedOut {
		t.Error(err)
	}
	if n := routes.got.Load(); n != 1 {
		t.Errorf("sent %d times", n)
	}
}
