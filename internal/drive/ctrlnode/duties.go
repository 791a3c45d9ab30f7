package ctrlnode

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// againSoon is the wait after a duty that says there is more of the same.
const againSoon = 10 * time.Millisecond

// duty is something that the active controller does unasked. do says when to do
// it again.
type duty struct {
	next time.Time
	do   func() time.Duration
}

// duties run on one goroutine from the claim to the end of leadership.
type duties struct {
	node *Node
	list []*duty
	quit chan struct{}
	done chan struct{}

	// written is where the log ended when the NoOp duty looked last.
	written kafka.Offset
}

// startDuties begins with those that are switched on.
func startDuties(n *Node) *duties {
	d := &duties{node: n, quit: make(chan struct{}), done: make(chan struct{}), written: n.cfg.Quorum.LogEnd()}
	d.every(n.sessionCheck(), d.expire)
	d.every(n.cfg.IdleInterval, d.noOp)
	d.every(n.cfg.BalanceInterval, d.balance)
	d.every(n.cfg.UncleanInterval, d.electUnclean)
	d.every(n.cfg.TokenCheck, d.expireTokens)
	go d.run()
	return d
}

// every adds a duty; with an interval of 0 it is switched off.
func (d *duties) every(interval time.Duration, do func() time.Duration) {
	if interval > 0 {
		d.list = append(d.list, &duty{next: time.Now().Add(interval), do: do})
	}
}

func (d *duties) stop() {
	close(d.quit)
	<-d.done
}

func (d *duties) run() {
	defer close(d.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := d.earliest()
		timer.Reset(time.Until(next.next))
		select {
		case <-d.quit:
			return
		case <-timer.C:
			next.next = time.Now().Add(next.do())
		}
	}
}

func (d *duties) earliest() *duty {
	first := d.list[0]
	for _, other := range d.list[1:] {
		if other.next.Before(first.next) {
			first = other
		}
	}
	return first
}

// sessionCheck is an eighth of the session timeout, as in Apache Kafka.
func (n *Node) sessionCheck() time.Duration {
	return max(n.cfg.Settings.SessionTimeout/8, time.Millisecond)
}

// expire fences a broker whose session ended.
func (d *duties) expire() time.Duration {
	again := d.node.sessionCheck()
	submit(d.node, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Expired] {
		decided := controller.Expire(img, soft, now)
		if decided.Reply.More {
			again = againSoon
		}
		return decided
	}, func(found controller.Expired, err error) {
		if err == nil && found.Broker != kafka.NoNode {
			d.node.cfg.Log.Warn("broker is fenced: no heartbeat in time",
				"broker", found.Broker, "timeout", d.node.cfg.Settings.SessionTimeout)
		}
	})
	return again
}

// noOp shows followers that the quorum is alive when nothing else was written.
func (d *duties) noOp() time.Duration {
	if d.node.cfg.Quorum.LogEnd() == d.written {
		submit(d.node, func(kafka.Instant, *image.Image, *controller.Soft) controller.Decision[struct{}] {
			return controller.Decision[struct{}]{Records: []controller.Versioned{{Message: metarec.NewNoOpRecord()}}}
		}, func(struct{}, error) {})
	}
	d.written = d.node.cfg.Quorum.LogEnd()
	return d.node.cfg.IdleInterval
}

// balance gives leaderships back to preferred replicas.
func (d *duties) balance() time.Duration {
	return d.elect(d.node.cfg.BalanceInterval, controller.Balance)
}

// electUnclean gives leaderless partitions a leader whose topic allows it.
func (d *duties) electUnclean() time.Duration {
	return d.elect(d.node.cfg.UncleanInterval, controller.ElectUnclean)
}

// expireTokens removes delegation tokens whose time is over.
func (d *duties) expireTokens() time.Duration {
	again, now := d.node.cfg.TokenCheck, time.Now().UnixMilli()
	submit(d.node, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[bool] {
		decided := controller.ExpireTokens(img, now)
		if decided.Reply {
			again = againSoon
		}
		return decided
	}, func(bool, error) {})
	return again
}

func (d *duties) elect(interval time.Duration, decide func(*image.Image, *controller.Soft) controller.Decision[controller.Balanced]) time.Duration {
	again := interval
	submit(d.node, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Balanced] {
		decided := decide(img, soft)
		if decided.Reply.More {
			again = againSoon
		}
		return decided
	}, func(controller.Balanced, error) {})
	return again
}
