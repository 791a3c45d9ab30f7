package lifecycle

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// "logHeartbeat tells the first of a row of failures, and its end." A broker
// that leaves without a controller would say so every 50 ms.
func TestARowOfFailedHeartbeatsIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := &desk{}
		l, stop := start(d, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
		l.Published(5)
		synctest.Wait()
		told := func(want int, text string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%q is told %d times, not %d:\n%s", text, got, want, out.String())
			}
		}
		d.set(func(d *desk) { d.down = true })
		time.Sleep(10 * time.Second)
		told(1, "heartbeat failed")
		d.set(func(d *desk) { d.down = false })
		time.Sleep(3 * time.Second)
		told(1, "heartbeat taken again")
		d.set(func(d *desk) { d.down = true })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := l.Leave(ctx); err == nil {
			t.Error("left with nobody's consent")
		}
		told(2, "heartbeat failed")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// "A broker that was unregistered while it ran does not register by itself": one
// line says what to do, whatever failed before.
func TestAnUnregisteredBrokerSaysOnceWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		registered := 0
		d := &desk{register: func(*kmsg.BrokerRegistrationRequest) (kerr.Code, int64) {
			registered++
			return kerr.None, 5
		}}
		l, stop := start(d, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
		l.Published(5)
		synctest.Wait()
		d.set(func(d *desk) { d.down = true })
		time.Sleep(5 * time.Second)
		d.set(func(d *desk) { d.down, d.beat = false, kerr.StaleBrokerEpoch })
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := strings.Count(out.String(), "restart this node"); n != 1 || registered != 1 {
			t.Errorf("told %d times, registered %d times:\n%s", n, registered, out.String())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
