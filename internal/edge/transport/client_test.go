package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/wire"
)

func newTestClient(t testing.TB, addr string, cfg ClientConfig) *Client {
	c := NewClient(addr, cfg)
	t.Cleanup(c.Close)
	return c
}

func topicOf(resp kmsg.Response) string { return *resp.(*kmsg.MetadataResponse).Topics[0].Topic }

// Many requests are under way at once; each gets its own answer.
func TestClientPipelines(t *testing.T) {
	_, addr := serve(t, Config{}, services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: echo}})
	c := newTestClient(t, addr, ClientConfig{ClientID: "peer"})
	type answer struct {
		want string
		resp kmsg.Response
		err  error
	}
	answers := make(chan answer, 200)
	for i := range cap(answers) {
		want := fmt.Sprint("topic-", i)
		c.Send(t.Context(), about(want), func(resp kmsg.Response, err error) { answers <- answer{want, resp, err} })
	}
	for range cap(answers) {
		a := receiveFrom(t, answers)
		if a.err != nil || topicOf(a.resp) != a.want {
			t.Fatalf("%s: got %v, %v", a.want, a.resp, a.err)
		}
		if got := a.resp.GetVersion(); got != 13 {
			t.Fatalf("answered at version %d, the newest both sides know is 13", got)
		}
	}
	if _, newest, ok := c.Versions(3); !ok || newest != 13 {
		t.Errorf("versions of Metadata: %d, %v", newest, ok)
	}
}

// A peer that is older than our ApiVersions names the version it understands.
func TestClientAsksAnOldPeerAgain(t *testing.T) {
	var asked []int16
	_, addr := serve(t, Config{}, services{
		18: {Barrier: true, NoBody: true, Handler: func(r *Request, reply func(Reply)) {
			asked = append(asked, r.Version)
			resp := kmsg.NewPtrApiVersionsResponse()
			resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 2}, {ApiKey: 3, MaxVersion: 8}}
			if resp.Version = min(2, r.Version); r.Version > 2 {
				resp.Version, resp.ErrorCode = 0, int16(kerr.UnsupportedVersion)
			}
			reply(FromMessage(resp))
		}},
		3: {Handler: echo},
	})
	c := newTestClient(t, addr, ClientConfig{})
	resp, err := c.Do(t.Context(), about("t"))
	if err != nil || resp.GetVersion() != 8 {
		t.Fatalf("answered %v, %v", resp, err)
	}
	if fmt.Sprint(asked) != "[4 2]" {
		t.Errorf("asked at versions %v", asked)
	}
	if _, err := c.Do(t.Context(), kmsg.NewPtrHeartbeatRequest()); !errors.Is(err, ErrVersions) {
		t.Errorf("a request the peer does not know: %v", err)
	}
}

func TestClientHoldsAVersionDown(t *testing.T) {
	_, addr := serve(t, Config{}, services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: echo}})
	c := newTestClient(t, addr, ClientConfig{MaxVersion: func(key int16) int16 {
		if key == 3 {
			return 5
		}
		return -1
	}})
	if resp, err := c.Do(t.Context(), about("t")); err != nil || resp.GetVersion() != 5 {
		t.Fatalf("answered %v, %v", resp, err)
	}
}

// Raft tells a process that is down from one that is slow by these errors.
func TestClientNamesTheFailure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ending := make(chan struct{})
	go func() {
		defer close(ending)
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(nc, make([]byte, 8))
			_ = nc.(*net.TCPConn).SetLinger(0)
			_ = nc.Close()
		}
	}()
	c := newTestClient(t, addr, ClientConfig{})
	if _, err := c.Do(t.Context(), about("t")); !Reset(err) || Refused(err) {
		t.Errorf("a connection that was cut: %v", err)
	}
	_ = ln.Close()
	<-ending
	if _, err := c.Do(t.Context(), about("t")); !Refused(err) || Reset(err) {
		t.Errorf("a port without a listener: %v", err)
	}
}

// After a broken connection the next request makes a new one.
func TestClientConnectsAgain(t *testing.T) {
	cut := true
	_, addr := serve(t, Config{}, services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: func(r *Request, reply func(Reply)) {
		if cut {
			cut = false
			reply(CloseConn)
			return
		}
		echo(r, reply)
	}}})
	c := newTestClient(t, addr, ClientConfig{})
	if _, err := c.Do(t.Context(), about("t")); !Reset(err) {
		t.Fatalf("a connection that ended: %v", err)
	}
	if resp, err := c.Do(t.Context(), about("t")); err != nil || topicOf(resp) != "t" {
		t.Fatalf("answered %v, %v", resp, err)
	}
}

// A request that runs out of time takes the connection with it, a cancelled one
// does not: answers come in order, and an overdue one blocks those behind it.
func TestClientGivesUpAConnectionThatIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan func(), 10)
		s, dialer := pipes(services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: func(r *Request, reply func(Reply)) {
			released <- func() { echo(r, reply) }
		}}})
		c := NewClient("pipe", ClientConfig{Dial: dialer})
		failures := make(chan error, 3)
		send := func(ctx context.Context) {
			c.Send(ctx, about("t"), func(_ kmsg.Response, err error) { failures <- err })
			synctest.Wait()
		}
		cancelled, cancel := context.WithCancel(t.Context())
		send(cancelled)
		cancel()
		if err := <-failures; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		(<-released)()
		send(t.Context())
		(<-released)()
		if err := <-failures; err != nil {
			t.Errorf("after a cancelled one: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		send(t.Context())
		send(short)
		for range 2 {
			if err := <-failures; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("on an overdue connection: %v", err)
			}
		}
		c.Close()
		closeNow(s)
	})
}

// "A link watches the deadlines of all its requests with a single timer": each has its
// own, in whatever order they are sent, and one that was answered has none any more.
func TestALinkWatchesTheDeadlinesOfItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan func(), 10)
		s, dialer := pipes(services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: func(r *Request, reply func(Reply)) {
			released <- func() { echo(r, reply) }
		}}})
		c := NewClient("pipe", ClientConfig{RequestTimeout: time.Hour, Dial: dialer})
		began := time.Now()
		type outcome struct {
			name  string
			after time.Duration
			late  bool
		}
		outcomes := make(chan outcome, 3)
		send := func(name string, after time.Duration) {
			c.SendBy(context.Background(), began.Add(after), about("t"), func(_ kmsg.Response, err error) {
				outcomes <- outcome{name, time.Since(began), errors.Is(err, context.DeadlineExceeded)}
			})
			synctest.Wait()
		}
		f := func(want outcome) {
			t.Helper()
			if got := <-outcomes; got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		send("answered", time.Second)
		(<-released)()
		f(outcome{"answered", 0, false})
		send("late", time.Minute)
		send("sooner", 3*time.Second)
		f(outcome{"sooner", 3 * time.Second, true})
		f(outcome{"late", 3 * time.Second, true}) // the connection is given up
		<-released
		<-released
		send("on another", time.Minute)
		(<-released)()
		f(outcome{"on another", 3 * time.Second, false})
		c.Close()
		closeNow(s)
	})
}

// counted counts the writes to a connection.
type counted struct {
	net.Conn
	writes *atomic.Int32
}

func (c counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// "They share a system call, if all who can run have their turn before": that is so
// while another request is under way. Once in many rounds is enough, as the runtime may
// interrupt whoever it likes.
func TestRequestsOfManyShareAWrite(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		const many, rounds = 15, 20
		held := make(chan func(), many+1)
		s, dialer := pipes(services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: func(r *Request, reply func(Reply)) {
			held <- func() { echo(r, reply) }
		}}})
		var writes atomic.Int32
		c := NewClient("pipe", ClientConfig{Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := dialer(ctx, addr)
			return counted{conn, &writes}, err
		}})
		send := func() {
			c.Send(t.Context(), about("t"), func(_ kmsg.Response, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		least := int32(many)
		for range rounds {
			send()
			synctest.Wait()
			before := writes.Load()
			for range many {
				go send()
			}
			synctest.Wait()
			least = min(least, writes.Load()-before)
			for range many + 1 {
				(<-held)()
			}
			synctest.Wait()
		}
		if least != 1 {
			t.Errorf("%d requests took %d writes or more in each of %d rounds", many, least, rounds)
		}
		c.Close()
		closeNow(s)
	})
}

// "It doubles with each setup in a row that fails, up to DialTimeoutMax", and a
// setup that succeeds begins anew.
func TestTheTimeOfASetupGrowsWithFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dialer := pipes(services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: echo}})
		away := true
		c := NewClient("pipe", ClientConfig{RequestTimeout: time.Hour, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			if away { // a host that drops what comes
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dialer(ctx, addr)
		}})
		f := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := c.Do(t.Context(), about("t"))
			if took := time.Since(began); !Unsent(err) || took != want {
				t.Errorf("%v after %v, not %v", err, took, want)
			}
		}
		f(10 * time.Second)
		f(20 * time.Second)
		f(30 * time.Second)
		f(30 * time.Second)
		away = false
		if _, err := c.Do(t.Context(), about("t")); err != nil {
			t.Error(err)
		}
		away = true
		c.Disconnect(io.EOF)
		f(10 * time.Second)
		c.Close()
		closeNow(s)
	})
}

// A peer that takes connections and says nothing is no better than none.
func TestASilentPeerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient("pipe", ClientConfig{DialTimeout: time.Second, Dial: func(context.Context, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			return ours, nil
		}})
		began := time.Now()
		if _, err := c.Do(t.Context(), about("t")); !Unsent(err) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		c.Close()
	})
}

// Send never calls back from within, and never blocks.
func TestClientRefusesWhenClosedOrFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		c := NewClient("nowhere", ClientConfig{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			close(stuck)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		failures := make(chan error, defaultQueued+2)
		for range defaultQueued + 1 {
			c.Send(t.Context(), about("t"), func(_ kmsg.Response, err error) { failures <- err })
		}
		<-stuck
		if err := <-failures; !errors.Is(err, ErrBusy) {
			t.Errorf("one too many: %v", err)
		}
		c.Close()
		for range defaultQueued {
			if err := <-failures; !errors.Is(err, ErrClosed) {
				t.Errorf("closed under it: %v", err)
			}
		}
		if _, err := c.Do(t.Context(), about("t")); !errors.Is(err, ErrClosed) {
			t.Errorf("closed before: %v", err)
		}
	})
}

func TestPoolKeepsOneClientAnAddress(t *testing.T) {
	_, addr := serve(t, Config{}, services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: echo}})
	p := NewPool(ClientConfig{})
	defer p.Close()
	first := p.Get(addr)
	if _, err := p.Do(t.Context(), addr, about("t")); err != nil {
		t.Fatal(err)
	}
	if p.Get(addr) != first {
		t.Error("another client for the same address")
	}
	p.Close()
	if _, err := p.Do(t.Context(), addr, about("t")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A response out of turn, or of garbage, breaks the connection.
func TestClientRefusesAMalformedResponse(t *testing.T) {
	f := func(name string, answer func(r *Request, reply func(Reply))) {
		t.Run(name, func(t *testing.T) {
			_, addr := serve(t, Config{}, services{18: {Handler: versionsOf, Barrier: true}, 3: {Handler: answer}})
			c := newTestClient(t, addr, ClientConfig{})
			if _, err := c.Do(t.Context(), about("t")); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("got %v", err)
			}
		})
	}
	f("wrong id", func(r *Request, reply func(Reply)) { r.CorrelationID++; echo(r, reply) })
	f("no body", func(_ *Request, reply func(Reply)) { reply(FromParts(nil, nil)) })
	f("array too long", func(_ *Request, reply func(Reply)) {
		reply(FromParts([]Part{{Bytes: append([]byte{0, 0, 0, 0}, 0xff, 0xff, 0x3f, 0, 0, 0)}}, nil))
	})
}

// pipes starts a server that is reached through pipes.
func pipes(routes Routes) (*Server, func(context.Context, string) (net.Conn, error)) {
	ln := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := NewServer(Config{})
	s.Serve(ln, ListenerConfig{Name: "PLAINTEXT", Routes: routes}).Start()
	return s, func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		return ours, nil
	}
}

func closeNow(s *Server) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Close(ctx)
}
