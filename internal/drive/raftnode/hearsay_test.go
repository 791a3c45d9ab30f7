package raftnode

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onlooker remembers which leaders it was told.
type onlooker struct {
	mu   sync.Mutex
	told []View
}

func watch(n *Node) *onlooker {
	o := &onlooker{}
	n.WatchLeader(func(v View) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.told = append(o.told, v)
	})
	return o
}

// last is the leader that was told last, and its epoch.
func (o *onlooker) last() View {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told[len(o.told)-1]
}

// A leader whose metadata disk hangs is followed by another (B7), and hears of that
// although it cannot save a vote: its clients' requests go there. When the disk
// answers again, the node follows that leader.
func TestWhoseDiskHangsStillHearsWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		disks := map[kafka.NodeID]*vfs.Fault{}
		q.edit = func(c *Config) {
			disks[c.Self.Node] = vfs.NewFault(c.FS)
			c.FS = disks[c.Self.Node]
		}
		q.start(1, 2, 3)
		defer q.stopAll()
		old := q.leader()
		id, epoch := old.View().Leader, old.View().Epoch
		eyes := watch(old)
		hang := make(chan struct{})
		disks[id].Inject(vfs.Rule{Ops: vfs.OpChange, Hang: hang})
		mustAppend(t, old, record(t, 1)) // so that it has something to write
		time.Sleep(2 * raft.DefaultTiming().Fetch)
		synctest.Wait()
		now := eyes.last()
		if now.Leader == id || now.Leader == kafka.NoNode || now.Epoch != epoch+1 || len(now.LeaderEndpoints) == 0 {
			t.Errorf("its clients are sent to %d in epoch %d at %v, after it led epoch %d", now.Leader, now.Epoch, now.LeaderEndpoints, epoch)
		}
		if v := old.View(); v.Epoch != epoch {
			t.Errorf("it shows epoch %d, which it could not save", v.Epoch)
		}
		close(hang)
		time.Sleep(2 * raft.DefaultTiming().Fetch)
		synctest.Wait()
		if v, w := old.View(), eyes.last(); v.Role != raft.RoleFollower || v.Leader != now.Leader || w.Leader != now.Leader || w.Epoch != v.Epoch {
			t.Errorf("afterwards it is %s of %d in epoch %d, and its clients are sent to %d in %d", v.Role, v.Leader, v.Epoch, w.Leader, w.Epoch)
		}
	})
}

// "Persist before answer" holds: who cannot save its vote gives none, whatever it
// hears meanwhile. And what it has heard counts no more when its loop gets on and
// knows better.
func TestHearsayIsNoPromiseAndDoesNotLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		disk := vfs.NewFault(vfs.NewMem())
		q.edit = func(c *Config) { c.FS = disk }
		q.start(1) // alone: nobody leads
		defer q.stopAll()
		n := q.nodes[1]
		eyes := watch(n)
		synctest.Wait()
		before := eyes.last()
		hang := make(chan struct{})
		disk.Inject(vfs.Rule{Ops: vfs.OpChange, Path: quorumStateName, Hang: hang})
		votes := post(n, n.wire.askVote(raft.VoteRequest{
			Voter: n.cfg.Self, Candidate: kafka.ReplicaKey{Node: 2, Dir: kafka.DirID{1, 2}}, Epoch: 7, LastEpoch: 0, End: 0,
		}))
		said := raft.BeginRequest{Voter: n.cfg.Self, Leader: 2, Epoch: 7}
		f := func(what string, b raft.BeginRequest, leader kafka.NodeID, epoch kafka.Epoch) {
			t.Helper()
			post(n, n.wire.askBegin(b))
			time.Sleep(2 * hearsayPatience)
			synctest.Wait()
			if v := eyes.last(); v.Leader != leader || v.Epoch != epoch {
				t.Errorf("%s: told leader %d of epoch %d, want %d of %d", what, v.Leader, v.Epoch, leader, epoch)
			}
		}
		other := said
		other.Voter.Node = 3
		f("meant for another voter", other, before.Leader, before.Epoch)
		itself := said
		itself.Leader = 1
		f("names this node", itself, before.Leader, before.Epoch)
		f("a leader that needs no name for its address", said, 2, 7)
		if at := eyes.last().LeaderEndpoints; len(at) != 1 || at[0].Port != 9002 {
			t.Errorf("node 2 is at %v", at)
		}
		late := said
		late.Leader, late.Epoch = 3, 6
		f("an earlier epoch", late, 2, 7)
		f("another leader of the same epoch", raft.BeginRequest{Voter: n.cfg.Self, Leader: 3, Epoch: 7}, 2, 7)
		next := raft.BeginRequest{Voter: n.cfg.Self, Leader: 3, Epoch: 8, Endpoints: endpoints(1234)}
		f("a later epoch", next, 3, 8)
		select {
		case r := <-votes:
			t.Errorf("a vote was answered before it was saved: %+v", r)
		default:
		}
		close(hang)
		r := (<-votes).(*kmsg.VoteResponse).Topics[0].Partitions[0]
		if !r.VoteGranted || kerr.Code(r.ErrorCode) != kerr.None {
			t.Errorf("the vote, saved at last: %+v", r)
		}
		synctest.Wait()
		if v, w := n.View(), eyes.last(); v.Leader != 3 || v.Epoch != 8 || w.Leader != v.Leader || w.Epoch != v.Epoch {
			t.Errorf("at the end it follows %d in epoch %d, and watchers were told %d in %d", v.Leader, v.Epoch, w.Leader, w.Epoch)
		}
	})
}

// Clients are sent to a leader elsewhere while the election state that names it is being
// saved; what the node shows of itself waits for that.
func TestALeaderElsewhereIsToldBeforeItIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		disk := vfs.NewFault(vfs.NewMem())
		q.edit = func(c *Config) { c.FS = disk }
		q.start(1)
		defer q.stopAll()
		n := q.nodes[1]
		eyes := watch(n)
		hang := make(chan struct{})
		disk.Inject(vfs.Rule{Ops: vfs.OpChange, Path: quorumStateName, Hang: hang})
		answer := post(n, n.wire.askBegin(raft.BeginRequest{Voter: n.cfg.Self, Leader: 2, Epoch: 7}))
		synctest.Wait() // and no time passes
		if v := eyes.last(); v.Leader != 2 || v.Epoch != 7 {
			t.Errorf("told leader %d of epoch %d", v.Leader, v.Epoch)
		}
		if v := n.View(); v.Epoch == 7 || len(answer) > 0 {
			t.Errorf("it shows epoch %d before that is saved, and has given %d answers", v.Epoch, len(answer))
		}
		close(hang)
		<-answer
		if v := n.View(); v.Leader != 2 || v.Epoch != 7 {
			t.Errorf("it shows leader %d of epoch %d", v.Leader, v.Epoch)
		}
	})
}

// post sends a request of a peer; the answer comes through the channel.
func post(n *Node, req kmsg.Request) <-chan kmsg.Response {
	got := make(chan kmsg.Response, 1)
	n.Handle(context.Background(), RequestInfo{Listener: "CONTROLLER"}, again(req, req.MaxVersion()), func(r kmsg.Response) { got <- r })
	return got
}

// Whoever is told of an earlier leader again gives up what it has asked the later one,
// and its clients hear that the outcome is unknown (B8). So the epochs that are told do
// not fall, though the loop takes announcements up one after the other.
func TestEpochsThatAreToldDoNotFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHung(t)
		defer h.q.stopAll()
		post(h.n, h.n.wire.askBegin(raft.BeginRequest{Voter: h.n.cfg.Self, Leader: 2, Epoch: 7}))
		time.Sleep(2 * hearsayPatience)
		post(h.n, h.n.wire.askBegin(raft.BeginRequest{Voter: h.n.cfg.Self, Leader: 3, Epoch: 8, Endpoints: endpoints(1234)}))
		time.Sleep(2 * hearsayPatience)
		close(h.hang)
		synctest.Wait()
		h.eyes.mu.Lock()
		defer h.eyes.mu.Unlock()
		last := View{Leader: kafka.NoNode, Epoch: kafka.NoEpoch}
		for _, v := range h.eyes.told {
			if v.Epoch < last.Epoch || v.Epoch == last.Epoch && v.Leader < 0 && last.Leader >= 0 {
				t.Errorf("after leader %d of epoch %d it was told leader %d of epoch %d", last.Leader, last.Epoch, v.Leader, v.Epoch)
			}
			last = v
		}
		if v := h.n.View(); v.Leader != 3 || v.Epoch != 8 || last.Leader != 3 || last.Epoch != 8 {
			t.Errorf("at the end it follows %d in epoch %d, and %d of %d was told", v.Leader, v.Epoch, last.Leader, last.Epoch)
		}
	})
}

// What never comes to the loop, because its queue is full for as long as the leader
// waits for an answer, has been told all the same.
func TestHearsayStandsWhenItsRequestIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHung(t)
		defer h.q.stopAll()
		for len(h.n.inbox) < cap(h.n.inbox) {
			h.n.inbox <- event{raft.Passed{}}
		}
		ctx, cancel := context.WithCancel(context.Background())
		req := h.n.wire.askBegin(raft.BeginRequest{Voter: h.n.cfg.Self, Leader: 2, Epoch: 7})
		gone := make(chan struct{})
		go func() {
			h.n.Handle(ctx, RequestInfo{Listener: "CONTROLLER"}, again(req, req.MaxVersion()), func(kmsg.Response) {})
			close(gone)
		}()
		time.Sleep(2 * hearsayPatience)
		cancel()
		<-gone
		if v := h.eyes.last(); v.Leader != 2 || v.Epoch != 7 {
			t.Errorf("the loop still hangs, and leader %d of epoch %d was told", v.Leader, v.Epoch)
		}
		close(h.hang)
	})
}

// An epoch that no quorum gets to while a disk hangs is not believed: it would stand in
// the way of all that follow.
func TestHearsayOfAFarEpochIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHung(t)
		defer h.q.stopAll()
		post(h.n, h.n.wire.askBegin(raft.BeginRequest{Voter: h.n.cfg.Self, Leader: 2, Epoch: hearsayEpochs + 8}))
		post(h.n, h.n.wire.askBegin(raft.BeginRequest{Voter: h.n.cfg.Self, Leader: 3, Epoch: 8}))
		time.Sleep(2 * hearsayPatience)
		synctest.Wait()
		if v := h.eyes.last(); v.Leader != 3 || v.Epoch != 8 {
			t.Errorf("leader %d of epoch %d was told", v.Leader, v.Epoch)
		}
		close(h.hang)
	})
}

// hung is a voter that waits for its disk with a vote in epoch 7.
type hung struct {
	q    *quorum
	n    *Node
	eyes *onlooker
	hang chan struct{}
}

func newHung(t *testing.T) *hung {
	t.Helper()
	q := newQuorum(t, 1, 2, 3)
	disk := vfs.NewFault(vfs.NewMem())
	q.edit = func(c *Config) { c.FS = disk }
	q.start(1)
	h := &hung{q: q, n: q.nodes[1], hang: make(chan struct{})}
	h.eyes = watch(h.n)
	synctest.Wait()
	disk.Inject(vfs.Rule{Ops: vfs.OpChange, Path: quorumStateName, Hang: h.hang})
	post(h.n, h.n.wire.askVote(raft.VoteRequest{
		Voter: h.n.cfg.Self, Candidate: kafka.ReplicaKey{Node: 2, Dir: kafka.DirID{1, 2}}, Epoch: 7, LastEpoch: 0, End: 0,
	}))
	synctest.Wait()
	return h
}
