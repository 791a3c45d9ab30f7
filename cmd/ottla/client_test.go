package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// "less than the command has, so that it can tell what the cluster says in the
// end."
func TestRequestsEndBeforeTheCommand(t *testing.T) {
	f := func(timeout, want time.Duration) {
		t.Helper()
		flags := clientFlags{timeout: timeout}
		if got := flags.requestTimeout(); got != want {
			t.Errorf("%v of %v", got, timeout)
		}
	}
	f(8*time.Second, 7*time.Second)
	f(time.Millisecond, 875*time.Microsecond)
}

func TestACommandOutOfTimeNamesTheFlag(t *testing.T) {
	text := plain(fmt.Errorf("request: %w", context.DeadlineExceeded))
	if !strings.Contains(text, "--timeout") {
		t.Error(text)
	}
}
