package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// services is a Routes for tests: one service for each key, whatever version.
type services map[int16]Service

func (s services) Find(key, _ int16) (Service, bool) {
	service, ok := s[key]
	return service, ok
}

// echo answers a Metadata request with its topics, so that replies can be told
// apart.
func echo(r *Request, reply func(Reply)) { reply(FromMessage(echoOf(r))) }

func echoOf(r *Request) kmsg.Response {
	resp := r.Body.ResponseKind().(*kmsg.MetadataResponse)
	for _, t := range r.Body.(*kmsg.MetadataRequest).Topics {
		resp.Topics = append(resp.Topics, kmsg.MetadataResponseTopic{Topic: t.Topic})
	}
	return resp
}

// versionsOf answers ApiVersions with all keys up to their newest version.
func versionsOf(r *Request, reply func(Reply)) {
	resp := r.Body.ResponseKind().(*kmsg.ApiVersionsResponse)
	for key := range int16(kmsg.MaxKey + 1) {
		if minVersion, maxVersion, ok := wire.Known(key); ok {
			resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MinVersion: minVersion, MaxVersion: maxVersion})
		}
	}
	reply(FromMessage(resp))
}

// logLines gathers what a server logs.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.buf.String()), "\n")
}

// serve starts a server with one listener on the loopback.
func serve(t testing.TB, cfg Config, routes Routes) (*Server, string) {
	t.Helper()
	s := NewServer(cfg)
	l, err := s.Listen(ListenerConfig{Name: "PLAINTEXT", Addr: "127.0.0.1:0", Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing a test left behind is waited for
		_ = s.Close(ctx)
	})
	return s, l.Addr().String()
}

// peerConn is a client that speaks frames by hand.
type peerConn struct {
	t testing.TB
	net.Conn
	frames *frameReader
}

func dial(t testing.TB, addr string) *peerConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return newPeer(t, c)
}

func newPeer(t testing.TB, c net.Conn) *peerConn {
	_ = c.SetDeadline(time.Now().Add(patience))
	return &peerConn{t, c, newFrameReader(c, 1<<30)}
}

func (p *peerConn) send(id int32, req kmsg.Request) {
	p.t.Helper()
	if _, err := p.Write(appendRequest(nil, req, id, "test")); err != nil {
		p.t.Fatal(err)
	}
}

// receive reads one response and returns its correlation id and the rest.
func (p *peerConn) receive() (id int32, rest []byte) {
	p.t.Helper()
	size, err := p.frames.head()
	if err != nil {
		p.t.Fatal(err)
	}
	frame, err := p.frames.body(size)
	if err != nil {
		p.t.Fatal(err)
	}
	id, rest, err = wire.ReadCorrelationID(frame.b)
	if err != nil {
		p.t.Fatal(err)
	}
	return id, rest
}

// closed fails unless the other side ends the connection without a byte.
func (p *peerConn) closed() {
	p.t.Helper()
	n, err := p.Read(make([]byte, 1))
	if n != 0 || err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		p.t.Fatalf("connection is open: %d bytes, %v", n, err)
	}
}

// about is a Metadata request that names a topic.
func about(topic string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(9)
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	return req
}

// produce is a Produce request with one partition of records.
func produce(acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Acks = acks
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: records}}}}
	return req
}

func int32Bytes(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// receiveFrom waits for a value of a channel.
func receiveFrom[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
