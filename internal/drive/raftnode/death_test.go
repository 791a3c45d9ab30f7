package raftnode

import (
	"context"
	"net"
	"testing"
)

// B3: proof of death is that every address that was reached refuses, twice.
func TestOnlyRefusalsAreProofOfDeath(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	var d Dialer
	f := func(ctx context.Context, addr string, want bool) {
		t.Helper()
		if d.Gone(ctx, addr) != want {
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
	over, cancel := contextThatIsOver()
	defer cancel()
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

func TestFewAddressesOfAPeerAreRemembered(t *testing.T) {
	var d Dialer
	for _, at := range []string{"1", "2", "3", "1", "4", "5", "5"} {
		d.note("peer:9093", at)
	}
	if got := d.reached["peer:9093"]; len(got) != maxReached || got[0] != "3" || got[3] != "5" {
		t.Errorf("%v", got)
	}
}
