package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
)

// TokenSettings are the controller's settings of delegation tokens (KIP-48).
type TokenSettings struct {
	Secret      string        // delegation.token.secret.key; empty: there are no tokens
	MaxLifetime time.Duration // delegation.token.max.lifetime.ms
	ExpiryTime  time.Duration // delegation.token.expiry.time.ms
}

// maxExpired is how many tokens are removed at once.
const maxExpired = 1000

// TokenToCreate asks for a token. Principals are "Type:name".
type TokenToCreate struct {
	Owner, Requester string
	Renewers         []string
	// MaxLifetimeMs is how long it may be renewed; 0 or less: as long as there is.
	MaxLifetimeMs int64
	// NowMs is the time of day, in milliseconds since 1970.
	NowMs int64
}

// CreatedToken is a token and what proves it.
type CreatedToken struct {
	image.Token
	HMAC []byte
}

// CreateToken makes a delegation token.
func CreateToken(img *image.Image, soft *Soft, want TokenToCreate) Decision[CreatedToken] {
	if err := checkTokens(img, soft); err != nil {
		return refuse[CreatedToken](err)
	}
	for _, r := range want.Renewers {
		if kind, _, _ := strings.Cut(r, ":"); kind != "User" {
			return refusef[CreatedToken](kerr.InvalidPrincipalType, "a renewer must be a user, not %s", r)
		}
	}
	lifetime := soft.Tokens.MaxLifetime.Milliseconds()
	if want.MaxLifetimeMs > 0 {
		lifetime = min(lifetime, want.MaxLifetimeMs)
	}
	token := image.Token{
		ID: soft.newID().String(), Owner: want.Owner, Requester: want.Requester, Renewers: want.Renewers,
		IssuedMs: want.NowMs, MaxTimestampMs: want.NowMs + lifetime,
	}
	token.ExpiryMs = min(token.MaxTimestampMs, want.NowMs+soft.Tokens.ExpiryTime.Milliseconds())
	d := draftOn(img)
	d.add(tokenRecord(&token))
	return atomically(d, CreatedToken{token, auth.TokenHMAC(soft.Tokens.Secret, token.ID)})
}

func tokenRecord(t *image.Token) *metarec.DelegationTokenRecord {
	return &metarec.DelegationTokenRecord{
		Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers, TokenId: t.ID,
		IssueTimestamp: t.IssuedMs, MaxTimestamp: t.MaxTimestampMs, ExpirationTimestamp: t.ExpiryMs,
	}
}

// checkTokens tells why this cluster has no tokens.
func checkTokens(img *image.Image, soft *Soft) error {
	switch {
	case soft.Tokens.Secret == "":
		return kerr.Errorf(kerr.DelegationTokenAuthDisabled, "delegation tokens are off: delegation.token.secret.key is not set")
	case img.Level() < image.LevelDelegationTokens:
		return kerr.Errorf(kerr.UnsupportedVersion, "delegation tokens need %s %v or newer, the cluster has %v",
			image.MetadataVersion, image.LevelDelegationTokens, img.Level())
	}
	return nil
}

// TokenToMove asks for a token to end at another time.
type TokenToMove struct {
	HMAC     []byte
	By       string // a principal
	PeriodMs int64  // from now on
	NowMs    int64
}

// RenewToken lets a token be good for longer, at most to its end. It gives the time at
// which it expires. 0 or less asks for the usual time.
func RenewToken(img *image.Image, soft *Soft, want TokenToMove) Decision[int64] {
	t, err := tokenFor(img, soft, want)
	if err != nil {
		return refuse[int64](err)
	}
	period := want.PeriodMs
	if period <= 0 {
		period = soft.Tokens.ExpiryTime.Milliseconds()
	}
	return moveToken(img, t, want.NowMs+min(period, t.MaxTimestampMs-want.NowMs))
}

// ExpireToken lets a token end sooner or later, at most at its end; with a negative
// period at once: it is removed.
func ExpireToken(img *image.Image, soft *Soft, want TokenToMove) Decision[int64] {
	t, err := tokenFor(img, soft, want)
	switch {
	case err != nil && want.PeriodMs < 0 && kerr.Of(err) == kerr.DelegationTokenExpired, err == nil && want.PeriodMs < 0:
		d := draftOn(img)
		d.add(&metarec.RemoveDelegationTokenRecord{TokenId: t.ID})
		return atomically(d, want.NowMs)
	case err != nil:
		return refuse[int64](err)
	}
	return moveToken(img, t, want.NowMs+min(want.PeriodMs, t.MaxTimestampMs-want.NowMs))
}

func moveToken(img *image.Image, t *image.Token, expiryMs int64) Decision[int64] {
	moved := *t
	moved.ExpiryMs = expiryMs
	d := draftOn(img)
	d.add(tokenRecord(&moved))
	return atomically(d, expiryMs)
}

// tokenFor finds the token that somebody wants to move, and tells whether it may. A
// token that is expired comes with the error that says so.
func tokenFor(img *image.Image, soft *Soft, want TokenToMove) (*image.Token, error) {
	if err := checkTokens(img, soft); err != nil {
		return nil, err
	}
	for _, t := range img.Tokens().All() {
		if !auth.SameHMAC(auth.TokenHMAC(soft.Tokens.Secret, t.ID), want.HMAC) {
			continue
		}
		switch {
		case t.Owner != want.By && t.Requester != want.By && !slices.Contains(t.Renewers, want.By):
			return nil, kerr.Errorf(kerr.DelegationTokenOwnerMismatch, "%s is neither the owner of the token nor may it renew it", want.By)
		case t.MaxTimestampMs < want.NowMs || t.ExpiryMs < want.NowMs:
			return t, kerr.Errorf(kerr.DelegationTokenExpired, "the token is expired")
		}
		return t, nil
	}
	return nil, kerr.Errorf(kerr.DelegationTokenNotFound, "no token has this HMAC")
}

// ExpireTokens removes tokens whose time is over, as many as go at once, and tells
// whether there are more.
func ExpireTokens(img *image.Image, nowMs int64) Decision[bool] {
	d := draftOn(img)
	for id, t := range img.Tokens().All() {
		if t.MaxTimestampMs >= nowMs && t.ExpiryMs >= nowMs {
			continue
		}
		if len(d.records) == maxExpired {
			return piecewise(d, true)
		}
		d.add(&metarec.RemoveDelegationTokenRecord{TokenId: id})
	}
	return piecewise(d, false)
}
