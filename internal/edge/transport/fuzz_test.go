package transport

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fuzzBytes bounds what one execution sends: a few requests of any kind.
const fuzzBytes = 4 << 10

// anything serves every key and version that has a schema with an empty answer.
type anything struct{}

func (anything) Find(key, version int16) (Service, bool) {
	minVersion, maxVersion, ok := wire.Known(key)
	if !ok || version < minVersion || version > maxVersion {
		return Service{}, false
	}
	return Service{Handler: func(r *Request, reply func(Reply)) { reply(FromMessage(r.Body.ResponseKind())) }}, true
}

// FuzzConnection: whatever bytes come, the connection ends and the process
// does not.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01\x00"))
	f.Add(appendRequest(appendRequest(nil, about("t"), 1, "client"), produce(0, []byte("records")), 2, ""))
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.SetVersion(4)
	f.Add(appendRequest(nil, versions, 3, "client"))
	ln := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := NewServer(Config{MaxRequestBytes: 1 << 20})
	s.Serve(ln, ListenerConfig{Name: "PLAINTEXT", Routes: anything{}}).Start()
	f.Cleanup(func() { closeNow(s) })
	f.Fuzz(func(t *testing.T, sent []byte) {
		sent = sent[:min(len(sent), fuzzBytes)]
		ours, theirs := net.Pipe()
		ln.conns <- theirs
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, ours)
		}()
		_, _ = ours.Write(sent)
		_ = ours.Close()
		<-read
	})
}

// FuzzRequest: a frame is a request or is refused, and the budget for decoding
// gets back what the request took.
func FuzzRequest(f *testing.F) {
	add := func(req kmsg.Request) {
		lowest, highest, _ := wire.Known(req.Key())
		for version := lowest; version <= highest; version++ {
			req.SetVersion(version)
			f.Add(appendRequest(nil, req, 1, "client")[wire.FrameHead:])
		}
	}
	for key := range int16(100) {
		if _, _, ok := wire.Known(key); ok {
			add(kmsg.RequestForKey(key))
		}
	}
	add(about("t"))
	add(produce(0, []byte("records")))
	s := NewServer(Config{})
	c := &conn{srv: s, routes: anything{}, ctx: s.ctx}
	f.Fuzz(func(t *testing.T, frame []byte) {
		k := &call{frame: &buffer{bytes.Clone(frame[:min(len(frame), fuzzBytes)])}, decode: s.decode}
		if err := c.open(k); err == nil && k.req.Body == nil {
			t.Error("a request without a body")
		}
		k.free()
		if s.decode.used != 0 {
			t.Errorf("%d bytes are missing from the budget", s.decode.used)
		}
	})
}

// FuzzAnswer: what a peer answers is a response or an error.
func FuzzAnswer(f *testing.F) {
	for key := range int16(100) {
		lowest, highest, ok := wire.Known(key)
		for version := lowest; ok && version <= highest; version++ {
			resp := kmsg.ResponseForKey(key)
			resp.SetVersion(version)
			f.Add(key, version, resp.AppendTo(wire.AppendResponseHeader(nil, key, version, 0))[4:])
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, rest []byte) {
		resp := kmsg.ResponseForKey(key)
		if lowest, highest, ok := wire.Known(key); !ok || version < lowest || version > highest {
			return
		}
		got, err := decodeResponse(resp, key, version, rest[:min(len(rest), fuzzBytes)])
		if err == nil && got.GetVersion() != version {
			t.Errorf("version %d is read as %d", version, got.GetVersion())
		}
	})
}
