package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzEnvelope: whatever a peer puts into an envelope is answered, with the
// answer of the request inside or with an error.
func FuzzEnvelope(f *testing.F) {
	from := alice("10.0.0.7")
	for version := int16(2); version <= 7; version++ {
		e := Seal(from, createRequest(version))
		f.Add(e.RequestPrincipal, e.ClientHostAddress, e.RequestData)
	}
	table := creating()
	f.Fuzz(func(t *testing.T, principal, host, data []byte) {
		sealed := kmsg.NewPtrEnvelopeRequest()
		sealed.RequestPrincipal, sealed.ClientHostAddress, sealed.RequestData = principal, host, data
		answer := unwrap(t, table, sealed)
		if (answer.ErrorCode == 0) != (len(answer.ResponseData) > 0) {
			t.Errorf("error %d with %d bytes", answer.ErrorCode, len(answer.ResponseData))
		}
	})
}

// FuzzUnseal: whatever a controller answers is a response or an error.
func FuzzUnseal(f *testing.F) {
	for version := int16(2); version <= 7; version++ {
		answer := unwrap(f, creating(), Seal(alice("::1"), createRequest(version)))
		f.Add(version, answer.ErrorCode, answer.ResponseData)
	}
	f.Fuzz(func(t *testing.T, version, code int16, data []byte) {
		answer := kmsg.NewPtrEnvelopeResponse()
		answer.ErrorCode, answer.ResponseData = code, data
		req := createRequest(min(max(version, 2), 7))
		resp, err := Unseal(req, answer)
		if err == nil && resp.GetVersion() != req.Version {
			t.Errorf("version %d is answered in %d", req.Version, resp.GetVersion())
		}
	})
}

func FuzzReadPrincipal(f *testing.F) {
	f.Add(appendPrincipal(nil, "User:alice", true))
	f.Add([]byte{0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, raw []byte) {
		principal, _, err := readPrincipal(raw)
		if err == nil && principal == "" {
			t.Error("an empty principal was taken")
		}
	})
}
