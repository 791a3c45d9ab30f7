package raftnode

import (
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// hearsayPatience is how long a leader's announcement waits for the loop before it
// counts as hearsay. A save of the election state takes a millisecond or some.
const hearsayPatience = 50 * time.Millisecond

// hearsayEpochs is how far ahead of this node a leader may be that it only hears of:
// one election a second for 18 hours. Whatever is told last stands until the loop gets
// on, and one message must not keep all real leaders from being told.
const hearsayEpochs = 1 << 16

// audience are those who watch the leader. The loop tells them what its steps
// bring. While it does not get on, they are told what others say:
//
//  1. A leads B and C, and is a broker too. Its metadata disk hangs; it resigns (B7).
//  2. B asks A for its vote. The loop of A waits until that is saved, which may be
//     never.
//  3. B leads, with the vote of C, and says so to A. Nobody reads it there: the
//     clients of the broker A, and its heartbeats, would find no controller although
//     there is one, and A would be fenced.
//
// Hearsay says where requests for the controller go, and nothing else: who is asked
// by mistake answers NOT_CONTROLLER. No vote, fetch or acknowledgement rests on it.
type audience struct {
	mu       sync.Mutex
	watchers []func(View)
	told     View // what they were told last
	heard    int  // announcements that were told of and have not come to the loop
}

// watchLeader is a watcher on its way to the loop.
type watchLeader func(View)

func (w watchLeader) run(l *loop) {
	a, v := &l.n.audience, *l.n.view.Load()
	a.show(v)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers = append(a.watchers, w)
	w(v)
}

// show tells what the loop knows, if that is another leader than was told last.
func (a *audience) show(v View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell(v)
}

// tell is called with mu held. While hearsay is on its way to the loop, what the loop
// knows may be of before: the epochs that are told do not fall for that, as whoever is
// told of the old leader gives up what it has asked the new one.
func (a *audience) tell(v View) {
	t := &a.told
	if t.Leader == v.Leader && t.Epoch == v.Epoch && slices.Equal(t.LeaderEndpoints, v.LeaderEndpoints) {
		return
	}
	if older := v.Epoch < t.Epoch || v.Epoch == t.Epoch && v.Leader < 0; older && a.heard > 0 {
		return
	}
	a.told = v
	for _, w := range a.watchers {
		w(v)
	}
}

// foretell tells of a leader elsewhere before the election state that names it is
// durable: that is a promise to the quorum, and no client needs it.
func (l *loop) foretell() {
	if v := l.look(); v.Leader >= 0 && v.Leader != l.n.cfg.Self.Node {
		l.n.audience.show(v)
	}
}

// announcement is a leader's BeginQuorumEpoch on its way to the loop.
type announcement struct {
	received
	timer *time.Timer // ends the patience
	// over: it tells nothing any more; told: watchers have been told of it. Both are
	// guarded by audience.mu.
	over, told bool
}

func isNews(body raft.Body) bool {
	_, begins := body.(raft.BeginRequest)
	return begins
}

// announce wraps a request of a leader, so that it becomes hearsay when the loop is
// not done with it in time.
func (n *Node) announce(r received) *announcement {
	a := &announcement{received: r}
	a.timer = time.AfterFunc(hearsayPatience, func() { n.hear(a) })
	return a
}

func (a *announcement) run(l *loop) {
	a.received.run(l)
	a.drop(l.n)
	if l.fault == nil {
		l.n.audience.show(*l.n.View()) // which knows better now
	}
}

// drop ends the patience with an announcement that the loop has had, or will never
// have. In that case what was told of it stands, until the loop gets on.
func (a *announcement) drop(n *Node) {
	a.timer.Stop()
	n.audience.mu.Lock()
	defer n.audience.mu.Unlock()
	a.over = true
	if a.told {
		a.told = false
		n.audience.heard--
	}
}

// hear tells of a leader that the loop has not got to know in time.
func (n *Node) hear(a *announcement) {
	n.audience.mu.Lock()
	defer n.audience.mu.Unlock()
	v, news := *n.View(), a.body.(raft.BeginRequest)
	t := &n.audience.told
	newer := news.Epoch > t.Epoch || news.Epoch == t.Epoch && t.Leader == kafka.NoNode
	meant := news.Voter.Node < 0 || news.Voter.Matches(n.cfg.Self)
	if a.over || !newer || news.Epoch > v.Epoch+hearsayEpochs || !meant || news.Leader < 0 || news.Leader == n.cfg.Self.Node {
		return
	}
	v.Leader, v.Epoch, v.LeaderEndpoints = news.Leader, news.Epoch, news.Endpoints
	if voter, known := v.Voters.Node(news.Leader); known && len(v.LeaderEndpoints) == 0 {
		v.LeaderEndpoints = voter.Endpoints
	}
	n.cfg.Log.Warn("the quorum's own state waits for the disk; requests for the controller go to who says that it leads",
		"dir", n.cfg.Dir, "leader", news.Leader, "epoch", news.Epoch)
	n.audience.tell(v)
	a.told = true
	n.audience.heard++
}
