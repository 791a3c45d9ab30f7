package ctrlnode

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// againSoon is the wait after a fenced broker, when others may have expired too.
const againSoon = 10 * time.Millisecond

// duties are what the active controller does unasked. They run on one goroutine
// from the claim to the end of leadership.
type duties struct {
	node *Node
	quit chan struct{}
	done chan struct{}
}

func startDuties(n *Node) *duties {
	d := &duties{node: n, quit: make(chan struct{}), done: make(chan struct{})}
	go d.run()
	return d
}

func (d *duties) stop() {
	close(d.quit)
	<-d.done
}

func (d *duties) run() {
	defer close(d.done)
	sessions := time.NewTimer(d.sessionCheck())
	defer sessions.Stop()
	var idle <-chan time.Time
	if every := d.node.cfg.IdleInterval; every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		idle = ticker.C
	}
	written := d.node.cfg.Quorum.LogEnd()
	for {
		select {
		case <-d.quit:
			return
		case <-sessions.C:
			sessions.Reset(d.expire())
		case <-idle:
			if end := d.node.cfg.Quorum.LogEnd(); end > written {
				written = end
				continue
			}
			d.noOp()
			written = d.node.cfg.Quorum.LogEnd()
		}
	}
}

// sessionCheck is an eighth of the session timeout, as in Apache Kafka.
func (d *duties) sessionCheck() time.Duration {
	return max(d.node.cfg.Settings.SessionTimeout/8, time.Millisecond)
}

// expire fences a broker whose session ended and says when to look again.
func (d *duties) expire() time.Duration {
	again := d.sessionCheck()
	Submit(d.node, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Expired] {
		decided := controller.Expire(img, soft, now)
		if decided.Reply.More {
			again = againSoon
		}
		if b := decided.Reply.Broker; b != kafka.NoNode {
			d.node.cfg.Log.Warn("broker is fenced: no heartbeat in time", "broker", b, "timeout", soft.SessionTimeout)
		}
		return decided
	}, func(controller.Expired, error) {})
	return again
}

func (d *duties) noOp() {
	Submit(d.node, func(kafka.Instant, *image.Image, *controller.Soft) controller.Decision[struct{}] {
		return controller.Decision[struct{}]{Records: []controller.Versioned{{Message: metarec.NewNoOpRecord()}}}
	}, func(struct{}, error) {})
}
