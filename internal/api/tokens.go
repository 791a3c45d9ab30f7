package api

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// tokens are the requests about delegation tokens (KIP-48) as the active controller
// serves them. They come from brokers that somebody has logged in to.
type tokens struct {
	controller *ctrlnode.Node
	access     *Access
}

// tokenRoutes are the routes of a controller.
func tokenRoutes(c *ctrlnode.Node, access *Access) []Route {
	h := tokens{c, access}
	return []Route{
		later(1, 3, h.create).on(OnController).forwarded(),
		later(1, 2, h.renew).on(OnController).forwarded(),
		later(1, 2, h.expire).on(OnController).forwarded(),
		route(1, 3, describeDelegationToken).on(OnController),
	}
}

// loggedIn tells whether a request may be about tokens: it came by way of a broker, whose
// client did not log in with a token itself.
func loggedIn(c Context) bool { return c.Forwarded && !c.Conn.TokenAuthenticated }

func (h tokens) create(c Context, req *kmsg.CreateDelegationTokenRequest, reply func(kmsg.Response)) {
	requester := c.Conn.Principal
	owner := requester
	if req.OwnerPrincipalName != nil && *req.OwnerPrincipalName != "" && req.OwnerPrincipalType != nil {
		owner = *req.OwnerPrincipalType + ":" + *req.OwnerPrincipalName
	}
	answer := func(token controller.CreatedToken, err error) {
		resp := kmsg.NewPtrCreateDelegationTokenResponse()
		resp.ErrorCode = code(err)
		resp.PrincipalType, resp.PrincipalName, _ = strings.Cut(owner, ":")
		resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName, _ = strings.Cut(requester, ":")
		resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
		resp.HMAC = []byte{}
		if err == nil {
			resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = token.IssuedMs, token.ExpiryMs, token.MaxTimestampMs
			resp.TokenID, resp.HMAC = token.ID, token.HMAC
		}
		reply(resp)
	}
	switch {
	case !loggedIn(c):
		answer(controller.CreatedToken{}, kerr.DelegationTokenRequestNotAllowed)
		return
	case owner != requester && !h.access.allows(c.Request, auth.CreateTokens, auth.Resource{Kind: auth.User, Name: owner}):
		answer(controller.CreatedToken{}, kerr.DelegationTokenAuthorizationFailed)
		return
	}
	want := controller.TokenToCreate{Owner: owner, Requester: requester, MaxLifetimeMs: req.MaxLifetimeMillis, NowMs: time.Now().UnixMilli()}
	for _, r := range req.Renewers {
		want.Renewers = append(want.Renewers, r.PrincipalType+":"+r.PrincipalName)
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.CreatedToken] {
		return controller.CreateToken(img, soft, want)
	}, answer)
}

func (h tokens) renew(c Context, req *kmsg.RenewDelegationTokenRequest, reply func(kmsg.Response)) {
	h.move(c, req.HMAC, req.RenewTimeMillis, controller.RenewToken, func(expiry int64, err error) {
		resp := kmsg.NewPtrRenewDelegationTokenResponse()
		resp.ErrorCode, resp.ExpiryTimestamp = code(err), expiry
		reply(resp)
	})
}

func (h tokens) expire(c Context, req *kmsg.ExpireDelegationTokenRequest, reply func(kmsg.Response)) {
	h.move(c, req.HMAC, req.ExpiryPeriodMillis, controller.ExpireToken, func(expiry int64, err error) {
		resp := kmsg.NewPtrExpireDelegationTokenResponse()
		resp.ErrorCode, resp.ExpiryTimestamp = code(err), expiry
		reply(resp)
	})
}

// moving is what renews or expires a token.
type moving func(*image.Image, *controller.Soft, controller.TokenToMove) controller.Decision[int64]

func (h tokens) move(c Context, hmac []byte, periodMs int64, decide moving, answer func(expiryMs int64, err error)) {
	if !loggedIn(c) {
		answer(0, kerr.DelegationTokenRequestNotAllowed)
		return
	}
	want := controller.TokenToMove{HMAC: hmac, By: c.Conn.Principal, PeriodMs: periodMs, NowMs: time.Now().UnixMilli()}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[int64] {
		return decide(img, soft, want)
	}, func(expiry int64, err error) {
		if err != nil {
			expiry = 0
		}
		answer(expiry, err)
	})
}
