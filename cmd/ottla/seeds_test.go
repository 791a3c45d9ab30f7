package main

import (
	"net"
	"strings"
	"testing"
)

// silent is the address of a node that accepts connections and says nothing, as
// one does whose process was stopped.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // with what waits in its queue
	return l.Addr().String()
}

// Rule: a bootstrap address that hangs keeps no tool from the others,
// however many come first. Were they asked one after the other, their patience
// would use up --timeout.
func TestABootstrapAddressThatHangsKeepsNoToolFromTheOthers(t *testing.T) {
	at := silent(t) + "," + silent(t) + "," + startDev(t)
	f := func(in string, args ...string) {
		t.Helper()
		succeeds(t, in, append(args, "--bootstrap-server", at)...)
	}
	f("", "topics", "--create", "--topic", "t", "--partitions", "1")
	f("", "topics", "--list")
	f("", "topics", "--describe", "--topic", "t")
	f("", "topics", "--alter", "--topic", "t", "--partitions", "2")
	f("", "configs", "--describe", "--topic", "t")
	f("", "configs", "--alter", "--topic", "t", "--add-config", "retention.ms=-1")
	f("v\n", "produce", "--topic", "t")
	f("", "consume", "--topic", "t", "--from-beginning", "--max-messages", "1", "--group", "g")
	f("", "groups", "--list")
	f("", "log-dirs", "--describe")
	f("", "metadata-quorum", "describe", "--status")
	f("", "metadata-quorum", "describe", "--replication")
	f("", "topics", "--delete", "--topic", "t")
	for _, args := range [][]string{
		{"metadata-quorum", "remove-controller", "--controller-id", "9", "--controller-directory-id", "8kq0vWcQTvaZsBGJbXuGpw"},
	} {
		status, _, told := ottla(t, "", append(args, "--bootstrap-server", at)...)
		if status != 1 || !strings.HasPrefix(told, "ottla: change of the voters: ") { // refused by the node
			t.Errorf("%v: status %d, told %q", args, status, told)
		}
	}
}

// Where nobody answers, the user is told so, and of an address that refuses
// rather than of one that hangs.
func TestNoAddressAnswers(t *testing.T) {
	hangs := silent(t)
	f := func(want, at string) {
		t.Helper()
		status, _, told := ottla(t, "", "topics", "--list", "--timeout", "500ms", "--bootstrap-server", at)
		if status != 1 || !strings.HasPrefix(told, "ottla: no broker answers at "+at+": "+want) {
			t.Errorf("status %d, told %q, want %q", status, told, want)
		}
	}
	f("no answer in time (--timeout)", hangs)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	f("dial connect: connection refused", nobody+","+hangs)
}
