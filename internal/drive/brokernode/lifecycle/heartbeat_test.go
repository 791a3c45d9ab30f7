package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
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

// Rule (KIP-1066): heartbeats say which directories take no new replicas, at once when
// that changes; nil, which says nothing, is not an empty list.
func TestHeartbeatsNameCordonedDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now []kafka.DirID
		d := &desk{}
		l, stop := start(d, func(c *Config) { c.Cordoned = func() []kafka.DirID { return now } })
		l.Published(5)
		f := func(want string, dirs []kafka.DirID) {
			t.Helper()
			d.set(func(*desk) { now = dirs })
			l.CordonChanged()
			synctest.Wait()
			if got := fmt.Sprintf("%v %v", d.last().CordonedLogDirs == nil, len(d.last().CordonedLogDirs)); got != want {
				t.Errorf("%v: %s, want %s", dirs, got, want)
			}
		}
		f("true 0", nil)
		f("false 0", []kafka.DirID{})
		f("false 2", []kafka.DirID{{1}, {2}})
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
