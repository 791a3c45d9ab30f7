package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/edge/transport"
)

// through asks a controller as a user who logged in to a broker.
func through[R kmsg.Response](g guarded, user string, byToken bool, req kmsg.Request) R {
	g.t.Helper()
	req.SetVersion(req.MaxVersion())
	from := transport.Caller{Forwarded: true, ConnInfo: &transport.ConnInfo{Principal: "User:" + user, ClientHost: "::1", TokenAuthenticated: byToken}}
	var got kmsg.Response
	g.table.Call(g.t.Context(), from, req, func(resp kmsg.Response, _ error) { got = resp })
	g.commit()
	return readBack(g.t, got.(R))
}

func TestTokensAreMadeMovedAndRemoved(t *testing.T) {
	g := newGuarded(t)
	create := kmsg.NewPtrCreateDelegationTokenRequest()
	create.Renewers = []kmsg.CreateDelegationTokenRequestRenewer{{PrincipalType: "User", PrincipalName: "r"}}
	token := through[*kmsg.CreateDelegationTokenResponse](g, "a", false, create)
	wantCode(t, "create", token.ErrorCode, kerr.None)
	if token.PrincipalName != "a" || token.TokenRequesterPrincipalName != "a" || token.ExpiryTimestamp <= token.IssueTimestamp || len(token.HMAC) != 64 {
		t.Errorf("created %+v", token)
	}
	renew := kmsg.NewPtrRenewDelegationTokenRequest()
	renew.HMAC, renew.RenewTimeMillis = token.HMAC, 1
	renewed := through[*kmsg.RenewDelegationTokenResponse](g, "r", false, renew)
	wantCode(t, "renew", renewed.ErrorCode, kerr.None)
	if renewed.ExpiryTimestamp < token.IssueTimestamp || renewed.ExpiryTimestamp >= token.ExpiryTimestamp {
		t.Errorf("renewed until %d", renewed.ExpiryTimestamp)
	}
	expire := kmsg.NewPtrExpireDelegationTokenRequest()
	expire.HMAC, expire.ExpiryPeriodMillis = token.HMAC, -1
	wantCode(t, "expire", through[*kmsg.ExpireDelegationTokenResponse](g, "x", false, expire).ErrorCode, kerr.DelegationTokenOwnerMismatch)
	wantCode(t, "expire", through[*kmsg.ExpireDelegationTokenResponse](g, "a", false, expire).ErrorCode, kerr.None)
	wantCode(t, "again", through[*kmsg.ExpireDelegationTokenResponse](g, "a", false, expire).ErrorCode, kerr.DelegationTokenNotFound)
	if n := g.Image().Tokens().Len(); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
}

// "Not allowed over PLAINTEXT or by a token-authenticated caller: 64"; a token for
// somebody else is given to who may: 65.
func TestWhoMayAskForATokenIsJudged(t *testing.T) {
	g := newGuarded(t)
	plain := g.as("a", kmsg.NewPtrCreateDelegationTokenRequest(), 3).(*kmsg.CreateDelegationTokenResponse)
	wantCode(t, "straight to the controller", plain.ErrorCode, kerr.DelegationTokenRequestNotAllowed)
	byToken := through[*kmsg.CreateDelegationTokenResponse](g, "a", true, kmsg.NewPtrCreateDelegationTokenRequest())
	wantCode(t, "with a token", byToken.ErrorCode, kerr.DelegationTokenRequestNotAllowed)
	wantCode(t, "renew", through[*kmsg.RenewDelegationTokenResponse](g, "a", true, kmsg.NewPtrRenewDelegationTokenRequest()).ErrorCode, kerr.DelegationTokenRequestNotAllowed)
	other := kmsg.NewPtrCreateDelegationTokenRequest()
	other.OwnerPrincipalType, other.OwnerPrincipalName = ptr("User"), ptr("b")
	wantCode(t, "for another", through[*kmsg.CreateDelegationTokenResponse](g, "a", false, other).ErrorCode, kerr.DelegationTokenAuthorizationFailed)
	g.allow("a", auth.CreateTokens, auth.User, "User:b")
	token := through[*kmsg.CreateDelegationTokenResponse](g, "a", false, other)
	wantCode(t, "for another, allowed", token.ErrorCode, kerr.None)
	if token.PrincipalName != "b" || token.TokenRequesterPrincipalName != "a" {
		t.Errorf("created %+v", token)
	}
}
