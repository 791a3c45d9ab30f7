package toctrl

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

func nowhere() Leader { return Leader{Node: kafka.NoNode} }

// Requests that wait for a controller are answered when the channel closes, and
// Close returns after that.
func TestCloseAnswersWhoWaitsForAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Leader: nowhere})
		answered := 0
		refused := func(_ kmsg.Response, err error) {
			answered++
			if kerr.Of(err) != kerr.NotController {
				t.Errorf("answered %v", err)
			}
		}
		c.Forward(context.Background(), &transport.ConnInfo{}, kmsg.NewPtrCreateTopicsRequest(), refused)
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			if _, err := c.Do(context.Background(), kmsg.NewPtrCreateTopicsRequest()); kerr.Of(err) != kerr.NotController {
				t.Errorf("our own request: %v", err)
			}
		}()
		synctest.Wait()
		if answered != 0 {
			t.Fatal("nobody was there to answer")
		}
		c.Close()
		if answered != 1 {
			t.Errorf("%d answers after Close", answered)
		}
		<-asked
		c.Forward(context.Background(), &transport.ConnInfo{}, kmsg.NewPtrCreateTopicsRequest(), refused)
		if answered != 2 {
			t.Error("no answer from a closed channel")
		}
	})
}

// A request that comes during an election is served once there is a controller.
func TestForwardWaitsForAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found atomic.Bool
		served := make(chan struct{})
		c := New(Config{
			Self: 1,
			Leader: func() Leader {
				if found.Load() {
					return Leader{Node: 1}
				}
				return nowhere()
			},
			Local: func(_ context.Context, _ *transport.ConnInfo, _ kmsg.Request, done func(kmsg.Response, error)) {
				done(kmsg.NewPtrCreateTopicsResponse(), nil)
			},
		})
		defer c.Close()
		c.Forward(context.Background(), &transport.ConnInfo{}, kmsg.NewPtrCreateTopicsRequest(), func(_ kmsg.Response, err error) {
			if err != nil {
				t.Error(err)
			}
			close(served)
		})
		synctest.Wait()
		found.Store(true)
		<-served
	})
}
