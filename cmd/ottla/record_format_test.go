package main

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Rule: what JSON cannot say as a text stands in base64 beside it, byte for byte.
func TestRecordJSONKeepsBytes(t *testing.T) {
	f := func(key, value []byte, want string) {
		t.Helper()
		var out strings.Builder
		r := &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(0), Key: key, Value: value}
		if err := printRecordJSON(&out, r); err != nil {
			t.Fatal(err)
		}
		if want = `{"topic":"t","partition":0,"offset":0,"timestamp":"1970-01-01T00:00:00Z",` + want + "}\n"; out.String() != want {
			t.Errorf("got %swant %s", out.String(), want)
		}
	}
	f(nil, []byte("é\ufffd"), "\"key\":null,\"value\":\"é\ufffd\"")
	f([]byte{}, nil, `"key":"","value":null`)
	f([]byte{0xff}, []byte{'a', 0xfe}, `"key":null,"key_base64":"/w==","value":null,"value_base64":"Yf4="`)
}
