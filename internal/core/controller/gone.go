package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// suspicions are the brokers whose process may be gone (B9): the connection that
// carried their heartbeats was reset.
type suspicions struct {
	since map[kafka.NodeID]kafka.Instant
	// fenced is when the last broker was fenced by proof; ever: there was one.
	fenced kafka.Instant
	ever   bool
}

// Suspect notes that the connection which carried a broker's heartbeats was
// reset. It tells whether that is a reason to look whether the process is gone:
// the broker is neither starting nor on its way out.
func Suspect(img *image.Image, soft *Soft, now kafka.Instant, id kafka.NodeID, epoch kafka.BrokerEpoch) Decision[bool] {
	d := draftOn(img)
	if !soft.mayBeGone(img, id, epoch) {
		return piecewise(d, false)
	}
	return piecewise(d, true).then(func() { soft.suspects.since[id] = now })
}

// mayBeGone tells whether a broker of an epoch serves, as far as is known.
func (s *Soft) mayBeGone(img *image.Image, id kafka.NodeID, epoch kafka.BrokerEpoch) bool {
	b, ok := img.Broker(id)
	known, heard := s.Live.beats[id]
	return ok && b.Epoch == epoch && b.Active() && heard && known.epoch == epoch && known.shutdownAt < 0
}

// FenceGone fences a broker whose process is proven to be gone: all listeners
// that the controller had reached have refused it, after its connection was
// reset. It is fenced at once, not when its session ends, unless a heartbeat has
// come meanwhile. Proof that seems to hold for two brokers within a session
// timeout may say more about the controller's own network than about theirs:
// then both wait for their sessions, or only the second one if the first was
// fenced already.
func FenceGone(img *image.Image, soft *Soft, now kafka.Instant, id kafka.NodeID, epoch kafka.BrokerEpoch) Decision[bool] {
	d, s := draftOn(img), &soft.suspects
	since, suspected := s.since[id]
	calm := func() { delete(s.since, id) }
	switch {
	case !suspected || !soft.mayBeGone(img, id, epoch) || soft.Live.beats[id].contact > since:
		return piecewise(d, false).then(calm)
	case s.ever && now < s.fenced.Add(soft.SessionTimeout), soft.othersSuspected(id, now):
		return piecewise(d, false) // the suspicion stays, and holds up others
	}
	b, _ := img.Broker(id)
	d.fence(soft, b)
	return piecewise(d, true).then(func() {
		calm()
		s.fenced, s.ever = now, true
		soft.Live.forget(id)
	})
}

// Trust takes a suspicion back: the broker's process is there, or nothing can be
// proven, and it must not hold up proof about another.
func Trust(img *image.Image, soft *Soft, id kafka.NodeID) Decision[struct{}] {
	return piecewise(draftOn(img), struct{}{}).then(func() { delete(soft.suspects.since, id) })
}

// othersSuspected tells whether another broker has been silent since its
// connection was reset, within the last session timeout.
func (s *Soft) othersSuspected(id kafka.NodeID, now kafka.Instant) bool {
	for other, since := range s.suspects.since { // any order: one is enough
		known, ok := s.Live.beats[other]
		if other != id && ok && known.contact <= since && now < since.Add(s.SessionTimeout) {
			return true
		}
	}
	return false
}
