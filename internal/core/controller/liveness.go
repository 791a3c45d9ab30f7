package controller

import (
	"maps"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// Liveness remembers the heartbeats of brokers.
type Liveness struct {
	beats map[kafka.NodeID]beat
}

// beat is what is known of one incarnation of a broker.
type beat struct {
	epoch   kafka.BrokerEpoch
	contact kafka.Instant // of the last heartbeat
	// offset is how far the broker has read the metadata log; -1 before its
	// first heartbeat.
	offset kafka.Offset
	// shutdownAt is the offset that all active brokers must have read before
	// the broker may end its controlled shutdown; -1 while it has not asked.
	// It is set once (KAFKA-14292).
	shutdownAt kafka.Offset
	// heldSince is when the broker was first kept fenced for want of directory
	// assignments; kafka.Never while it is not.
	heldSince kafka.Instant
	// released: the broker asked to end and was last told that it may.
	released bool
}

// of is what is known of a broker's incarnation, or the beginning of it.
func (l *Liveness) of(b *image.Broker, now kafka.Instant) beat {
	if known, ok := l.beats[b.ID]; ok && known.epoch == b.Epoch {
		return known
	}
	return beat{epoch: b.Epoch, contact: now, offset: kafka.NoOffset, shutdownAt: kafka.NoOffset, heldSince: kafka.Never}
}

// note replaces what is known of a broker.
func (l *Liveness) note(id kafka.NodeID, known beat) { l.beats[id] = known }

// forget drops what is known of a broker.
func (l *Liveness) forget(id kafka.NodeID) { delete(l.beats, id) }

// reset begins anew: unfenced brokers count as heard of just now, fenced ones
// as never, so that they may register again at once (KAFKA-19130).
func (l *Liveness) reset(img *image.Image, now kafka.Instant) {
	clear(l.beats)
	for _, b := range img.Brokers().All() {
		if !b.Fenced {
			l.note(b.ID, l.of(b, now))
		}
	}
}

// inSession tells whether an incarnation of a broker was heard of recently.
func (l *Liveness) inSession(b *image.Broker, now kafka.Instant, timeout time.Duration) bool {
	known, ok := l.beats[b.ID]
	return ok && known.epoch == b.Epoch && now < known.contact.Add(timeout)
}

// released tells whether an incarnation of a broker was told last that it may end.
func (l *Liveness) released(b *image.Broker) bool {
	known, ok := l.beats[b.ID]
	return ok && known.epoch == b.Epoch && known.released
}

// expired finds the broker heard of longest ago among those past the timeout.
func (l *Liveness) expired(now kafka.Instant, timeout time.Duration) (kafka.NodeID, bool) {
	oldest, found := kafka.NoNode, false
	for _, id := range slices.Sorted(maps.Keys(l.beats)) {
		contact := l.beats[id].contact
		if now >= contact.Add(timeout) && (!found || contact < l.beats[oldest].contact) {
			oldest, found = id, true
		}
	}
	return oldest, found
}

// Deadline is when the next broker's session ends if nothing is heard of it;
// kafka.Never without any.
func (l *Liveness) Deadline(timeout time.Duration) kafka.Instant {
	next := kafka.Never
	for _, b := range l.beats { // any order: the least of all is asked for
		next = min(next, b.contact.Add(timeout))
	}
	return next
}

// SinceContact is how long ago a broker was heard of, and whether it was.
func (l *Liveness) SinceContact(id kafka.NodeID, now kafka.Instant) (time.Duration, bool) {
	known, ok := l.beats[id]
	if !ok {
		return 0, false
	}
	return now.Sub(known.contact), true
}

// lowestOffset is how far all active brokers have read the metadata log, and
// whether there is an active broker at all.
func (l *Liveness) lowestOffset(img *image.Image) (kafka.Offset, bool) {
	lowest, found := kafka.Offset(0), false
	for _, b := range img.Brokers().All() {
		known, ok := l.beats[b.ID]
		if !b.Active() || ok && known.shutdownAt >= 0 {
			continue
		}
		offset := kafka.NoOffset
		if ok {
			offset = known.offset
		}
		if !found || offset < lowest {
			lowest, found = offset, true
		}
	}
	return lowest, found
}
