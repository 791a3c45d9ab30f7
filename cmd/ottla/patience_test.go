package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Rule: lines that wait end the sending after the timeout, counted from the
// last progress; while none waits, time does not count.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		p := newPatience(time.Second, stop)
		defer p.end()
		step := func(what string, want error) {
			t.Helper()
			synctest.Wait()
			if got := context.Cause(ctx); (got == nil) != (want == nil) {
				t.Fatalf("%s: %v", what, got)
			}
		}
		time.Sleep(time.Hour)
		step("nothing was sent", nil)
		p.sent()
		p.sent()
		p.sent()
		time.Sleep(900 * time.Millisecond)
		p.acknowledged()
		time.Sleep(900 * time.Millisecond)
		step("progress starts it anew", nil)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if got := context.Cause(ctx); got == nil || got.Error() != "lines not acknowledged within 1s (--timeout): 2; some of them may have been written" {
			t.Error(got)
		}
	})
}

// Rule: produce ends after --timeout when its node is gone, and tells how many
// lines nobody has acknowledged.
func TestProduceGivesUpOnANodeThatIsGone(t *testing.T) {
	at, stop := startDevUntil(t)
	in, lines := io.Pipe()
	type end struct {
		status int
		errOut string
	}
	ended := make(chan end, 1)
	go func() {
		var errOut strings.Builder
		status := run(t.Context(), []string{"produce", "--topic", "t", "--timeout", "2s", "-b", at}, in, io.Discard, &errOut)
		ended <- end{status, errOut.String()}
	}()
	write := func(text string) {
		if _, err := io.WriteString(lines, text); err != nil {
			t.Error(err)
		}
	}
	succeeds(t, "0\n", "produce", "--topic", "t", "-b", at)
	write("1\n")
	succeeds(t, "", "consume", "--topic", "t", "--from-beginning", "--max-messages", "2", "-b", at)
	stop()
	write("2\n3\n") // and the input stays open, as a terminal does
	got := <-ended
	if want := "ottla: lines not acknowledged within 2s (--timeout): 2; some of them may have been written\n"; got.status != 1 || got.errOut != want {
		t.Errorf("status %d: %s", got.status, got.errOut)
	}
	lines.Close()
}
