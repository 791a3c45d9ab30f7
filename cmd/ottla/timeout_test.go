package main

import (
	"context"
	"strings"
	"testing"
)

// Rule: a time that cannot be is refused in one line that names its flag, before
// anything is done.
func TestTimesThatCannotBeAreRefusedByName(t *testing.T) {
	f := func(flag string, args ...string) {
		t.Helper()
		var out, errOut strings.Builder
		status := run(context.Background(), append(args, "--bootstrap-server", "localhost:1"), strings.NewReader(""), &out, &errOut)
		told := strings.TrimSpace(errOut.String())
		if status == 0 || !strings.Contains(told, flag) || strings.Contains(told, "--bootstrap-server") || strings.Contains(told, "\n") {
			t.Errorf("%v: status %d, told %q", args, status, told)
		}
	}
	f("--timeout", "produce", "--topic", "t", "--timeout", "-1s")
	f("--timeout", "produce", "--topic", "t", "--timeout", "0")
	f("--timeout", "consume", "--topic", "t", "--timeout", "9999999h")
	f("--timeout", "topics", "--list", "--timeout", "soon")
	f("--timeout-ms", "consume", "--topic", "t", "--timeout-ms", "9223372036854775807")
}

// A short time is the user's choice, not a wrong address.
func TestAShortTimeoutIsTakenByProduce(t *testing.T) {
	var out, errOut strings.Builder
	run(context.Background(), []string{"produce", "--topic", "t", "--timeout", "10ms", "--bootstrap-server", "localhost:1"}, strings.NewReader(""), &out, &errOut)
	if told := errOut.String(); !strings.Contains(told, "no broker answers at localhost:1") {
		t.Errorf("told %q", told)
	}
}
