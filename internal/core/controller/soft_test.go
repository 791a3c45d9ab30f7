package controller

import (
	"maps"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// "When they do not get there it must not be called, for nothing has happened":
// a decision that is not taken over leaves no trace, and is made again.
func TestADecisionThatIsNotTakenOverLeavesNoTrace(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1,2")
	f := func(what string, decide func() error) {
		t.Helper()
		before := maps.Clone(c.soft.Live.beats)
		if err := decide(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !maps.Equal(before, c.soft.Live.beats) {
			t.Errorf("%s: %+v became %+v", what, before, c.soft.Live.beats)
		}
	}
	beat := Beat{Broker: 1, Epoch: c.broker(1).Epoch, MetadataOffset: 1 << 40}
	leaving := beat
	leaving.WantShutDown = true
	again := registration(2, 1)
	again.Incarnation, again.SameProcess = uid(99), true
	now := c.now + kafka.Instant(time.Hour)

	f("heartbeat", func() error { return Heartbeat(c.img, c.soft, now, beat).Err })
	f("wish to leave", func() error { return Heartbeat(c.img, c.soft, now, leaving).Err })
	f("registration", func() error { return RegisterBroker(c.img, c.soft, now, again).Err })
	f("removal", func() error { return UnregisterBroker(c.img, c.soft, 1).Err })
	f("expiry", func() error { return Expire(c.img, c.soft, now).Err })
	f("activation", func() error { return Activate(c.img, c.soft, now, nil).Err })

	first := Expire(c.img, c.soft, now).Reply.Broker
	if again := do(c, Expire(c.img, c.soft, now)).Broker; again != first || first == kafka.NoNode {
		t.Errorf("broker %d is to be fenced, then %d", first, again)
	}
	if next := do(c, Expire(c.img, c.soft, now)).Broker; next == first || next == kafka.NoNode {
		t.Errorf("after broker %d, %d is to be fenced", first, next)
	}
}
