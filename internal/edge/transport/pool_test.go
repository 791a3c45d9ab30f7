package transport

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Addresses that are members' no more do not pile up: the one that was not used
// for the longest time makes room, with its connection.
func TestPoolIsBounded(t *testing.T) {
	got := make(chan struct{})
	_, addr := serve(t, Config{}, services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: func(*Request, func(Reply)) {
		close(got) // and no answer
	}}})
	p := NewPool(ClientConfig{})
	defer p.Close()
	ended := make(chan error, 1)
	p.Send(t.Context(), addr, about("t"), func(_ kmsg.Response, err error) { ended <- err })
	<-got
	first := p.Get(addr)
	other := p.Get("other:0")
	for i := range maxClients - 2 {
		p.Get(fmt.Sprintf("host-%d:0", i))
	}
	p.Get(addr) // so the other one is the oldest
	p.Get("one-more:0")
	if len(p.clients) != maxClients || p.Get(addr) != first || p.clients["other:0"] != nil {
		t.Errorf("%d clients", len(p.clients))
	}
	p.retired.Wait()
	if _, err := other.Do(t.Context(), about("t")); !errors.Is(err, ErrClosed) {
		t.Errorf("the client that made room: %v", err)
	}
	for i := range maxClients {
		p.Get(fmt.Sprintf("next-%d:0", i))
	}
	if err := receiveFrom(t, ended); !errors.Is(err, ErrClosed) {
		t.Errorf("a request on it: %v", err)
	}
}

// Close waits until everybody who was refused has been told.
func TestCloseWaitsForRefusals(t *testing.T) {
	c := NewClient("127.0.0.1:1", ClientConfig{})
	c.link = newLink(c.addr, &c.cfg, time.Second) // one that nobody works off
	for range defaultQueued {
		c.Send(t.Context(), about("t"), func(kmsg.Response, error) {})
	}
	hold, told := make(chan struct{}), make(chan struct{})
	c.Send(t.Context(), about("t"), func(_ kmsg.Response, err error) {
		<-hold
		if !errors.Is(err, ErrBusy) {
			t.Errorf("one too many: %v", err)
		}
		close(told)
	})
	closed := make(chan struct{})
	go func() {
		c.Close()
		select {
		case <-told:
		default:
			t.Error("Close has ended before the refusal")
		}
		close(closed)
	}()
	close(hold)
	<-closed
}
