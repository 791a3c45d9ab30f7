package node

import (
	"context"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// neighbours are the other nodes of the cluster, as a voter that stops sees them in
// the metadata. They tell whether it is needed a little longer, and whether there is
// still somebody who could succeed it. Otherwise, when all nodes are stopped at once:
//
//  1. The brokers of A and B are let go, and both leave the quorum.
//  2. C lets its own broker go, but nobody is left to commit that.
//  3. A broker of ours gives up after stopGrace, one of Apache Kafka after minutes;
//     the last controller waits for a successor.
//
// Nodes of one process know all this of each other, see Company.
type neighbours struct {
	self   kafka.NodeID
	voters func() []kafka.NodeID
	image  func() *image.Image
	// gone tells whether a voter's process refuses connections.
	gone func(ctx context.Context, voter kafka.NodeID) bool
	// before are the other brokers that were active when our stop began. One that
	// was not has stopped before.
	before map[kafka.NodeID]bool
	// led are those of them that led a partition then.
	led  map[kafka.NodeID]bool
	lost bool // the majority is gone
}

// brokersPatience bounds how long a voter stays for brokers that are leaving. They
// move their partitions meanwhile.
const brokersPatience = 2 * stopGrace

// lookAround is how long a voter stays at least while another one with a broker is
// there: for so long the metadata may not show yet that it stops as well.
const lookAround = 300 * time.Millisecond

// neighboursPause lies between two looks at the metadata.
const neighboursPause = 10 * time.Millisecond

// looksAtProcesses is how many looks at the metadata lie between two at the processes,
// which cost connections. A quorum hands over faster than that.
const looksAtProcesses = 10

// remember notes who is there at the beginning of a stop.
func (n *neighbours) remember() {
	n.before, n.led = map[kafka.NodeID]bool{}, map[kafka.NodeID]bool{}
	img := n.image()
	for id, b := range img.Brokers().All() {
		n.before[id] = id != n.self && b.Active()
		n.led[id] = img.Hosted(id).Leads > 0
	}
}

// stoppedWithUs tells whether a broker was active when our stop began, and was let go
// since. One that asks to be let go is marked as shutting down, unless it leads nothing:
// then it is fenced at once. So is one that crashed before our stop and whose session
// ends within it. Without the mark it counts if it led nothing and has a vote, without
// which nobody needs us for longer.
func (n *neighbours) stoppedWithUs(b *image.Broker, voter bool) bool {
	return n.before[b.ID] && b.Fenced && (b.ShuttingDown || voter && !n.led[b.ID])
}

// await stays in the quorum for as long as that has a reason.
func (n *neighbours) await() {
	began := time.Now()
	n.watch(context.Background(), func() bool { return time.Since(began) >= n.needUs() })
}

// needUs is for how long after our own broker has left this voter stays, as things are
// now: until a broker that is leaving has been let go; and, because one that was told
// to stop at the same time may be late with its wish, for stopGrace while others stop
// together with us, our leaving would take the majority, and there is an active one.
// Whether others stop as well shows only after a while.
func (n *neighbours) needUs() time.Duration {
	img, voters := n.image(), n.voters()
	if !slices.Contains(voters, n.self) {
		return 0
	}
	active, together, looking := false, false, false
	for id, b := range img.Brokers().All() {
		switch {
		case id == n.self:
		case b.ShuttingDown && !b.Fenced:
			return brokersPatience
		case b.Active():
			active = true
			looking = looking || slices.Contains(voters, id)
		case n.stoppedWithUs(b, slices.Contains(voters, id)):
			together = true
		}
	}
	if active && together && n.staying(img, voters) <= len(voters)/2 {
		return stopGrace
	}
	if looking {
		return lookAround
	}
	return 0
}

// staying counts the other voters that do not stop as far as is known. What is known
// is whether a broker of the same node has left.
func (n *neighbours) staying(img *image.Image, voters []kafka.NodeID) (count int) {
	for _, id := range voters {
		if b, ok := img.Broker(id); id != n.self && (!ok || b.Active()) {
			count++
		}
	}
	return count
}

// alone tells that all other voters stop together with us, and all brokers with them:
// nobody could succeed this one, and nobody would need it. A broker that was fenced
// before may as well be starting, and its controller take over. An only voter has no
// successor to wait for anyway.
func (n *neighbours) alone() bool {
	img, voters := n.image(), n.voters()
	for id, b := range img.Brokers().All() {
		if id != n.self && !b.Fenced {
			return false
		}
	}
	stays := func(id kafka.NodeID) bool { return id != n.self && !n.before[id] }
	return len(voters) > 1 && !slices.ContainsFunc(voters, stays)
}

// untilAlone gives a context that ends after limit, or when nobody could succeed this
// node. end has to be called.
func (n *neighbours) untilAlone(limit time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		n.watch(ctx, n.alone)
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// watch waits until something is over, or ctx ends, or the processes of so many voters
// are gone that nothing is committed any more. The metadata may not show that: what the
// last ones committed when they left, this one has not heard.
func (n *neighbours) watch(ctx context.Context, over func() bool) {
	tick := time.NewTicker(neighboursPause)
	defer tick.Stop()
	for looks := 1; !n.lost && !over(); looks++ {
		if looks%looksAtProcesses == 0 {
			n.lost = n.majorityGone(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// majorityGone looks for the processes of the other voters.
func (n *neighbours) majorityGone(ctx context.Context) bool {
	voters := n.voters()
	there := 0
	for _, id := range voters {
		if id == n.self || !n.gone(ctx, id) {
			there++
		}
	}
	return there <= len(voters)/2
}
