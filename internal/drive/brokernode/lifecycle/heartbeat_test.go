package lifecycle

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
