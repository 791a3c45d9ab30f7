package transport

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What is no Kafka request closes the connection, with one line that names
// what it looks like, however often it comes.
func TestForeignBytesCloseTheConnection(t *testing.T) {
	f := func(name, bytes, looks string) {
		t.Run(name, func(t *testing.T) {
			var logged logLines
			_, addr := serve(t, Config{Logger: slog.New(slog.NewTextHandler(&logged, nil)), MaxRequestBytes: 1 << 20}, services{3: {Handler: echo}})
			for range 3 {
				c := dial(t, addr)
				if _, err := c.Write([]byte(bytes)); err != nil {
					t.Fatal(err)
				}
				_ = c.Conn.(*net.TCPConn).CloseWrite()
				c.closed()
			}
			lines := logged.lines()
			if len(lines) != 1 || !strings.Contains(lines[0], looks) || !strings.Contains(lines[0], "127.0.0.1") {
				t.Errorf("logged %q", lines)
			}
		})
	}
	f("HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "an HTTP request")
	f("TLS", "\x16\x03\x01\x02\x00\x01\x00", "a TLS handshake on a plaintext port")
	f("SSH", "SSH-2.0-x\r\n", "an SSH client")
	f("negative size", "\xff\xff\xff\xfe", "a negative size")
	f("oversized frame", "\x00\x10\x00\x01", "frame of 1048577 bytes (at most 1048576)")
	f("half a size", "\x00\x00", "ended inside a request")
	f("half a frame", "\x00\x00\x00\x20\x00\x03", "ended inside a request")
	f("no header", "\x00\x00\x00\x02\x00\x03", "has no header")
	f("unknown key", "\x00\x00\x00\x0a\x03\xe7\x00\x00\x00\x00\x00\x01\xff\xff", "(key 999) version 0 is not served")
	f("client id past the frame", "\x00\x00\x00\x0b\x00\x03\x00\x00\x00\x00\x00\x01\x00\x09x", "client id of 9 bytes")
	f("malformed body", "\x00\x00\x00\x0e\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff\x00\x00\x10\x00", "Metadata version 1")
}

// A client that leaves between two requests is no news.
func TestCleanEndIsNotLogged(t *testing.T) {
	var logged logLines
	s, addr := serve(t, Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, services{3: {Handler: echo}})
	c := dial(t, addr)
	c.send(1, about("t"))
	c.receive()
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	c.closed()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines := logged.lines(); lines[0] != "" {
		t.Errorf("logged %q", lines)
	}
}

// A refused version is logged once for each client id, so that the operator
// sees which clients are too old (KIP-896).
func TestUnservedVersionNamesTheClient(t *testing.T) {
	var logged logLines
	_, addr := serve(t, Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, services{})
	for _, client := range []string{"old one", "old one", "another"} {
		c := dial(t, addr)
		if _, err := c.Write(appendRequest(nil, kmsg.NewPtrHeartbeatRequest(), 1, client)); err != nil {
			t.Fatal(err)
		}
		c.closed()
	}
	lines := logged.lines()
	if len(lines) != 2 || !strings.Contains(lines[0], "old one") || !strings.Contains(lines[1], "another") {
		t.Errorf("logged %q", lines)
	}
}

// A body that is small on the wire and large in memory is decoded only within
// a budget that all connections share.
func TestDenseBodiesShareABudget(t *testing.T) {
	dense := kmsg.NewPtrMetadataRequest()
	dense.SetVersion(9)
	name := ""
	for range 600_000 {
		dense.Topics = append(dense.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	s := NewServer(Config{})
	decode := func() (int64, error) {
		_, held, err := decodeRequest(wire.RequestHeader{Key: 3, Version: 9}, dense.AppendTo(nil), s.decode)
		return held, err
	}
	first, err := decode()
	if err != nil || first < 25<<20 {
		t.Fatalf("first one: held %d, %v", first, err)
	}
	if _, err := decode(); err != nil {
		t.Fatalf("second one: %v", err)
	}
	if _, err := decode(); err == nil || !strings.Contains(err.Error(), "in memory") {
		t.Fatalf("third one: %v", err)
	}
	s.decode.give(first)
	if _, err := decode(); err != nil {
		t.Fatalf("after one was answered: %v", err)
	}
}

// A large frame arrives whole although the connection was trusted with less
// memory at first, and a length alone commits little.
func TestFramesGrowAsTheirBytesArrive(t *testing.T) {
	records := bytes.Repeat([]byte("0123456789"), 300_000)
	got := make(chan []byte, 1)
	_, addr := serve(t, Config{}, services{0: {Recycle: true, Handler: func(r *Request, reply func(Reply)) {
		got <- bytes.Clone(r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records)
		reply(None)
	}}})
	c := dial(t, addr)
	for i := range int32(3) {
		c.send(i, produce(0, records))
		if !bytes.Equal(receiveFrom(t, got), records) {
			t.Fatal("records changed on the way")
		}
	}

	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	r := newFrameReader(theirs, 100<<20)
	go func() {
		_, _ = ours.Write(int32Bytes(100 << 20))
		_, _ = ours.Write([]byte("x"))
		_ = ours.Close()
	}()
	size, err := r.head()
	if err != nil || size != 100<<20 {
		t.Fatalf("size %d, %v", size, err)
	}
	if _, err := r.body(size); err != errHalfFrame {
		t.Fatalf("body: %v", err)
	}
	if r.trusted != firstGulp {
		t.Errorf("trusted with %d bytes for a frame that never came", r.trusted)
	}
}

// max.connections.per.ip: "excess closed at once".
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	s, addr := serve(t, Config{Bounds: Bounds{PerIP: 2}}, services{3: {Handler: echo}})
	var open []*peerConn
	for i := range int32(2) {
		c := dial(t, addr)
		c.send(i, about("t"))
		c.receive()
		open = append(open, c)
	}
	dial(t, addr).closed()
	_ = open[0].Conn.(*net.TCPConn).CloseWrite()
	open[0].closed()
	for s.Connections() > 1 { // it is forgotten just after it was closed
		runtime.Gosched()
	}
	c := dial(t, addr)
	c.send(9, about("t"))
	if id, _ := c.receive(); id != 9 {
		t.Errorf("reply to %d", id)
	}
}

// max.connections: the acceptor waits until one leaves.
func TestAcceptorWaitsWhenFull(t *testing.T) {
	s, addr := serve(t, Config{Bounds: Bounds{Connections: 1}}, services{3: {Handler: echo}})
	first := dial(t, addr)
	first.send(1, about("t"))
	first.receive()
	second := dial(t, addr) // the kernel takes it, the server does not yet
	second.send(2, about("t"))
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	_ = first.Close()
	if id, _ := second.receive(); id != 2 {
		t.Errorf("reply to %d", id)
	}
}

// queued.max.request.bytes holds readers back, one oversized request passes.
func TestBudgetHoldsReadersBack(t *testing.T) {
	b := newBudget(100)
	if !b.take(150) {
		t.Fatal("an oversized request must pass when nothing else is there")
	}
	passed := make(chan bool, 1)
	go func() { passed <- b.take(1) }()
	b.give(150)
	if !receiveFrom(t, passed) {
		t.Fatal("not let through after room was given back")
	}
	b.take(99)
	go func() { passed <- b.take(1) }()
	b.close()
	if receiveFrom(t, passed) {
		t.Fatal("let through a budget that was closed")
	}
}

// The same listener with TLS in front; replies from files are copied there.
func TestTLS(t *testing.T) {
	certificate := selfSigned(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	f := fileOf(t, content)
	s := NewServer(Config{})
	l, err := s.Listen(ListenerConfig{
		Name: "SSL", Addr: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Routes: services{3: {Handler: func(r *Request, reply func(Reply)) {
			if !r.Conn.TLS || r.Conn.Listener != "SSL" {
				t.Errorf("connection %+v", r.Conn)
			}
			reply(FromParts([]Part{{File: f, Len: int64(len(content))}}, nil))
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	defer s.Close(t.Context())
	nc, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := newPeer(t, nc)
	c.send(1, about("t"))
	if id, rest := c.receive(); id != 1 || !bytes.Equal(rest[1:], content) {
		t.Errorf("reply %d of %d bytes", id, len(rest))
	}
}
