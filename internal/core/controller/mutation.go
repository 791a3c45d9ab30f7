package controller

import (
	"math"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Mutator is who asks for partitions to be made or deleted.
type Mutator struct {
	Principal, ClientID string
	// Strict: what comes when the quota is used up is refused, as clients expect it
	// from CreateTopics 6, DeleteTopics 5 and CreatePartitions 3 on. Older ones get
	// what they ask for, and are told to wait before they ask again.
	Strict bool
}

// Budget is what a mutator may still spend: a bucket that tokens drip into, of which
// each partition takes one (KIP-599). It is for one request. Nil: without a bound.
type Budget struct {
	target   quotaTarget
	rate     float64 // tokens a second
	tokens   float64 // may be negative: a request may take more than there are
	at       kafka.Instant
	strict   bool
	throttle time.Duration
}

// quotaTarget is whom a quota counts together: empty parts do not matter to it.
type quotaTarget struct {
	user, client       string
	byUser, byClientID bool
}

// bucket is what the last request of a target has left.
type bucket struct {
	tokens float64
	at     kafka.Instant
}

// BudgetOf is the budget of somebody's request.
func BudgetOf(img *image.Image, soft *Soft, now kafka.Instant, who Mutator) *Budget {
	if img.Quotas().Len() == 0 {
		return nil
	}
	target, rate, found := mutationQuota(img, principalName(who.Principal), who.ClientID)
	if !found {
		return nil
	}
	b := &Budget{target: target, rate: rate, at: now, strict: who.Strict, tokens: rate * soft.MutationWindow.Seconds()}
	if left, ok := soft.spent[target]; ok {
		b.tokens = min(b.tokens, left.tokens+rate*now.Sub(left.at).Seconds())
	}
	return b
}

// Throttle is how long the mutator should wait before it asks again; 0: it need not.
func (b *Budget) Throttle() time.Duration {
	if b == nil {
		return 0
	}
	return b.throttle
}

// take pays for partitions, or tells that there is nothing left.
func (b *Budget) take(partitions int) error {
	if b == nil {
		return nil
	}
	if b.strict && b.tokens < 0 {
		b.wait()
		return kerr.Errorf(kerr.ThrottlingQuotaExceeded, "the quota for creating and deleting partitions is used up; wait %v", b.throttle)
	}
	b.tokens -= float64(partitions)
	if !b.strict && b.tokens < 0 {
		b.wait()
	}
	return nil
}

// wait sets the throttle to the time in which the tokens come back to 0.
func (b *Budget) wait() {
	ms := math.Round(-b.tokens / b.rate * 1000)
	b.throttle = time.Duration(min(ms, math.MaxInt32)) * time.Millisecond
}

// spend gives a decision the budget's change of the soft state.
func spend[T any](d Decision[T], soft *Soft, b *Budget) Decision[T] {
	if b == nil {
		return d
	}
	return d.then(func() { soft.keep(b) })
}

// maxBuckets is how many targets are remembered before those whose bucket is full
// again are forgotten: a client may call itself something else each time.
const maxBuckets = 10_000

// keep remembers what a budget has left.
func (s *Soft) keep(b *Budget) {
	if len(s.spent) >= maxBuckets {
		for target, left := range s.spent { // any order: each is judged by itself
			if left.tokens+b.rate*b.at.Sub(left.at).Seconds() >= b.rate*s.MutationWindow.Seconds() {
				delete(s.spent, target)
			}
		}
	}
	s.spent[b.target] = bucket{b.tokens, b.at}
}

// quotaPart is how a quota names one side of its entity.
type quotaPart int8

const (
	nobody   quotaPart = iota // not at all
	exactly                   // by name
	anybody                   // whoever has none of its own
	quotaTop = 8
)

// quotaOrder is which quota counts of those that fit: the first one.
var quotaOrder = [quotaTop][2]quotaPart{
	{exactly, exactly}, {exactly, anybody}, {exactly, nobody},
	{anybody, exactly}, {anybody, anybody}, {anybody, nobody},
	{nobody, exactly}, {nobody, anybody},
}

// mutationQuota finds the rate that counts for a user and a client.
func mutationQuota(img *image.Image, user, client string) (quotaTarget, float64, bool) {
	for _, parts := range quotaOrder {
		var entity image.Entity
		entity = appendPart(entity, quotaClient, parts[1], &client)
		entity = appendPart(entity, quotaUser, parts[0], &user)
		limits, ok := img.Quotas().Get(entity)
		if !ok {
			continue
		}
		if rate, ok := limits.Get(mutationRateKey); ok {
			target := quotaTarget{byUser: parts[0] != nobody, byClientID: parts[1] != nobody}
			if target.byUser {
				target.user = user
			}
			if target.byClientID {
				target.client = client
			}
			return target, rate, true
		}
	}
	return quotaTarget{}, 0, false
}

func appendPart(entity image.Entity, kind string, how quotaPart, name *string) image.Entity {
	switch how {
	case exactly:
		return append(entity, image.EntityPart{Type: kind, Name: name})
	case anybody:
		return append(entity, image.EntityPart{Type: kind})
	}
	return entity
}
