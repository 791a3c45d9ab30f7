package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// "SaslHandshake/SaslAuthenticate after authentication: ILLEGAL_SASL_STATE", which on
// a plaintext listener is always.
func TestThereIsNobodyToLogIn(t *testing.T) {
	for _, scope := range []Scope{OnBroker, OnController} {
		table := NewTable(scope, aboutOf(towns(t)), ClusterRoutes(ClusterDeps{View: towns(t)}))
		for v := range int16(2) {
			wantCode(t, "handshake", ask[*kmsg.SASLHandshakeResponse](t, table, "L", kmsg.NewPtrSASLHandshakeRequest(), v).ErrorCode, kerr.IllegalSaslState)
		}
		for v := range int16(3) {
			wantCode(t, "authenticate", ask[*kmsg.SASLAuthenticateResponse](t, table, "L", kmsg.NewPtrSASLAuthenticateRequest(), v).ErrorCode, kerr.IllegalSaslState)
		}
	}
}
