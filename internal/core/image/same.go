package image

import (
	"bytes"
	"iter"
	"slices"

	"github.com/ottla/ottla/internal/base/pmap"
)

// Equal tells whether two images hold the same state, wherever they come from.
// Provenance, the offsets of registrations and open transactions do not count.
func (i *Image) Equal(o *Image) bool {
	d := Between(i, o)
	return d.Empty()
}

// diff reports the keys of a walk that other lacks or has another value for.
func diff[K, V any](walk iter.Seq2[K, V], other func(K) (V, bool), same func(a, b V) bool, report func(K)) {
	for k, v := range walk {
		if w, ok := other(k); !ok || !same(v, w) {
			report(k)
		}
	}
}

// both gathers the keys that two maps do not have in common.
func both[K comparable, V any](a, b pmap.Map[K, V], same func(a, b V) bool, into *list[K]) {
	if a.Same(b) {
		return
	}
	note := into.add
	diff(a.All(), b.Get, same, note)
	diff(b.All(), a.Get, func(V, V) bool { return true }, note)
}

func sameUnder[K, V any](a, b pmap.Map[K, V], same func(a, b V) bool) bool {
	if a.Same(b) {
		return true
	}
	equal := a.Len() == b.Len()
	diff(a.All(), b.Get, same, func(K) { equal = false })
	return equal
}

func sameMaps[K any, V comparable](a, b pmap.Map[K, V]) bool {
	return sameUnder(a, b, func(x, y V) bool { return x == y })
}

func sameValues[T comparable](a, b *T) bool { return a == b || *a == *b }

func sameText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func (t *Topic) same(o *Topic) bool {
	return t.ID == o.ID && t.Name == o.Name && sameUnder(t.Partitions, o.Partitions, (*Partition).Equal)
}

func (b *Broker) same(o *Broker) bool {
	return b.ID == o.ID && b.Epoch == o.Epoch && b.Incarnation == o.Incarnation &&
		slices.Equal(b.Endpoints, o.Endpoints) && slices.Equal(b.Features, o.Features) && sameText(b.Rack, o.Rack) &&
		b.Fenced == o.Fenced && b.ShuttingDown == o.ShuttingDown && slices.Equal(b.Dirs, o.Dirs) &&
		(b.Cordoned == nil) == (o.Cordoned == nil) && slices.Equal(b.Cordoned, o.Cordoned)
}

func (c *Controller) same(o *Controller) bool {
	return c.ID == o.ID && c.Incarnation == o.Incarnation &&
		slices.Equal(c.Endpoints, o.Endpoints) && slices.Equal(c.Features, o.Features)
}

func (s *Scram) same(o *Scram) bool {
	return bytes.Equal(s.Salt, o.Salt) && bytes.Equal(s.StoredKey, o.StoredKey) &&
		bytes.Equal(s.ServerKey, o.ServerKey) && s.Iterations == o.Iterations
}

func (t *Token) same(o *Token) bool {
	return t.ID == o.ID && t.Owner == o.Owner && t.Requester == o.Requester && slices.Equal(t.Renewers, o.Renewers) &&
		t.IssuedMs == o.IssuedMs && t.MaxTimestampMs == o.MaxTimestampMs && t.ExpiryMs == o.ExpiryMs
}
