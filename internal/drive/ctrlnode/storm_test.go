package ctrlnode

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/statelog"
)

// stormMemory is what a request that waits for its commit may keep, with all that
// this test keeps of it.
const stormMemory = 4 << 10

// "MaxParked bounds the replies that wait for their commit. When it is reached, a
// request is refused with REQUEST_TIMED_OUT before anything is decided": 25,000
// requests while the quorum commits nothing.
func TestAStormOfRequestsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const more = 5000
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		decided, good, refused := 0, 0, 0
		for range statelog.MaxParked + more {
			Submit(q.node, time.Hour, func(kafka.Instant, *image.Image, *controller.Soft) controller.Decision[struct{}] {
				decided++
				return controller.Decision[struct{}]{Records: []controller.Versioned{{Message: metarec.NewNoOpRecord()}}}
			}, func(_ struct{}, err error) {
				switch kerr.Of(err) {
				case kerr.None:
					good++
				case kerr.RequestTimedOut:
					refused++
				default:
					t.Error(err)
				}
			})
		}
		if decided != statelog.MaxParked || refused != more || good != 0 {
			t.Errorf("%d decided, %d refused, %d answered before the commit", decided, refused, good)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > statelog.MaxParked*stormMemory {
			t.Errorf("%d requests that wait keep %d bytes", statelog.MaxParked, grown)
		}
		q.commit()
		if good != statelog.MaxParked || refused != more {
			t.Errorf("%d answered after the commit, %d refused", good, refused)
		}
	})
}
