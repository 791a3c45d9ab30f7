package transport

import (
	"context"
	"net"
	"testing"
	"time"
)

// Proof of death is that every address that was reached refuses, twice.
func TestOnlyRefusalsAreProofOfDeath(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	var d Dialer
	f := func(ctx context.Context, addr string, want bool) {
		t.Helper()
		if d.Gone(ctx, time.Millisecond, addr) != want {
			t.Errorf("%s is gone: %v", addr, !want)
		}
	}
	f(t.Context(), "127.0.0.1:1", false) // was never reached
	conn, err := d.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f(t.Context(), addr, false) // listens
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	f(over, addr, false) // cannot be looked at
	f(t.Context(), addr, true)
	d.note(addr, "127.0.0.1:1")
	f(t.Context(), addr, true) // refuses, too
	listener, err = net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	f(t.Context(), addr, false) // one of its addresses listens again
}

// Without the demand that an address was reached, all that a name resolves to has
// to refuse: one of several may be another machine's, or a firewall's.
func TestEveryAddressOfANameHasToRefuse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var d Dialer
	addr := listener.Addr().String()
	if d.RefusedTwice(t.Context(), time.Millisecond, "127.0.0.1:1", addr) {
		t.Error("proof although one address accepts")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if !d.RefusedTwice(t.Context(), time.Millisecond, "127.0.0.1:1", net.JoinHostPort("localhost", port)) {
		t.Error("no proof although all refuse")
	}
	if d.RefusedTwice(t.Context(), time.Millisecond) || d.RefusedTwice(t.Context(), time.Millisecond, "127.0.0.1:1", "no such host:1") {
		t.Error("proof of nothing, or of a name that does not resolve")
	}
}

// The kernel may close the connections of a process that was killed before its
// listener: for a moment somebody seems to be there.
func TestAListenerThatIsAboutToCloseIsAskedAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var d Dialer
	conn, err := d.Dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	closed := make(chan error, 1)
	go func() {
		for range 2 { // the first connection, and the first attempt
			c, err := listener.Accept()
			if err != nil {
				break
			}
			_ = c.Close()
		}
		closed <- listener.Close()
	}()
	if !d.Gone(t.Context(), 20*time.Millisecond, listener.Addr().String()) {
		t.Error("taken to be alive")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestFewAddressesOfAPeerAreRemembered(t *testing.T) {
	var d Dialer
	for _, at := range []string{"1", "2", "3", "1", "4", "5", "5"} {
		d.note("peer:9093", at)
	}
	if got := d.reached["peer:9093"]; len(got) != maxReached || got[0] != "3" || got[3] != "5" {
		t.Errorf("%v", got)
	}
}
