package transport

import (
	"io"
	"net"
	"testing"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
	f.Fuzz(func(t *testing.T, sent []byte) {
		ln := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		s := NewServer(Config{MaxRequestBytes: 1 << 20})
		s.Serve(ln, ListenerConfig{Name: "PLAINTEXT", Routes: anything{}}).Start()
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
		closeNow(s)
	})
}
