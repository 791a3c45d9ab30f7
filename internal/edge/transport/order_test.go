package transport

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// "responses come back strictly in request order": those that are ready early
// wait for the ones before them.
func TestRepliesKeepTheOrderOfRequests(t *testing.T) {
	var parked []func()
	all := make(chan []func(), 1)
	_, addr := serve(t, Config{}, services{3: {Handler: func(r *Request, reply func(Reply)) {
		parked = append(parked, func() { echo(r, reply) })
		if len(parked) == 5 {
			all <- parked
		}
	}}})
	c := dial(t, addr)
	for id := range int32(5) {
		c.send(id, about("t"))
	}
	replies := receiveFrom(t, all)
	for i := len(replies) - 1; i >= 0; i-- {
		replies[i]()
	}
	for want := range int32(5) {
		if id, _ := c.receive(); id != want {
			t.Fatalf("reply %d came in place %d", id, want)
		}
	}
}

// A produce with acks=0 gets not one byte: the answer behind it comes next.
func TestNoneSendsNothing(t *testing.T) {
	_, addr := serve(t, Config{}, services{
		0: {Handler: func(_ *Request, reply func(Reply)) { reply(None) }},
		3: {Handler: echo},
	})
	c := dial(t, addr)
	c.send(1, produce(0, []byte("records")))
	c.send(2, about("t"))
	if id, _ := c.receive(); id != 2 {
		t.Fatalf("reply to %d", id)
	}
}

// A handler can close the connection; what was answered before still arrives.
func TestCloseConnComesInTurn(t *testing.T) {
	_, addr := serve(t, Config{}, services{
		0: {Handler: func(_ *Request, reply func(Reply)) { reply(CloseConn) }},
		3: {Handler: echo},
	})
	c := dial(t, addr)
	c.send(1, about("t"))
	c.send(2, produce(0, nil))
	c.send(3, about("t"))
	if id, _ := c.receive(); id != 1 {
		t.Fatalf("reply to %d", id)
	}
	c.closed()
}

// "A connection starts its next request when the previous one's effect is
// done", barriers when it is answered.
func TestBarrierHoldsTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started []int32
		release := make(chan func(), 1)
		s, c := pipe(t, Config{}, services{
			12: {Barrier: true, Handler: func(r *Request, reply func(Reply)) {
				started = append(started, r.CorrelationID)
				release <- func() { reply(FromMessage(r.Body.ResponseKind())) }
			}},
			3: {Handler: func(r *Request, reply func(Reply)) {
				started = append(started, r.CorrelationID)
				echo(r, reply)
			}},
		})
		go func() { // a pipe has no buffer
			c.send(1, kmsg.NewPtrHeartbeatRequest())
			c.send(2, about("t"))
		}()
		synctest.Wait()
		if len(started) != 1 {
			t.Errorf("started %v beside a barrier", started)
		}
		(<-release)()
		for want := int32(1); want <= 2; want++ {
			if id, _ := c.receive(); id != want {
				t.Errorf("reply to %d, want %d", id, want)
			}
		}
		shut(t, s, c)
	})
}

// "at most 16 requests ... outstanding": the 17th is not started.
func TestOutstandingRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var replies []func()
		s, c := pipe(t, Config{}, services{3: {Handler: func(r *Request, reply func(Reply)) {
			replies = append(replies, func() { echo(r, reply) })
		}}})
		go func() { // until the pipe is closed
			for id := range int32(20) {
				_, _ = c.Write(appendRequest(nil, about("t"), id, "test"))
			}
		}()
		synctest.Wait()
		if len(replies) != defaultOutstanding {
			t.Errorf("%d requests were started", len(replies))
		}
		replies[0]()
		if id, _ := c.receive(); id != 0 {
			t.Errorf("reply to %d", id)
		}
		synctest.Wait()
		if len(replies) != defaultOutstanding+1 {
			t.Errorf("%d requests were started after one reply", len(replies))
		}
		for _, reply := range replies[1:] {
			reply()
		}
		shut(t, s, c)
	})
}

// "16 requests, or what the listener says": replies keep their order while the
// queue grows, wherever its front is.
func TestAListenerMayLetMoreWait(t *testing.T) {
	const limit, sent = 100, 250
	started := make(chan func(), sent)
	s := NewServer(Config{})
	l, err := s.Listen(ListenerConfig{Name: "CONTROLLER", Addr: "127.0.0.1:0", Outstanding: limit, Routes: services{
		3: {Handler: func(r *Request, reply func(Reply)) { started <- func() { echo(r, reply) } }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	defer s.Close(t.Context())
	c := dial(t, l.Addr().String())
	go func() {
		for id := range int32(sent) {
			_, _ = c.Write(appendRequest(nil, about("t"), id, "test"))
		}
	}()
	id := int32(0)
	answer := func(reply func()) {
		t.Helper()
		reply()
		if got, _ := c.receive(); got != id {
			t.Fatalf("reply to %d, want %d", got, id)
		}
		id++
	}
	for range 10 { // moves the front
		answer(receiveFrom(t, started))
	}
	waiting := make([]func(), limit)
	for i := range waiting {
		waiting[i] = receiveFrom(t, started)
	}
	for _, reply := range waiting {
		answer(reply)
	}
	for id < sent {
		answer(receiveFrom(t, started))
	}
}

// "... and 1 MiB of replies": a client that does not read is not served on.
func TestReplyBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := 0
		s, c := pipe(t, Config{}, services{3: {Handler: func(_ *Request, reply func(Reply)) {
			started++
			reply(FromParts([]Part{{Bytes: make([]byte, 400<<10)}}, nil))
		}}})
		go func() { // until the pipe is closed
			for id := range int32(20) {
				_, _ = c.Write(appendRequest(nil, about("t"), id, "test"))
			}
		}()
		synctest.Wait()
		// One reply is on its way out, and three are more than 1 MiB.
		if started > 4 {
			t.Errorf("%d requests of 400 KiB were answered to nobody", started)
		}
		shut(t, s, c)
	})
}

// "A connection that dies cancels what it parked."
func TestAbandonedRequestsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[int32]bool{}
		var ctx context.Context
		s, c := pipe(t, Config{}, services{3: {Handler: func(r *Request, reply func(Reply)) {
			ctx = r.Ctx
			r.Abandoned(func() {
				told[r.CorrelationID] = true
				echo(r, reply) // owed, and thrown away
			})
			if r.CorrelationID == 1 {
				echo(r, reply)
			}
		}}})
		for id := int32(1); id <= 2; id++ {
			c.send(id, about("t"))
		}
		c.receive()
		_ = c.Close()
		synctest.Wait()
		if told[1] || !told[2] || ctx.Err() == nil {
			t.Errorf("told %v, context %v", told, ctx.Err())
		}
		shut(t, s, c)
	})
}

// An idle connection is closed after connections.max.idle.ms, one that waits
// for a reply is not.
func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan func(), 1)
		s, c := pipe(t, Config{Idle: time.Minute}, services{3: {Handler: func(r *Request, reply func(Reply)) {
			release <- func() { echo(r, reply) }
		}}})
		_ = c.SetDeadline(time.Time{})
		c.send(1, about("t"))
		time.Sleep(10 * time.Minute) // of the bubble
		(<-release)()
		if id, _ := c.receive(); id != 1 {
			t.Errorf("reply to %d", id)
		}
		begin := time.Now()
		c.closed()
		if idle := time.Since(begin); idle > 2*time.Minute || idle < time.Minute {
			t.Errorf("closed after %v", idle)
		}
		shut(t, s, c)
	})
}

// Close answers what was started and starts nothing more.
func TestCloseAnswersWhatWasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan func(), 1)
		s, c := pipe(t, Config{}, services{3: {Handler: func(r *Request, reply func(Reply)) {
			release <- func() { echo(r, reply) }
		}}})
		c.send(1, about("t"))
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- s.Close(context.Background()) }()
		synctest.Wait()
		(<-release)()
		if id, _ := c.receive(); id != 1 {
			t.Errorf("reply to %d", id)
		}
		c.closed()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}

// Close cuts what is not answered in time.
func TestCloseCutsWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := pipe(t, Config{}, services{3: {Handler: func(r *Request, reply func(Reply)) {
			r.Abandoned(func() { reply(None) })
		}}})
		c.send(1, about("t"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		_ = c.Close()
	})
}

// A reply from a file arrives whole, whatever other connections read from the
// same file, and the file's own offset stays where it is.
func TestFileRangesLeaveTheOffsetAlone(t *testing.T) {
	content := make([]byte, 3<<20)
	_, _ = rand.Read(content)
	f := fileOf(t, content)
	const off, size = 12_345, 2 << 20
	_, addr := serve(t, Config{}, services{3: {Handler: func(_ *Request, reply func(Reply)) {
		reply(FromParts([]Part{
			{Bytes: []byte("head")},
			{File: f, Off: 7, Len: 100}, // small: copied
			{File: f, Off: off, Len: size},
			{Bytes: []byte("tail")},
		}, nil))
	}}})
	want := append([]byte("\x00head"), content[7:107]...) // header v1 ends with an empty tag section
	want = append(append(want, content[off:off+size]...), "tail"...)
	peers := []*peerConn{dial(t, addr), dial(t, addr), dial(t, addr)}
	for i, c := range peers {
		c.send(int32(i), about("t"))
		c.send(int32(i), about("t"))
	}
	for i, c := range peers {
		for range 2 {
			id, rest := c.receive()
			if id != int32(i) || !bytes.Equal(rest, want) {
				t.Fatalf("reply %d of %d bytes differs", id, len(rest))
			}
		}
	}
	if at, err := f.Seek(0, 1); at != 0 || err != nil {
		t.Errorf("the offset of the file moved to %d, %v", at, err)
	}
}

// "a short send closes the connection"
func TestShortFileClosesTheConnection(t *testing.T) {
	for name, size := range map[string]int64{"copied": 4 << 10, "sent from the file": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			f := fileOf(t, make([]byte, size-1))
			released := make(chan bool, 1)
			_, addr := serve(t, Config{}, services{3: {Handler: func(_ *Request, reply func(Reply)) {
				reply(FromParts([]Part{{File: f, Off: 0, Len: size}}, func() { released <- true }))
			}}})
			c := dial(t, addr)
			c.send(1, about("t"))
			if n, err := io.Copy(io.Discard, c); n >= size+9 || isTimeout(err) { // 9: size, correlation id, tags
				t.Errorf("%d bytes, then %v", n, err)
			}
			receiveFrom(t, released)
		})
	}
}

func fileOf(t testing.TB, content []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
