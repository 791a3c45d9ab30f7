package transport

import (
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkRoundTrip is one small request and its reply over the loopback. Its
// allocations are the request with its body, the call, and the reply function.
func BenchmarkRoundTrip(b *testing.B) {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.SetVersion(4)
	_, addr := serve(b, Config{}, services{12: {Handler: func(_ *Request, reply func(Reply)) { reply(FromMessage(resp)) }}})
	c := dial(b, addr)
	_ = c.SetDeadline(noDeadline)
	req := kmsg.NewPtrHeartbeatRequest()
	req.SetVersion(4)
	frame := appendRequest(nil, req, 1, "bench")
	reply := make([]byte, 4+4+1+7)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(frame); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, reply); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPipelined is the same with 16 requests under way.
func BenchmarkPipelined(b *testing.B) {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.SetVersion(4)
	_, addr := serve(b, Config{}, services{12: {Handler: func(_ *Request, reply func(Reply)) { reply(FromMessage(resp)) }}})
	c := dial(b, addr)
	_ = c.SetDeadline(noDeadline)
	req := kmsg.NewPtrHeartbeatRequest()
	req.SetVersion(4)
	var frames []byte
	for i := range int32(16) {
		frames = appendRequest(frames, req, i, "bench")
	}
	replies := make([]byte, 16*(4+4+1+7))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(frames); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, replies); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProduceFrame is 1 MiB on its way in, without anything done to it.
func BenchmarkProduceFrame(b *testing.B) {
	_, addr := serve(b, Config{}, services{0: {Recycle: true, Handler: func(r *Request, reply func(Reply)) {
		reply(FromMessage(r.Body.ResponseKind()))
	}}})
	c := dial(b, addr)
	_ = c.SetDeadline(noDeadline)
	frame := appendRequest(nil, produce(1, make([]byte, 1<<20)), 1, "bench")
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(frame); err != nil {
			b.Fatal(err)
		}
		c.receive()
	}
}

// BenchmarkSendfile is 1 MiB on its way out, from the page cache.
func BenchmarkSendfile(b *testing.B) {
	f := fileOf(b, make([]byte, 1<<20))
	_, addr := serve(b, Config{}, services{3: {Handler: func(_ *Request, reply func(Reply)) {
		reply(FromParts([]Part{{Bytes: make([]byte, 100)}, {File: f, Len: 1 << 20}}, nil))
	}}})
	c := dial(b, addr)
	_ = c.SetDeadline(noDeadline)
	frame := appendRequest(nil, about("t"), 1, "bench")
	reply := make([]byte, 4+4+1+100+1<<20)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(frame); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, reply); err != nil {
			b.Fatal(err)
		}
	}
}
