package ctrlnode

import (
	"errors"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// errLooked ends a decision that has only looked.
var errLooked = errors.New("nothing is to be done")

// Contacts tells how long ago the active controller has heard of each broker, at most
// the session timeout: after that it is fenced anyway. It is empty on one that stands by.
func (n *Node) Contacts() map[kafka.NodeID]time.Duration {
	contacts := map[kafka.NodeID]time.Duration{}
	submit(n, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[struct{}] {
		for id := range img.Brokers().All() {
			if ago, heard := soft.Live.SinceContact(id, now); heard {
				contacts[id] = min(ago, n.cfg.Settings.SessionTimeout)
			}
		}
		return controller.Decision[struct{}]{Err: errLooked}
	}, func(struct{}, error) {})
	return contacts
}

// HeartbeatTimedOut counts a heartbeat that was not decided, or whose decision was not
// committed, in time.
func (n *Node) HeartbeatTimedOut() { n.lateHeartbeats.Add(1) }

// HeartbeatsTimedOut is how many there were.
func (n *Node) HeartbeatsTimedOut() int64 { return n.lateHeartbeats.Load() }
