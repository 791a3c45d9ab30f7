package raftnode

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestThreeVotersElectReplicateAndFailOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		var end kafka.Offset
		for i := range 10 {
			end = mustAppend(t, lead, record(t, i))
		}
		for _, e := range q.ears {
			e.awaitEnd(t, end)
		}
		epoch, id := lead.View().Epoch, lead.View().Leader
		q.crash(id)
		delete(q.ears, id)
		next := q.leader()
		if v := next.View(); v.Epoch != epoch+1 {
			t.Errorf("one failover took the epoch from %d to %d", epoch, v.Epoch)
		}
		end = mustAppend(t, next, record(t, 10))
		q.start(id)
		for id, e := range q.ears {
			e.awaitEnd(t, end)
			if got := len(e.heard()); got != 11 {
				t.Errorf("node %d heard %d records", id, got)
			}
		}
	})
}

// What was proposed before a leader hands over is committed, what comes later is
// refused, and the leader votes: the other two are elected at once, not after a
// fetch timeout of 2 s.
func TestALeaderHandsOverWhileItStillAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		epoch, id := lead.View().Epoch, lead.View().Leader
		end := mustAppend(t, lead, record(t, 1))
		q.ears[id].awaitEnd(t, end)
		began := time.Now()
		lead.HandOver(t.Context())
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("it took %s of the bubble's time", took)
		}
		if _, err := lead.Append(epoch, [][]byte{record(t, 2)}); err != ErrNotLeader {
			t.Errorf("an append afterwards: %v", err)
		}
		next := q.leader()
		if v := next.View(); v.Epoch != epoch+1 || v.Leader == id {
			t.Errorf("leader %d of epoch %d after %d of epoch %d", v.Leader, v.Epoch, id, epoch)
		}
		end = mustAppend(t, next, record(t, 3))
		for id, e := range q.ears {
			e.awaitEnd(t, end)
			if got := len(e.heard()); got != 2 {
				t.Errorf("node %d heard %d records, want the one from before and the one from after", id, got)
			}
		}
	})
}

// a follower that was cut off comes back quietly.
func TestAVoterThatWasCutOffComesBackInTheSameEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		epoch := lead.View().Epoch
		away := kafka.NodeID(3)
		if lead.View().Leader == away {
			away = 2
		}
		q.net.isolate(address(away), true)
		time.Sleep(60 * time.Second) // of the bubble
		if v := q.nodes[away].View(); v.Epoch != epoch || v.Role == raft.RoleCandidate || v.Role == raft.RoleLeader {
			t.Errorf("while away: %s in epoch %d", v.Role, v.Epoch)
		}
		end := mustAppend(t, lead, record(t, 1))
		q.net.isolate(address(away), false)
		q.ears[away].awaitEnd(t, end)
		if v := lead.View(); v.Epoch != epoch || v.Role != raft.RoleLeader {
			t.Errorf("afterwards: %s in epoch %d, was leader in %d", v.Role, v.Epoch, epoch)
		}
	})
}

// a leader that is cut off leaves the role 1.5 F after its last majority.
func TestALeaderWithoutItsMajorityStopsLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		old := q.leader()
		id := old.View().Leader
		q.net.isolate(address(id), true)
		time.Sleep(3001 * time.Millisecond)
		if v := old.View(); v.Role == raft.RoleLeader || v.Leader != kafka.NoNode {
			t.Errorf("after 3 s: %s, leader %d", v.Role, v.Leader)
		}
		if _, err := old.Append(old.View().Epoch, [][]byte{record(t, 1)}); err != ErrNotLeader {
			t.Errorf("append: %v", err)
		}
	})
}

// voters that do not know pre-vote.
func TestAQuorumOfVotersWithoutPreVoteElects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		for key, version := range map[int16]int16{52: 0, 53: 0, 54: 0, 1: 12, 59: 0} {
			q.net.versions[key] = version
		}
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		for _, e := range q.ears {
			e.awaitEnd(t, mustAppend(t, lead, record(t, 1)))
		}
	})
}

// A broker follows a remote quorum; it is told everything and votes for nobody.
func TestABrokerObserves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1)
		q.start(1)
		defer q.stopAll()
		end := mustAppend(t, q.nodes[1], record(t, 1), record(t, 2))
		q.edit = func(c *Config) {
			c.Controller, c.Endpoints = false, nil
			c.Bootstrap = []raft.Endpoint{{Host: "localhost", Port: 9001}}
		}
		q.start(7)
		q.ears[7].awaitEnd(t, end)
		q.ears[7].awaitLeader(t, LeaderAndEpoch{1, 1})
		if v := q.nodes[7].View(); !v.Observer || v.Role != raft.RoleFollower || q.nodes[7].Metrics().CurrentState != "observer" {
			t.Errorf("%+v", v)
		}
		// The leader restarts: the broker finds it again, in a new epoch.
		q.edit = nil
		q.crash(1)
		time.Sleep(5 * time.Second)
		q.start(1)
		q.ears[7].awaitLeader(t, LeaderAndEpoch{1, 2})
		q.ears[7].awaitEnd(t, mustAppend(t, q.nodes[1], record(t, 3)))
	})
}

// an empty node starts from a snapshot, fetched in chunks, and goes on
// with the log.
func TestAnEmptyNodeStartsFromASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.edit = func(c *Config) {
			c.Timing = raft.DefaultTiming()
			c.Timing.ChunkBytes = 100
		}
		q.start(1, 2)
		defer q.stopAll()
		lead := q.leader()
		var end kafka.Offset
		for i := range 50 {
			end = mustAppend(t, lead, record(t, i))
		}
		q.ears[lead.View().Leader].awaitEnd(t, end)
		takeSnapshot(t, lead, end, q.ears[lead.View().Leader].heard())
		end = mustAppend(t, lead, record(t, 50))
		q.start(3)
		q.ears[3].awaitEnd(t, end)
		if got := q.ears[3].heard(); len(got) != 51 || len(q.ears[3].loaded) != 1 {
			t.Errorf("heard %d records, loaded %v", len(got), q.ears[3].loaded)
		}
		if got := q.net.count("*kmsg.FetchSnapshotRequest"); got < 5 {
			t.Errorf("%d requests for chunks", got)
		}
		if v := q.nodes[3].View(); v.LogStart != end-1 {
			t.Errorf("log starts at %d", v.LogStart)
		}
		q.crash(3)
		q.start(3)
		q.ears[3].awaitEnd(t, end)
		if got := q.ears[3].heard(); len(got) != 51 {
			t.Errorf("after a crash: heard %d records", len(got))
		}
	})
}

// takeSnapshot writes what a listener heard as a snapshot.
func takeSnapshot(t *testing.T, n *Node, end kafka.Offset, records []string) {
	t.Helper()
	w, err := n.CreateSnapshot(SnapshotID{EndOffset: end, Epoch: n.View().LogEndEpoch}, n.clock.ms())
	if err != nil || w == nil {
		t.Fatal(w, err)
	}
	defer w.Close()
	for _, r := range records {
		if err := w.Append([][]byte{[]byte(r)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Freeze(); err != nil {
		t.Fatal(err)
	}
}

// A leader that is stopped hands over before it goes: the next epoch begins at
// once, not after a timer.
func TestAStoppedLeaderHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		old := q.leader()
		id, epoch := old.View().Leader, old.View().Epoch
		begun := time.Now()
		stop(t, old)
		if took := time.Since(begun); took > 500*time.Millisecond {
			t.Errorf("handing over took %v", took)
		}
		q.net.set(address(id), nil)
		delete(q.nodes, id)
		delete(q.ears, id)
		if v := q.leader().View(); v.Epoch != epoch+1 {
			t.Errorf("epoch %d after %d", v.Epoch, epoch)
		}
	})
}

// the answer of a follower names the leader with its address for the
// listener it was asked on, also when the follower learned it from an answer.
func TestAFollowerTellsWhereTheLeaderIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader().View().Leader
		q.edit = func(c *Config) {
			c.Controller, c.Endpoints = false, nil
			c.Voters = nil
			c.Bootstrap = []raft.Endpoint{{Host: "localhost", Port: 9001}, {Host: "localhost", Port: 9002}, {Host: "localhost", Port: 9003}}
		}
		q.start(8)
		q.ears[8].await(t, "the leader", func(e *ear) bool { return len(e.leaders) > 0 && e.leaders[len(e.leaders)-1].Leader == lead })
		r := ask[*kmsg.FetchResponse](t, q.nodes[8], aFetch(q.nodes[8], func(r *kmsg.FetchRequest) {
			r.Topics[0].Partitions[0].CurrentLeaderEpoch = int32(q.nodes[8].View().Epoch)
		}), 18)
		p := r.Topics[0].Partitions[0]
		if kerr.Code(p.ErrorCode) != kerr.NotLeaderOrFollower || p.CurrentLeader.LeaderID != int32(lead) ||
			len(r.Brokers) != 1 || r.Brokers[0].Port != 9000+int32(lead) {
			t.Errorf("%+v, at %+v", p, r.Brokers)
		}
	})
}

// A snapshot that arrives damaged does not take the place of the log. The download
// begins again after rests that grow, and who waits says why once. The leader reads
// its snapshot again after a while, and sends something else.
func TestADamagedDownloadIsNotInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2)
		defer q.stopAll()
		lead := q.leader()
		id := lead.View().Leader
		end := mustAppend(t, lead, record(t, 1), record(t, 2))
		q.ears[id].awaitEnd(t, end)
		takeSnapshot(t, lead, end, q.ears[id].heard())
		q.edit = broker
		q.start(8) // the leader has read its snapshot for this one
		q.ears[8].awaitEnd(t, end)
		damaged(t, q.disks[id], lead.folder.path(SnapshotID{EndOffset: end, Epoch: lead.View().LogEndEpoch}), func(b []byte) []byte {
			return flip(len(b) / 2)(b)
		})
		before := q.net.count("*kmsg.FetchSnapshotRequest")
		var said diary
		q.edit = func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) }
		q.start(3)
		time.Sleep(30 * time.Second) // of the bubble
		if tries := q.net.count("*kmsg.FetchSnapshotRequest") - before; tries < 3 || tries > 30 {
			t.Errorf("%d downloads in 30 s", tries)
		}
		if n := said.with("a snapshot arrived damaged", "leader="+fmt.Sprint(id), ".checkpoint"); n != 1 {
			t.Errorf("it says so %d times: %s", n, said.lines)
		}
		if v := q.nodes[3].View(); v.LogEnd != 0 || v.LogStart != 0 {
			t.Errorf("log %d..%d", v.LogStart, v.LogEnd)
		}
		time.Sleep(soundFor)
		q.ears[3].awaitEnd(t, end)
		if got := q.ears[3].heard(); len(got) != 2 {
			t.Errorf("heard %d records", len(got))
		}
	})
}

// "A corrupt snapshot falls back to the previous one": a leader reads a snapshot
// before it offers it, sets a damaged one aside, sends the one before and has a new
// one made.
func TestALeaderOffersNoDamagedSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1)
		var said diary
		q.edit = func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) }
		q.start(1)
		defer q.stopAll()
		lead := q.leader()
		var ends []kafka.Offset
		for i := range 2 {
			end := mustAppend(t, lead, record(t, i))
			q.ears[1].awaitEnd(t, end)
			takeSnapshot(t, lead, end, q.ears[1].heard())
			ends = append(ends, end)
		}
		end := mustAppend(t, lead, record(t, 2))
		last := SnapshotID{EndOffset: ends[1], Epoch: lead.View().LogEndEpoch}
		damaged(t, q.disks[1], lead.folder.path(last), func(b []byte) []byte { return flip(len(b) / 2)(b) })
		q.edit = broker
		q.start(8)
		q.ears[8].awaitEnd(t, end)
		if got := q.ears[8].heard(); len(got) != 3 || len(q.ears[8].loaded) != 1 || q.ears[8].loaded[0].EndOffset != ends[0] {
			t.Errorf("%d records, loaded %v", len(got), q.ears[8].loaded)
		}
		if n := said.with("a snapshot is damaged", snapshotName(last)); n != 1 || !lead.SnapshotWanted() {
			t.Errorf("said %d times, a new one is wanted: %v; %s", n, lead.SnapshotWanted(), said.lines)
		}
		synctest.Wait()
		all := names(t, q.disks[1], dataDir)
		if slices.Contains(all, snapshotName(last)) || !slices.Contains(all, snapshotStem(last)+damagedSuffix) {
			t.Error(all)
		}
		takeSnapshot(t, lead, ends[1], q.ears[8].heard()[:2]) // a new one may take its place
		synctest.Wait()
		if lead.SnapshotWanted() {
			t.Error("a new snapshot is wanted still")
		}
	})
}
