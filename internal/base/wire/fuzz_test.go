package wire

import (
	"testing"
)

// FuzzRequestBody: no body of any key and version makes the walk or the
// decoder panic, and what the walk lets pass takes no more memory than counted.
func FuzzRequestBody(f *testing.F) {
	fuzzBody(f, true)
}

// FuzzResponseBody is FuzzRequestBody for what a client reads.
func FuzzResponseBody(f *testing.F) {
	fuzzBody(f, false)
}

func fuzzBody(f *testing.F, request bool) {
	for _, g := range goldens(f) {
		if g.request == request {
			f.Add(g.key, g.version, g.body)
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		g := golden{key: key, version: version, request: request, body: body}
		counted, err := g.memory()
		if err != nil {
			return
		}
		if counted > 16<<20 {
			return
		}
		c := g.codec()
		var failed error
		taken := allocated(func() { failed = c.ReadFrom(body) })
		if len(body) < Small && counted > 64<<10+4*int64(len(body)) {
			t.Errorf("%v: a small body of %d bytes takes %d", g, len(body), counted)
		}
		if taken > 2*counted+64<<10 {
			t.Errorf("%v: counted %d, took %d", g, counted, taken)
		}
		if failed == nil {
			again := g.codec()
			if err := again.ReadFrom(c.AppendTo(nil)); err != nil {
				t.Errorf("%v: cannot read back what was read: %v", g, err)
			}
		}
	})
}

func FuzzRequestHeader(f *testing.F) {
	f.Add(AppendRequestHeader(nil, RequestHeader{Key: 18, Version: 99, CorrelationID: 7, ClientID: []byte("c")}))
	f.Add([]byte("000200660000000000e7000b636c69656e742d69642d31"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ReadRequestHeader(frame)
		if err != nil {
			return
		}
		if len(body)+10+len(h.ClientID) > len(frame) {
			t.Errorf("header and body are longer than the frame")
		}
		again, rest, err := ReadRequestHeader(append(AppendRequestHeader(nil, h), body...))
		if err != nil || len(rest) != len(body) || again.Key != h.Key || again.CorrelationID != h.CorrelationID {
			t.Errorf("%+v read back as %+v, %v", h, again, err)
		}
	})
}

// FuzzResponseHeader: the header of an answer is read past, or refused, and what
// we write is read back.
func FuzzResponseHeader(f *testing.F) {
	for _, of := range [][2]int16{{18, 3}, {3, 12}, {3, 1}, {0, 13}} {
		f.Add(of[0], of[1], append(AppendResponseHeader(nil, of[0], of[1], 7), "body"...))
	}
	f.Add(int16(3), int16(12), []byte("\x00\x00\x00\x07\x02\x00\x03abc\x05\x01zbody"))
	f.Fuzz(func(t *testing.T, key, version int16, frame []byte) {
		id, rest, err := ReadCorrelationID(frame)
		if err != nil {
			return
		}
		body, err := SkipResponseHeader(rest, key, version)
		if err != nil {
			return
		}
		again, rest, err := ReadCorrelationID(append(AppendResponseHeader(nil, key, version, id), body...))
		if err != nil || again != id {
			t.Fatalf("correlation id %d is read back as %d, %v", id, again, err)
		}
		if got, err := SkipResponseHeader(rest, key, version); err != nil || string(got) != string(body) {
			t.Errorf("key %d version %d: body %x is read back as %x, %v", key, version, body, got, err)
		}
	})
}

func TestHeaderOfApiVersionsAnswerIsTheOldOne(t *testing.T) {
	for version := range int16(6) {
		got := AppendResponseHeader(nil, 18, version, 31)
		if string(got) != "\x00\x00\x00\x1f" {
			t.Errorf("v%d: header %x", version, got)
		}
	}
}

func TestRequestHeaders(t *testing.T) {
	f := func(frame string, want RequestHeader, body string) {
		t.Helper()
		h, rest, err := ReadRequestHeader([]byte(frame))
		if err != nil {
			t.Errorf("%x: %v", frame, err)
			return
		}
		if h.Key != want.Key || h.Version != want.Version || h.CorrelationID != want.CorrelationID ||
			string(h.ClientID) != string(want.ClientID) || (h.ClientID == nil) != (want.ClientID == nil) || string(rest) != body {
			t.Errorf("%x: got %+v body %x", frame, h, rest)
		}
	}
	f("\x00\x03\x00\x00\x00\x00\x00\x07\xff\xffrest", RequestHeader{3, 0, 7, nil}, "rest")
	f("\x00\x03\x00\x00\x00\x00\x00\x07\x00\x02idrest", RequestHeader{3, 0, 7, []byte("id")}, "rest")
	f("\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00\x00rest", RequestHeader{3, 9, 7, []byte{}}, "rest")
	f("\x00\x03\x00\x09\x00\x00\x00\x07\xff\xff\x01\x05\x02abrest", RequestHeader{3, 9, 7, nil}, "rest")
	f("\x00\x12\x00\x63\x00\x00\x00\x07\xff\xff\x00", RequestHeader{18, 99, 7, nil}, "")

	for _, bad := range []string{"", "\x00\x03\x00\x00\x00\x00\x00\x07\xff", "\x00\x03\x00\x00\x00\x00\x00\x07\x00\x02i", "\x00\x03\x00\x09\x00\x00\x00\x07\xff\xff"} {
		if _, _, err := ReadRequestHeader([]byte(bad)); err == nil {
			t.Errorf("%x: accepted", bad)
		}
	}
}

func TestLooksNamesForeignProtocols(t *testing.T) {
	f := func(head, want string) {
		t.Helper()
		if got := Looks([4]byte([]byte(head))); got != want {
			t.Errorf("%q looks like %s, want %s", head, got, want)
		}
	}
	f("GET ", "an HTTP request")
	f("PRI ", "an HTTP/2 client")
	f("\x16\x03\x01\x02", "a TLS handshake on a plaintext port")
	f("SSH-", "an SSH client")
	f("\xff\xff\xff\xff", "a negative size")
	f("\x7f\xff\xff\xff", "an oversized request or another protocol")
}
