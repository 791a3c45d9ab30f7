package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// Expired is what a look at the brokers' sessions found.
type Expired struct {
	// Broker was fenced; kafka.NoNode: none.
	Broker kafka.NodeID
	// More: look again soon, there may be others.
	More bool
}

// Expire fences a broker that has not been heard of for the session timeout,
// at most one at a time so that other requests get their turn.
func Expire(img *image.Image, soft *Soft, now kafka.Instant) Decision[Expired] {
	d := draftOn(img)
	id, found := soft.Live.expired(now, soft.SessionTimeout)
	if !found {
		return piecewise(d, Expired{Broker: kafka.NoNode})
	}
	forget := func() { soft.Live.forget(id) }
	b, ok := img.Broker(id)
	if !ok || b.Epoch != soft.Live.beats[id].epoch || b.Fenced {
		return piecewise(d, Expired{Broker: kafka.NoNode, More: true}).then(forget)
	}
	d.fence(soft, b)
	return piecewise(d, Expired{Broker: id, More: true}).then(forget)
}
