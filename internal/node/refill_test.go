package node

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// Rule: who connects while nothing is served is turned away at once, and the socket
// serves afterwards as if nothing had been.
func TestAListenerTurnsAwayForAWhile(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	connect := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var doors lentListeners
	doors.turnAway(doors.lend(ln))
	for range 3 {
		if _, err := connect().Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Error("it is not turned away:", err)
		}
	}
	doors.takeBack()
	client := connect()
	served, err := ln.Accept()
	if err != nil {
		t.Fatal("the socket does not serve any more:", err)
	}
	defer served.Close()
	if _, err := client.Write([]byte("x")); err != nil {
		t.Error(err)
	}
}

// "Accept waits for a connection, at most until Close": a server that ends leaves the
// socket to the next one.
func TestALentListenerOutlivesItsServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var doors lentListeners
	for range 2 {
		door := doors.lend(ln)
		ended := make(chan error)
		go func() {
			_, err := door.Accept()
			ended <- err
		}()
		if err := door.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error("a server ends with", err)
		}
		doors.takeBack()
	}
}
