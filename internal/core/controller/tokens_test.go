package controller

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

// withTokens is a cluster that has delegation tokens.
func withTokens(t *testing.T) *cluster {
	c := newCluster(t)
	c.soft.Tokens = TokenSettings{Secret: "sesame", MaxLifetime: 7 * 24 * time.Hour, ExpiryTime: 24 * time.Hour}
	return c
}

const (
	hourMs = int64(time.Hour / time.Millisecond)
	dayMs  = 24 * hourMs
)

func TestATokenIsGoodForItsTime(t *testing.T) {
	c := withTokens(t)
	f := func(lifetime, maxTimestamp, expiry int64) {
		t.Helper()
		got := do(c, CreateToken(c.img, c.soft, TokenToCreate{
			Owner: "User:a", Requester: "User:b", Renewers: []string{"User:r"}, MaxLifetimeMs: lifetime, NowMs: 1000,
		}))
		if got.IssuedMs != 1000 || got.MaxTimestampMs != 1000+maxTimestamp || got.ExpiryMs != 1000+expiry {
			t.Errorf("lifetime %d: %+v", lifetime, got)
		}
		stored, ok := c.img.Tokens().Get(got.ID)
		if !ok || stored.Owner != "User:a" || stored.Requester != "User:b" || len(stored.Renewers) != 1 {
			t.Errorf("stored %+v", stored)
		}
		if !auth.SameHMAC(got.HMAC, auth.TokenHMAC("sesame", got.ID)) || len(got.HMAC) != 64 {
			t.Errorf("HMAC %x", got.HMAC)
		}
	}
	f(-1, 7*dayMs, dayMs)
	f(0, 7*dayMs, dayMs)
	f(30*dayMs, 7*dayMs, dayMs)
	f(2*dayMs, 2*dayMs, dayMs)
	f(hourMs, hourMs, hourMs)
	d := CreateToken(c.img, c.soft, TokenToCreate{Owner: "User:a", Renewers: []string{"Group:g"}})
	refused(t, d.Err, kerr.InvalidPrincipalType, "Group:g")
}

// A token of Apache Kafka 4.4.
func TestTheHMACIsKafkas(t *testing.T) {
	got := base64.StdEncoding.EncodeToString(auth.TokenHMAC("sesame", "LwsOJbZwQaKMjZFOH1hhZw"))
	if want := "eAzSrRCocjwkbVa8XsaoyE66jU8KhKhx26FTjHET0Whl3dwgzFj5alETbPtzQVAA/xrASLIBWs7NYIherDdlEA=="; got != want {
		t.Errorf("HMAC %s", got)
	}
}

// "Enabled iff delegation.token.secret.key is set, else 61. MV < 14: UNSUPPORTED_VERSION."
func TestTokensNeedASecretAndALevel(t *testing.T) {
	c := withTokens(t)
	f := func(code kerr.Code) {
		t.Helper()
		refused(t, CreateToken(c.img, c.soft, TokenToCreate{Owner: "User:a"}).Err, code)
		refused(t, RenewToken(c.img, c.soft, TokenToMove{}).Err, code)
		refused(t, ExpireToken(c.img, c.soft, TokenToMove{}).Err, code)
	}
	c.add(&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 13})
	f(kerr.UnsupportedVersion)
	c.soft.Tokens.Secret = ""
	f(kerr.DelegationTokenAuthDisabled)
}

func TestATokenIsMovedByItsOwnerAndRenewers(t *testing.T) {
	c := withTokens(t)
	token := do(c, CreateToken(c.img, c.soft, TokenToCreate{Owner: "User:a", Requester: "User:a", Renewers: []string{"User:r"}, NowMs: 0}))
	f := func(decide func(*image.Image, *Soft, TokenToMove) Decision[int64], by string, period, now int64, code kerr.Code, want int64) {
		t.Helper()
		d := decide(c.img, c.soft, TokenToMove{HMAC: token.HMAC, By: by, PeriodMs: period, NowMs: now})
		refused(t, d.Err, code)
		if code != kerr.None {
			return
		}
		if got := do(c, d); got != want {
			t.Errorf("expires at %d, want %d", got, want)
		}
		if stored, ok := c.img.Tokens().Get(token.ID); ok && stored.ExpiryMs != want {
			t.Errorf("stored with %d", stored.ExpiryMs)
		}
	}
	f(RenewToken, "User:a", -1, hourMs, kerr.None, dayMs+hourMs)
	f(RenewToken, "User:a", 0, hourMs, kerr.None, dayMs+hourMs)
	f(RenewToken, "User:r", 2*dayMs, hourMs, kerr.None, 2*dayMs+hourMs)
	f(RenewToken, "User:r", 30*dayMs, hourMs, kerr.None, 7*dayMs)
	f(RenewToken, "User:x", -1, hourMs, kerr.DelegationTokenOwnerMismatch, 0)
	f(ExpireToken, "User:x", -1, hourMs, kerr.DelegationTokenOwnerMismatch, 0)
	f(ExpireToken, "User:r", dayMs, hourMs, kerr.None, dayMs+hourMs)
	f(RenewToken, "User:a", -1, 2*dayMs, kerr.DelegationTokenExpired, 0)
	f(ExpireToken, "User:a", dayMs, 2*dayMs, kerr.DelegationTokenExpired, 0)
	f(ExpireToken, "User:a", -1, hourMs, kerr.None, hourMs)
	if c.img.Tokens().Len() != 0 {
		t.Error("a token that was expired at once is there")
	}
	f(RenewToken, "User:a", -1, hourMs, kerr.DelegationTokenNotFound, 0)
}

// "delegation.token.expiry.check.interval.ms: up to 1,000 removals."
func TestExpiredTokensAreRemovedInPieces(t *testing.T) {
	c := withTokens(t)
	for i := range maxExpired + 2 {
		c.add(&metarec.DelegationTokenRecord{TokenId: fmt.Sprint(i), ExpirationTimestamp: 10, MaxTimestamp: 20})
	}
	c.add(&metarec.DelegationTokenRecord{TokenId: "good", ExpirationTimestamp: 15, MaxTimestamp: 20})
	if more := do(c, ExpireTokens(c.img, 10)); more || c.img.Tokens().Len() != maxExpired+3 {
		t.Errorf("%d are left at their last moment", c.img.Tokens().Len())
	}
	if more := do(c, ExpireTokens(c.img, 11)); !more || c.img.Tokens().Len() != 3 {
		t.Errorf("%d are left, more %v", c.img.Tokens().Len(), more)
	}
	if more := do(c, ExpireTokens(c.img, 11)); more || c.img.Tokens().Len() != 1 {
		t.Errorf("%d are left, more %v", c.img.Tokens().Len(), more)
	}
}
