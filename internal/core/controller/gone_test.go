package controller

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// B9: a broker that serves is fenced by proof that its process is gone; its
// leaderships move, and it may register again at once.
func TestABrokerWhoseProcessIsGoneIsFenced(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2, 3)
	c.topic("a", "1,2,3")
	c.now = c.now.Add(time.Second)
	epoch := c.broker(1).Epoch
	if !do(c, Suspect(c.img, c.soft, c.now, 1, epoch)) {
		t.Error("a broker that serves is not suspected")
	}
	if !do(c, FenceGone(c.img, c.soft, c.now, 1, epoch)) || !c.broker(1).Fenced {
		t.Error("not fenced")
	}
	if p := c.partition("a", 0); p.Leader == 1 || p.InSync(1) {
		t.Errorf("led by %d, in sync %v", p.Leader, p.ISR)
	}
	again := registration(1, 1)
	again.Incarnation = uid(77)
	refused(t, RegisterBroker(c.img, c.soft, c.now, again).Err, kerr.None)
}

// Without a doubt: no heartbeat has come since, the epoch is the same, the broker
// is neither starting nor on its way out.
func TestProofOfABrokersEndIsLookedAtAgain(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.fenced(3)
	f := func(what string, id kafka.NodeID, epoch kafka.BrokerEpoch) {
		t.Helper()
		if do(c, FenceGone(c.img, c.soft, c.now, id, epoch)) {
			t.Errorf("fenced: %s", what)
		}
	}
	epoch := c.broker(1).Epoch
	f("nobody suspected it", 1, epoch)
	if do(c, Suspect(c.img, c.soft, c.now, 1, epoch-1)) || do(c, Suspect(c.img, c.soft, c.now, 3, c.broker(3).Epoch)) || do(c, Suspect(c.img, c.soft, c.now, 9, 1)) {
		t.Error("suspected: another epoch, a broker that starts, or one that is not there")
	}
	do(c, Suspect(c.img, c.soft, c.now, 1, epoch))
	f("another epoch", 1, epoch+1)
	do(c, Suspect(c.img, c.soft, c.now, 1, epoch))
	c.now = c.now.Add(time.Millisecond)
	c.beat(1)
	f("a heartbeat has come since", 1, epoch)
	if c.broker(1).Fenced || c.broker(2).Fenced {
		t.Error("fenced")
	}
}

// One broker a session timeout: two at once are more likely a fault of the
// controller's own network.
func TestTwoBrokersAtOnceAreNotFencedByProof(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2, 3)
	suspect := func(n int) { do(c, Suspect(c.img, c.soft, c.now, kafka.NodeID(n), c.broker(n).Epoch)) }
	fenced := func(n int) bool {
		return do(c, FenceGone(c.img, c.soft, c.now, kafka.NodeID(n), c.broker(n).Epoch))
	}
	suspect(1)
	suspect(2)
	if fenced(1) || fenced(2) {
		t.Error("fenced while both are suspected")
	}
	suspect(3)
	do(c, Trust(c.img, c.soft, 3))
	c.now = c.now.Add(time.Millisecond)
	c.beat(2)
	if !fenced(1) {
		t.Error("the other one is alive, and 1 is not fenced")
	}
	suspect(3)
	if fenced(3) {
		t.Error("a second one is fenced within a session timeout")
	}
	for range 10 {
		c.now = c.now.Add(c.soft.SessionTimeout / 10)
		c.beat(2)
		c.beat(3)
	}
	suspect(3)
	if !fenced(3) {
		t.Error("not fenced after a session timeout")
	}
}
