package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// No listener has a log-in. Kafka lists the two APIs of one on every listener, and
// answers on a plaintext one that there is nobody to log in (any more).

func saslHandshake(_ Context, _ *kmsg.SASLHandshakeRequest) kmsg.Response {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.ErrorCode = int16(kerr.IllegalSaslState)
	return resp
}

func saslAuthenticate(_ Context, _ *kmsg.SASLAuthenticateRequest) kmsg.Response {
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	text := "SaslAuthenticate request received after successful authentication"
	resp.ErrorCode, resp.ErrorMessage = int16(kerr.IllegalSaslState), &text
	resp.SASLAuthBytes = []byte{}
	return resp
}
