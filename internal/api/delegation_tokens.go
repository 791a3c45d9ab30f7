package api

import (
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Delegation tokens can be asked for only by somebody who logged in. No
// listener has a log-in, so every request is refused as Kafka refuses one that
// comes over a plaintext connection.

// refusedTokenRoutes are the requests that a broker would take to the controller for
// somebody who logged in.
func refusedTokenRoutes() []Route {
	return []Route{
		route(1, 3, createDelegationToken).forwarded(),
		route(1, 2, renewDelegationToken).forwarded(),
		route(1, 2, expireDelegationToken).forwarded(),
	}
}

func createDelegationToken(c Context, _ *kmsg.CreateDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateDelegationTokenResponse()
	resp.ErrorCode = int16(kerr.DelegationTokenRequestNotAllowed)
	resp.PrincipalType, resp.PrincipalName, _ = strings.Cut(c.Conn.Principal, ":")
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	resp.HMAC = []byte{}
	return resp
}

func renewDelegationToken(_ Context, _ *kmsg.RenewDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrRenewDelegationTokenResponse()
	resp.ErrorCode, resp.ExpiryTimestamp = int16(kerr.DelegationTokenRequestNotAllowed), -1
	return resp
}

func expireDelegationToken(_ Context, _ *kmsg.ExpireDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrExpireDelegationTokenResponse()
	resp.ErrorCode, resp.ExpiryTimestamp = int16(kerr.DelegationTokenRequestNotAllowed), -1
	return resp
}

func describeDelegationToken(_ Context, _ *kmsg.DescribeDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeDelegationTokenResponse()
	resp.ErrorCode = int16(kerr.DelegationTokenRequestNotAllowed)
	resp.TokenDetails = []kmsg.DescribeDelegationTokenResponseTokenDetail{}
	return resp
}
