package toctrl

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/wire"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Requests that wait for a controller are answered when the channel closes, and
// Close returns after that.
func TestCloseAnswersWhoWaitsForAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := broker(t, nil), gather(t)
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
		ours := got.of()
		go func() { ours(c.Do(t.Context(), kmsg.NewPtrCreateTopicsRequest())) }()
		synctest.Wait()
		if got.count() != 0 {
			t.Fatal("nobody was there to answer")
		}
		c.Close()
		synctest.Wait()
		if n := got.count(); n != 2 {
			t.Errorf("%d answers after Close", n)
		}
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
		if got.count() != 3 {
			t.Error("no answer from a closed channel")
		}
	})
}

// A request that comes during an election is served once there is a controller.
func TestForwardWaitsForAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := broker(t, nil), gather(t)
		c.cfg.Local = func(_ context.Context, _ transport.Caller, _ kmsg.Request, done func(kmsg.Response, error)) {
			done(kmsg.NewPtrCreateTopicsResponse(), nil)
		}
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
		synctest.Wait()
		c.Moved(Leader{Node: 1, Epoch: 1})
		must(t, got.next(), kerr.None, "")
	})
}

// "Where no controller is known, or none can be connected to, it is looked for
// until ctx ends or the time has passed that the request gives the controller. The
// error is REQUEST_TIMED_OUT then, as in Kafka." Nothing was sent, which the
// broker itself is told by NOT_CONTROLLER.
func TestNoControllerIsFoundInTime(t *testing.T) {
	for _, known := range []Leader{nobody, {Node: 2, Epoch: 1, Addr: "gone:1"}} {
		synctest.Test(t, func(t *testing.T) {
			c, got := broker(t, refuseAll), gather(t)
			c.Moved(known)
			f := func(after time.Duration, want kerr.Code, says string, send func()) {
				t.Helper()
				began := time.Now()
				send()
				must(t, <-got.all, want, says)
				if took := time.Since(began); took != after {
					t.Errorf("%v: answered after %v, not %v", want, took, after)
				}
			}
			req := kmsg.NewPtrCreateTopicsRequest()
			req.TimeoutMillis = 3010
			f(3010*time.Millisecond, kerr.RequestTimedOut, "no active controller was found in time; nothing was done", func() {
				c.Forward(t.Context(), client, req, got.of())
			})
			ctx, cancel := context.WithTimeout(t.Context(), 1990*time.Millisecond)
			defer cancel()
			f(1990*time.Millisecond, kerr.NotController, "no active controller is known", func() { got.of()(c.Do(ctx, req)) })
		})
	}
}

// A controller that has stopped is looked for until the quorum has another one.
func TestTheNextControllerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, got := broker(t, refuseAll), gather(t)
		c.cfg.Local = func(_ context.Context, _ transport.Caller, _ kmsg.Request, done func(kmsg.Response, error)) {
			done(kmsg.NewPtrCreateTopicsResponse(), nil)
		}
		c.cfg.Serves = func(int16) (int16, int16, bool) { return 0, 0, false }
		c.Moved(Leader{Node: 2, Epoch: 1, Addr: "gone:1"})
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
		ours := got.of()
		go func() { ours(c.Do(t.Context(), kmsg.NewPtrCreateTopicsRequest())) }()
		synctest.Wait()
		c.Moved(Leader{Node: 1, Epoch: 2})
		for range 2 {
			must(t, got.next(), kerr.None, "")
		}
	})
}

// "When the connection breaks after the request was sent the outcome is unknown
// and the error is REQUEST_TIMED_OUT." It is sent once; what may be repeated is.
func TestABrokenConnectionIsAnUnknownOutcome(t *testing.T) {
	ctrl, c, got := startController(t), broker(t, nil), gather(t)
	c.Moved(ctrl.at(2, 1))
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	ctrl.take(t).reply(nil)
	must(t, got.next(), kerr.RequestTimedOut, "the outcome is unknown")
	c.Forward(t.Context(), client, kmsg.NewPtrDescribeQuorumRequest(), got.of())
	ctrl.take(t).reply(nil)
	ctrl.take(t).answer()
	must(t, got.next(), kerr.None, "")
	if n := len(ctrl.got); n != 0 {
		t.Errorf("%d requests more", n)
	}
}

// "Error 41: the broker looks up the controller and retries until its deadline":
// a node that has been elected is asked before it is active, and an old one after
// it has stopped to be.
func TestANodeThatIsNotActiveIsAskedAgain(t *testing.T) {
	old, next, c, got := startController(t), startController(t), broker(t, nil), gather(t)
	c.Moved(old.at(2, 1))
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	for range 3 {
		old.take(t).refuse(kerr.NotController)
	}
	old.take(t).answer()
	must(t, got.next(), kerr.None, "")
	c.Forward(t.Context(), client, kmsg.NewPtrDescribeQuorumRequest(), got.of())
	old.take(t).refuse(kerr.NotController)
	c.Moved(next.at(3, 2))
	next.take(t).answer()
	must(t, got.next(), kerr.None, "")
}

// "Other envelope errors: UNKNOWN_SERVER_ERROR to the client", except 35, which
// closes its connection.
func TestErrorsOfTheEnvelope(t *testing.T) {
	ctrl, c, got := startController(t), broker(t, nil), gather(t)
	c.Moved(ctrl.at(2, 1))
	f := func(code, want kerr.Code) {
		t.Helper()
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
		ctrl.take(t).refuse(code)
		must(t, got.next(), want, "")
	}
	f(kerr.ClusterAuthorizationFailed, kerr.UnknownServerError)
	f(kerr.PrincipalDeserializationFailure, kerr.UnknownServerError)
	f(kerr.InvalidRequest, kerr.UnknownServerError)
	f(kerr.UnsupportedVersion, kerr.UnsupportedVersion)
}

// "MaxUnderWay bounds the requests of clients. What comes then is refused."
func TestRequestsOfClientsAreBounded(t *testing.T) {
	c, got := broker(t, nil), gather(t)
	answered := make(chan error, MaxUnderWay)
	for range MaxUnderWay {
		c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), func(_ kmsg.Response, err error) { answered <- err })
	}
	c.Forward(t.Context(), client, kmsg.NewPtrCreateTopicsRequest(), got.of())
	must(t, got.next(), kerr.RequestTimedOut, "nothing was done")
	if n := len(answered); n != 0 {
		t.Errorf("%d others were answered", n)
	}
	c.Close()
	for range MaxUnderWay {
		must(t, <-answered, kerr.RequestTimedOut, "no active controller was found")
	}
	if n := c.metrics.underWay.Load(); n != 0 {
		t.Errorf("%d under way at the end", n)
	}
}

// "The advertised range is the intersection with the active controller's range (if
// known)": an API that the controller lacks has an empty range, one of a controller
// that nobody is connected to has none.
func TestTheControllersRangesAreKnownOnceItIsConnected(t *testing.T) {
	rig := startController(t)
	c := broker(t, nil)
	f := func(key, oldest, newest int16, known bool) {
		t.Helper()
		if a, b, ok := c.Serves(key); a != oldest || b != newest || ok != known {
			t.Errorf("API %d: %d to %d, known %v", key, a, b, ok)
		}
	}
	const createTopics, nobodys = 19, 4
	f(createTopics, 0, -1, false)
	c.Moved(rig.at(1, 1))
	f(createTopics, 0, -1, false)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = c.Do(t.Context(), kmsg.NewPtrAllocateProducerIDsRequest())
	}()
	rig.take(t).answer()
	<-answered
	oldest, newest, _ := wire.Known(createTopics)
	f(createTopics, oldest, newest, true)
	f(nobodys, 0, -1, true)
	c.cfg.Serves = func(key int16) (int16, int16, bool) { return 3, 4, key == createTopics }
	c.cfg.Local = func(context.Context, transport.Caller, kmsg.Request, func(kmsg.Response, error)) {}
	c.Moved(Leader{Node: c.cfg.Self, Epoch: 2})
	f(createTopics, 3, 4, true)
	f(nobodys, 0, -1, true)
}
