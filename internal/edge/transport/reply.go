package transport

import (
	"encoding/binary"
	"os"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reply is the answer to a request. The zero Reply is none: nothing is sent,
// for a produce with acks=0.
type Reply struct {
	kind    replyKind
	message kmsg.Response
	parts   []Part
	release func()
}

type replyKind uint8

const (
	replyNone replyKind = iota
	replyMessage
	replyParts
	replyClose
)

// None sends nothing.
var None = Reply{}

// CloseConn closes the connection once the replies before it were sent.
var CloseConn = Reply{kind: replyClose}

// FromMessage sends a body at the version that is set in it. One that knows how
// many bytes it takes says so with a method Size() int. It is encoded before the
// reply function returns, so it may be changed afterwards.
func FromMessage(m kmsg.Response) Reply { return Reply{kind: replyMessage, message: m} }

// Part is a piece of a body: Bytes, or where File is set the range of Len
// bytes at Off in it.
type Part struct {
	Bytes    []byte
	File     *os.File
	Off, Len int64
}

func (p *Part) size() int64 {
	if p.File != nil {
		return p.Len
	}
	return int64(len(p.Bytes))
}

// FromParts sends a body piece by piece; the header goes before it by itself.
// File ranges leave by sendfile where they can, and without moving the file's
// own offset. When a file turns out shorter than its range the connection is
// closed. The parts belong to the transport until release, which may be nil,
// is called; that happens exactly once, sent or not.
func FromParts(parts []Part, release func()) Reply {
	return Reply{kind: replyParts, parts: parts, release: release}
}

// encode fills in what leaves for a call: the bytes before the parts, and how
// much it is in total.
func (k *call) encode(r Reply) {
	k.kind, k.parts, k.release = r.kind, r.parts, r.release
	switch r.kind {
	case replyMessage:
		k.out = getBuffer(max(roomFor(r.message), smallReply))
		b := append(k.out.b[:0], 0, 0, 0, 0)
		b = wire.AppendResponseHeader(b, k.req.Key, r.message.GetVersion(), k.req.CorrelationID)
		b = r.message.AppendTo(b)
		binary.BigEndian.PutUint32(b, uint32(len(b)-wire.FrameHead))
		k.out.b = b
		k.size = int64(len(b))
	case replyParts:
		k.out = getBuffer(smallReply)
		b := append(k.out.b[:0], 0, 0, 0, 0)
		b = wire.AppendResponseHeader(b, k.req.Key, k.req.Version, k.req.CorrelationID)
		k.size = int64(len(b))
		for i := range r.parts {
			k.size += r.parts[i].size()
		}
		binary.BigEndian.PutUint32(b, uint32(k.size-wire.FrameHead))
		k.out.b = b
	}
}

// roomFor is what a body takes that is known to be large, or 0.
func roomFor(m kmsg.Response) int {
	const around = 64 // headers, and fields beside the bytes
	switch m := m.(type) {
	case *kmsg.EnvelopeResponse:
		return len(m.ResponseData) + around
	case interface{ Size() int }:
		return m.Size() + around
	}
	return 0
}

// free gives back what the reply holds.
func (k *call) free() {
	if k.out != nil {
		k.out.put()
		k.out = nil
	}
	if k.release != nil {
		k.release()
		k.release = nil
	}
	k.parts = nil
	if k.held > 0 {
		k.decode.give(k.held)
		k.held = 0
	}
}

// Message is the body that the reply was made from, for callers inside this
// process; false when it is not one message.
func (r Reply) Message() (kmsg.Response, bool) { return r.message, r.kind == replyMessage }
