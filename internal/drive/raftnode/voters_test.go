package raftnode

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const dataDir = "/data/__cluster_metadata-0"

// newDynamicQuorum is a quorum whose voters stand in the checkpoint of format
// time, as with --initial-controllers.
func newDynamicQuorum(t *testing.T, voters ...kafka.NodeID) *quorum {
	t.Helper()
	q := newQuorum(t, voters...)
	var set raft.Voters
	for _, id := range voters {
		set = set.With(raft.Voter{Key: keyOf(id), Endpoints: endpoints(uint16(9000 + id)), MaxLevel: 1})
	}
	for _, id := range voters {
		q.disks[id] = vfs.NewMem()
		if err := vfs.MkdirAllSync(q.disks[id], dataDir, 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := newSnapshotFile(q.disks[id], dataDir, SnapshotID{}, 0, 0, 1, set)
		if err == nil {
			err = errors.Join(w.finish(), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	q.voter = nil
	q.edit = func(c *Config) {
		c.Bootstrap = []raft.Endpoint{{Host: "localhost", Port: 9001}, {Host: "localhost", Port: 9002}, {Host: "localhost", Port: 9003}}
	}
	return q
}

func keyOf(id kafka.NodeID) kafka.ReplicaKey {
	return kafka.ReplicaKey{Node: id, Dir: kafka.DirID{1, byte(id)}}
}

func addition(id kafka.NodeID) *kmsg.AddRaftVoterRequest {
	r := kmsg.NewPtrAddRaftVoterRequest()
	r.VoterID, r.VoterDirectoryID = int32(id), keyOf(id).Dir
	l := kmsg.NewAddRaftVoterRequestListener()
	l.Name, l.Host, l.Port = "controller", "localhost", uint16(9000+id)
	r.Listeners = append(r.Listeners, l)
	return r
}

func removal(id kafka.NodeID) *kmsg.RemoveRaftVoterRequest {
	r := kmsg.NewPtrRemoveRaftVoterRequest()
	r.VoterID, r.VoterDirectoryID = int32(id), keyOf(id).Dir
	return r
}

// until waits until something holds.
func (q *quorum) until(what string, holds func() bool) {
	q.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) { // of the bubble
		if time.Now().After(deadline) {
			q.t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// caughtUp tells whether a node has told the leader, by a fetch, that it has synced
// all up to an end.
func caughtUp(t *testing.T, lead *Node, id kafka.NodeID, end kafka.Offset) func() bool {
	return func() bool {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
		p := ask[*kmsg.DescribeQuorumResponse](t, lead, req, 2).Topics[0].Partitions[0]
		for _, r := range append(p.CurrentVoters, p.Observers...) {
			if r.ReplicaID == int32(id) {
				return kafka.Offset(r.LogEndOffset) >= end
			}
		}
		return false
	}
}

// KIP-853: a controller that observes is added, and is a voter from the log
// after a restart; a removed one observes.
func TestAVoterIsAddedAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDynamicQuorum(t, 1, 2, 3)
		q.start(1, 2, 3, 4)
		defer q.stopAll()
		lead := q.leader()
		q.until("node 4 has caught up", caughtUp(t, lead, 4, mustAppend(t, lead, record(t, 1))))
		epoch := lead.View().Epoch
		if a := ask[*kmsg.AddRaftVoterResponse](t, lead, addition(4), 1); a.ErrorCode != 0 || a.ErrorMessage != nil {
			t.Fatalf("added: %v %s", kerr.Code(a.ErrorCode), *a.ErrorMessage)
		}
		again := ask[*kmsg.AddRaftVoterResponse](t, lead, addition(4), 0)
		if kerr.Code(again.ErrorCode) != kerr.DuplicateVoter || again.ErrorMessage == nil || !strings.Contains(*again.ErrorMessage, "node 4") {
			t.Errorf("added again: %+v", again)
		}
		q.until("node 4 has the set on its disk", caughtUp(t, lead, 4, mustAppend(t, lead, record(t, 3))))
		q.until("node 4 knows that it votes", func() bool { return !q.nodes[4].View().Observer })
		q.crash(4)
		q.start(4)
		if v := q.nodes[4].View(); v.Observer || len(v.Voters) != 4 {
			t.Errorf("after a restart: %d voters, an observer: %v", len(v.Voters), v.Observer)
		}
		q.ears[4].awaitEnd(t, mustAppend(t, lead, record(t, 2)))
		if a := ask[*kmsg.RemoveRaftVoterResponse](t, lead, removal(4), 0); a.ErrorCode != 0 {
			t.Fatalf("removed: %v %v", kerr.Code(a.ErrorCode), *a.ErrorMessage)
		}
		q.until("node 4 knows that it votes no more", func() bool { return q.nodes[4].View().Observer })
		time.Sleep(10 * time.Second) // of the bubble
		if v := lead.View(); v.Epoch != epoch || v.Role != raft.RoleLeader || len(v.Voters) != 3 {
			t.Errorf("%s in epoch %d of %d voters, was in %d", v.Role, v.Epoch, len(v.Voters), epoch)
		}
	})
}

// V-05: the leader that removes itself answers, hands over and observes; the
// last voter stays.
func TestALeaderRemovesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDynamicQuorum(t, 1, 2)
		q.start(1, 2)
		defer q.stopAll()
		old := q.leader()
		id, epoch := old.View().Leader, old.View().Epoch
		q.ears[3-id].awaitEnd(t, mustAppend(t, old, record(t, 1)))
		if a := ask[*kmsg.RemoveRaftVoterResponse](t, old, removal(id), 0); a.ErrorCode != 0 {
			t.Fatalf("removed: %v %v", kerr.Code(a.ErrorCode), *a.ErrorMessage)
		}
		next := q.nodes[3-id]
		q.until("the other leads", func() bool { return next.View().Role == raft.RoleLeader })
		if v := next.View(); v.Epoch != epoch+1 {
			t.Errorf("epoch %d after %d", v.Epoch, epoch)
		}
		q.ears[id].awaitEnd(t, mustAppend(t, next, record(t, 2)))
		q.until("the old leader observes", func() bool { return old.Metrics().CurrentState == "observer" })
		if a := ask[*kmsg.RemoveRaftVoterResponse](t, next, removal(3-id), 0); kerr.Code(a.ErrorCode) != kerr.VoterNotFound {
			t.Errorf("the last one: %v", kerr.Code(a.ErrorCode))
		}
	})
}

// V-06: with auto join a controller becomes a voter by itself, also with a new
// disk, whose old directory it removes first.
func TestAControllerJoinsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDynamicQuorum(t, 1, 2, 3)
		edit := q.edit
		q.edit = func(c *Config) {
			edit(c)
			c.AutoJoin = true
		}
		q.start(1, 2, 3, 4)
		defer q.stopAll()
		lead := q.leader()
		q.until("node 4 votes", func() bool { return lead.View().Voters.Contains(keyOf(4)) && !q.nodes[4].View().Observer })
		q.crash(4)
		q.disks[4] = nil
		fresh := kafka.ReplicaKey{Node: 4, Dir: kafka.DirID{9}}
		q.edit = func(c *Config) {
			edit(c)
			c.AutoJoin, c.Self = true, fresh
		}
		q.start(4)
		q.until("its new directory votes", func() bool {
			return lead.View().Voters.Contains(fresh) && !q.nodes[4].View().Observer
		})
		if v := lead.View(); len(v.Voters) != 4 || v.Role != raft.RoleLeader {
			t.Errorf("%s of %d voters", v.Role, len(v.Voters))
		}
	})
}

// A voter at another address is found there by the next leader, and one that
// nobody reaches is not written down (KAFKA-20661).
func TestAVoterMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDynamicQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		id := lead.View().Leader%3 + 1
		q.crash(id)
		edit, at := q.edit, endpoints(9050)
		q.edit = func(c *Config) {
			edit(c)
			c.Endpoints = at
		}
		q.start(id)
		time.Sleep(10 * time.Second) // of the bubble
		if v, _ := lead.View().Voters.Node(id); v.Endpoints[0].Port != uint16(9000+id) {
			t.Errorf("nobody listens at %v", v.Endpoints)
		}
		q.net.set("localhost:9050", q.nodes[id])
		q.until("the leader has the new address", func() bool {
			v, _ := lead.View().Voters.Node(id)
			return v.Endpoints[0].Port == 9050
		})
	})
}

// V-08, KAFKA-16538: static voters become dynamic, the log says who they are,
// and the settings may forget them.
func TestStaticVotersBecomeDynamic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		epoch := lead.View().Epoch
		raise := func(level int16, ask bool) kerr.Code {
			return kerr.Of(lead.RaiseLevel(context.Background(), epoch, level, ask))
		}
		if code := raise(1, false); code != kerr.InvalidUpdateVersion {
			t.Errorf("before the voters have told what they are: %v", code)
		}
		q.until("it may be raised", func() bool { return raise(1, true) == kerr.None })
		if v := lead.View(); v.Level != 0 {
			t.Errorf("asking raised it to %d", v.Level)
		}
		if code := raise(1, false); code != kerr.None || lead.View().Level != 1 {
			t.Fatalf("raised: %v, level %d", code, lead.View().Level)
		}
		if code := raise(0, false); code != kerr.InvalidUpdateVersion {
			t.Errorf("lowered: %v", code)
		}
		end := mustAppend(t, lead, record(t, 1))
		for id, e := range q.ears {
			e.awaitEnd(t, end)
			q.until("all have it", func() bool { return q.nodes[id].View().Level == 1 })
		}
		q.voter = nil
		for id := range q.disks {
			q.crash(id)
		}
		q.start(1, 2, 3)
		lead = q.leader()
		if v := lead.View(); len(v.Voters) != 3 || v.Voters[0].Key != keyOf(1) || v.Election.Voted.Dir == (kafka.DirID{}) {
			t.Errorf("%+v", v)
		}
		raw, err := vfs.ReadFile(q.disks[1], dataDir+"/quorum-state", 1<<10)
		if err != nil || !strings.Contains(string(raw), `"data_version":1`) {
			t.Errorf("quorum-state: %s, %v", raw, err)
		}
	})
}

// V-08: a controller that finds voters neither in its log nor in its settings
// names the keys.
func TestAControllerWithoutVotersSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(says bool, voters raft.Voters, controller bool) {
			t.Helper()
			var log strings.Builder
			cfg := lone(vfs.NewMem(), dataDir)
			cfg.Voters, cfg.Controller, cfg.Bootstrap = voters, controller, []raft.Endpoint{{Host: "nowhere", Port: 1}}
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			n := start(t, cfg)
			time.Sleep(10 * time.Second) // of the bubble
			leave(t, n)
			if got := strings.Contains(log.String(), "controller.quorum.voters"); got != says {
				t.Errorf("voters %v, controller %v: %s", voters, controller, log.String())
			}
		}
		f(true, nil, true)
		f(false, nil, false)
		f(false, lone(vfs.NewMem(), dataDir).Voters, true)
	})
}

// A controller that observes a quorum of static voters finds none in its log
// either, but it has a leader and waits for nobody.
func TestAnObserverOfStaticVotersMissesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2)
		q.start(1, 2)
		defer q.stopAll()
		end := mustAppend(t, q.leader(), record(t, 1))
		var log strings.Builder
		q.voter = nil
		q.edit = func(c *Config) {
			c.Bootstrap, c.Log = []raft.Endpoint{{Host: "localhost", Port: 9001}}, slog.New(slog.NewTextHandler(&log, nil))
		}
		q.start(3)
		q.ears[3].awaitEnd(t, end)
		time.Sleep(10 * time.Second) // of the bubble
		if got := log.String(); strings.Contains(got, "no voters are known") {
			t.Error(got)
		}
	})
}

// The first checks of AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter.
func TestChangesOfVotersOnTheWire(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), dataDir))
	defer stop(t, n)
	listen(n).awaitEnd(t, 1) // before that nothing is committed, and changes have to wait
	other := "other"
	add, remove, update := addition(2), removal(2), kmsg.NewPtrUpdateRaftVoterRequest()
	add.ClusterID, remove.ClusterID, update.ClusterID = &other, &other, &other
	f := func(what string, got int16, want kerr.Code) {
		t.Helper()
		if kerr.Code(got) != want {
			t.Errorf("%s: %v, want %v", what, kerr.Code(got), want)
		}
	}
	f("added to another cluster", ask[*kmsg.AddRaftVoterResponse](t, n, add, 1).ErrorCode, kerr.InconsistentClusterId)
	f("removed from another cluster", ask[*kmsg.RemoveRaftVoterResponse](t, n, remove, 0).ErrorCode, kerr.InconsistentClusterId)
	f("updated in another cluster", ask[*kmsg.UpdateRaftVoterResponse](t, n, update, 0).ErrorCode, kerr.InconsistentClusterId)
	f("added to static voters", ask[*kmsg.AddRaftVoterResponse](t, n, addition(2), 1).ErrorCode, kerr.UnsupportedVersion)
	f("removed from static voters", ask[*kmsg.RemoveRaftVoterResponse](t, n, removal(2), 0).ErrorCode, kerr.UnsupportedVersion)
	update = kmsg.NewPtrUpdateRaftVoterRequest()
	update.VoterID, update.VoterDirectoryID, update.CurrentLeaderEpoch = 2, keyOf(2).Dir, int32(n.View().Epoch)
	update.KRaftVersionFeature.MaxSupportedVersion = 1
	update.Listeners = []kmsg.UpdateRaftVoterRequestListener{{Name: "controller", Host: "localhost", Port: 9002}}
	a := ask[*kmsg.UpdateRaftVoterResponse](t, n, update, 0)
	f("updated, but no voter", a.ErrorCode, kerr.VoterNotFound)
	if l := a.CurrentLeader; l.LeaderID != 1 || l.LeaderEpoch != int32(n.View().Epoch) || l.Port != 9093 {
		t.Errorf("current leader %+v", l)
	}
}
