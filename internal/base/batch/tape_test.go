package batch

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/ottla/ottla/internal/base/kerr"
)

// sameSurvey checks that a body looks the same past a window as as a whole.
func sameSurvey(t *testing.T, h Header, body []byte, p Policy) {
	t.Helper()
	want, wantErr := surveyRecords(h, body, p)
	for _, r := range []io.Reader{bytes.NewReader(body), iotest.HalfReader(bytes.NewReader(body)), iotest.DataErrReader(bytes.NewReader(body))} {
		tp := &tape{buf: make([]byte, 64)} // so that most records cross its end
		tp.begin(r, len(body))
		got, err := surveyStream(h, tp, p)
		switch {
		case (err == nil) != (wantErr == nil):
			t.Fatalf("streamed: %v, whole: %v", err, wantErr)
		case err == nil && (!reflect.DeepEqual(got, want) || tp.at != len(body)):
			t.Fatalf("streamed: %+v, whole: %+v, %d of %d bytes", got, want, tp.at, len(body))
		case kerr.Of(err) == kerr.InvalidTimestamp != (kerr.Of(wantErr) == kerr.InvalidTimestamp):
			t.Fatalf("streamed: %v, whole: %v", err, wantErr)
		}
	}
}

func TestTapeSeesWhatTheCursorSees(t *testing.T) {
	for _, b := range [][]byte{build(Options{}, 1), build(Options{}, 3000), trailing(), changed(func(b []byte) { b[HeaderSize] -= 2 })} {
		h, _ := ParseHeader(b)
		sameSurvey(t, h, b[HeaderSize:], plain)
		sameSurvey(t, h, b[HeaderSize:], Policy{Compacted: true})
		sameSurvey(t, h, b[HeaderSize:len(b)-1], plain)
	}
}

func TestTapeEndsAtItsLimit(t *testing.T) {
	b := build(Options{}, 3000)
	h, _ := ParseHeader(b)
	f := func(limit int, want error) {
		t.Helper()
		tp := &tape{buf: make([]byte, tapeWindow)}
		tp.begin(bytes.NewReader(b[HeaderSize:]), limit)
		if _, err := surveyStream(h, tp, plain); !errors.Is(err, want) {
			t.Errorf("limit %d: %v, want %v", limit, err, want)
		}
	}
	f(len(b)-HeaderSize, nil)
	f(len(b)-HeaderSize-1, ErrTooLarge)
	f(10, ErrTooLarge)
}

func FuzzTape(f *testing.F) {
	f.Add(build(Options{}, 3)[HeaderSize:], int32(3), false)
	f.Add(trailing()[HeaderSize:], int32(3), true)
	f.Fuzz(func(t *testing.T, body []byte, count int32, compacted bool) {
		sameSurvey(t, Header{Count: count}, body, Policy{Now: 1000, BeforeMax: 5000, AfterMax: 5000, Compacted: compacted})
	})
}
