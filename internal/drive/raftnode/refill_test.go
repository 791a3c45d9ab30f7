package raftnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// forgetful is a quorum of three whose nodes keep no more of the log than their
// latest snapshot needs.
func forgetful(t *testing.T, dynamic bool) *quorum {
	q := newQuorum(t, 1, 2, 3)
	if dynamic {
		q = newDynamicQuorum(t, 1, 2, 3)
	}
	more := q.edit
	q.edit = func(c *Config) {
		if more != nil {
			more(c)
		}
		c.SegmentBytes, c.Retention = 300, Retention{Bytes: 1, Age: -1}
	}
	q.start(1, 2, 3)
	return q
}

// write appends records until there are some segments, and returns their end.
func (q *quorum) write(lead *Node) (end kafka.Offset) {
	for i := range 40 {
		end = mustAppend(q.t, lead, record(q.t, i))
	}
	for _, e := range q.ears {
		e.awaitEnd(q.t, end)
	}
	return end
}

// clean has nodes take two snapshots, with records between them, and drop what came
// before the later one. It gives the end of the log.
func (q *quorum) clean(lead *Node, ids ...kafka.NodeID) (end kafka.Offset) {
	q.t.Helper()
	for range 2 {
		end = q.write(lead)
		for _, id := range ids {
			takeSnapshot(q.t, q.nodes[id], end, q.ears[id].heard())
		}
	}
	time.Sleep(2 * cleanEvery) // of the bubble
	for _, id := range ids {
		if v := q.nodes[id].View(); v.LogStart == 0 {
			q.t.Fatalf("the log of node %d still starts at 0 and ends at %d", id, v.LogEnd)
		}
	}
	return end
}

// stop ends a node in good order; its disk keeps all.
func (q *quorum) stop(id kafka.NodeID) {
	q.t.Helper()
	leave(q.t, q.nodes[id])
	q.net.set(address(id), nil)
	delete(q.nodes, id)
	delete(q.ears, id)
}

// refill starts a Refill on the disk of a node that is down, reachable for its peers.
// done has what its Run ends with.
func (q *quorum) refill(ctx context.Context, cfg Config) (r *Refill, done chan error) {
	q.t.Helper()
	if _, err := Start(ctx, cfg); !errors.Is(err, ErrGap) {
		q.t.Fatalf("started: %v", err)
	}
	r, err := StartRefill(cfg)
	if err != nil {
		q.t.Fatal(err)
	}
	q.net.set(address(cfg.Self.Node), r)
	done = make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, done
}

// follower is a node that does not lead.
func (q *quorum) follower() kafka.NodeID {
	for id, n := range q.nodes {
		if n.View().Role == raft.RoleFollower {
			return id
		}
	}
	q.t.Fatal("nobody follows")
	return kafka.NoNode
}

// harmSnapshots flips a bit in the snapshots of a node that is down, and gives its
// configuration.
func (q *quorum) harmSnapshots(id kafka.NodeID) Config {
	q.t.Helper()
	for _, name := range names(q.t, q.disks[id], dataDir) {
		if strings.HasSuffix(name, snapshotSuffix) {
			b := bytesOf(q.t, q.disks[id], dataDir+"/"+name)
			b[len(b)/2] ^= 1
			write(q.t, q.disks[id], dataDir+"/"+name, b)
		}
	}
	return q.config(id)
}

// Issue: "a corrupt snapshot falls back to the previous one or the leader's". A
// controller keeps its place: its votes and all it has acknowledged are there.
func TestAControllerThatLostItsOnlySnapshotTakesTheLeaders(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		for _, later := range []bool{false, true} { // the leader's is a later one, in a later epoch
			synctest.Test(t, func(t *testing.T) {
				q := forgetful(t, dynamic)
				defer q.stopAll()
				end := q.clean(q.leader(), 1, 2, 3)
				id := q.follower()
				more := mustAppend(t, q.leader(), record(t, 90))
				q.ears[id].awaitEnd(t, more)
				q.stop(id)
				if later {
					old := q.leader().View().Leader
					q.stop(old)
					q.start(old)
					end = q.clean(q.leader(), q.leader().View().Leader)
				}
				epoch := q.leader().View().Epoch
				_, done := q.refill(t.Context(), q.harmSnapshots(id))
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				q.start(id)
				if v := q.nodes[id].View(); v.LogEnd < end {
					t.Errorf("its log ends at %d, the snapshot at %d", v.LogEnd, end)
				} else if !later && v.LogEnd < more {
					t.Errorf("its log ends at %d, and it had acknowledged %d", v.LogEnd, more)
				}
				q.ears[id].awaitEnd(t, q.write(q.leader()))
				if v := q.leader().View(); v.Epoch != epoch {
					t.Errorf("epoch %d after %d", v.Epoch, epoch)
				}
				all := strings.Join(names(t, q.disks[id], dataDir), " ")
				if !strings.Contains(all, damagedSuffix) || strings.Contains(all, partSuffix) {
					t.Error(all)
				}
			})
		}
	}
}

// "A majority may have lost its snapshots at once": all that is needed to elect is there,
// and the one that has a snapshot is elected with the votes of the others.
func TestControllersWithoutSnapshotsElectOneThatHasOne(t *testing.T) {
	f := func(dynamic bool, lost ...kafka.NodeID) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			q := forgetful(t, dynamic)
			defer q.stopAll()
			end := q.clean(q.leader(), 1, 2, 3)
			for _, id := range []kafka.NodeID{1, 2, 3} {
				q.stop(id)
			}
			before := map[kafka.NodeID]string{}
			runs := map[kafka.NodeID]chan error{}
			for _, id := range lost {
				before[id] = string(bytesOf(t, q.disks[id], dataDir+"/"+quorumStateName))
				_, runs[id] = q.refill(t.Context(), q.harmSnapshots(id))
			}
			q.start(3)
			if lead := q.leader().View().Leader; lead != 3 {
				t.Fatal("the leader is", lead)
			}
			for id, done := range runs {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if now := string(bytesOf(t, q.disks[id], dataDir+"/"+quorumStateName)); shapeOf(t, now) != shapeOf(t, before[id]) {
					t.Errorf("its election state was %s and is %s", before[id], now)
				}
				q.start(id)
			}
			end = max(end, q.write(q.leader()))
			for id, e := range q.ears {
				e.awaitEnd(t, end)
				if v := q.nodes[id].View(); v.Observer {
					t.Errorf("node %d does not vote", id)
				}
			}
		})
	}
	for _, dynamic := range []bool{false, true} {
		f(dynamic, 1, 2)
		f(dynamic, 1) // and 2 stays down
	}
}

// shapeOf is what a quorum-state file says besides the election.
func shapeOf(t *testing.T, text string) string {
	t.Helper()
	state, version, err := metarec.ReadQuorumState([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(version, state.CurrentVoters)
}

// "A mute node ... does not stand for election", whatever it meets. It votes "by how far
// its log goes": not for one that lacks what it has acknowledged.
func TestAControllerWithoutASnapshotVotesByItsLogAndDoesNotStand(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := forgetful(t, dynamic)
			defer q.stopAll()
			q.clean(q.leader(), 1, 2, 3)
			behind := q.follower()
			q.stop(behind)
			mustAppend(t, q.leader(), record(t, 91))
			time.Sleep(time.Second) // of the bubble: the other one has it
			var ahead kafka.NodeID
			for id := range q.nodes {
				ahead = id
				q.stop(id)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cfg := q.harmSnapshots(ahead)
			var said strings.Builder
			cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
			r, done := q.refill(ctx, cfg)
			q.start(behind)
			time.Sleep(time.Minute) // of the bubble
			if v := r.View(); v.Role == raft.RoleLeader || v.Role == raft.RoleCandidate || v.Role == raft.RoleProspective || v.LogEnd <= q.nodes[behind].View().LogEnd {
				t.Errorf("without a snapshot: %+v", v)
			}
			if v := q.nodes[behind].View(); v.Role == raft.RoleLeader {
				t.Errorf("%+v was elected with a log that ends before %d", v, r.View().LogEnd)
			}
			cancel()
			if err := <-done; !errors.Is(err, ErrGap) {
				t.Error(err)
			}
			if all := said.String(); !strings.Contains(all, "is the longest of those that are up") || !strings.Contains(all, "start another controller that has these records, and format none") || strings.Contains(all, "add-controller") {
				t.Error("it does not say who keeps the leader away:", all)
			}
		})
	}
}

// A snapshot that ends before the log starts would leave a gap. The controller
// waits for one that does not; meanwhile it copies, so that there will be one.
func TestASnapshotThatDoesNotReachTheLogIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := forgetful(t, true)
		defer q.stopAll()
		lead := q.leader()
		q.clean(lead, lead.View().Leader)
		id := q.follower()
		q.clean(lead, id)
		for other := range q.nodes {
			if other != id && other != lead.View().Leader {
				q.stop(other)
			}
		}
		q.stop(id)
		cfg := q.harmSnapshots(id)
		var said strings.Builder
		cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
		kept := contentsIn(t, q.disks[id], dataDir, ".log")
		r, done := q.refill(t.Context(), cfg)
		start := r.View().LogStart
		time.Sleep(10 * time.Second) // of the bubble
		synctest.Wait()              // nobody writes to the log below
		select {
		case err := <-done:
			t.Fatal("it took an older one:", err)
		default:
		}
		if now := contentsIn(t, q.disks[id], dataDir, ".log"); !strings.HasPrefix(now, kept) || r.View().LogStart != start {
			t.Error("it changed its log")
		}
		if all := said.String(); !strings.Contains(all, "makes one by itself") || strings.Contains(all, "add-controller") {
			t.Error("it does not say that waiting helps:", all)
		}
		time.Sleep(leaderMakesOne + time.Minute) // of the bubble
		synctest.Wait()
		if all := said.String(); !strings.Contains(all, "add-controller") || !strings.Contains(all, copyOne) {
			t.Error("no way out is told where waiting has not helped:", all)
		}
		lead = q.leader()
		takeSnapshot(t, lead, q.write(lead), q.ears[lead.View().Leader].heard())
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		q.start(id)
		q.ears[id].awaitEnd(t, q.write(q.leader()))
	})
}

// Who is the only controller has nobody to ask but itself, and says at once what can
// be done, as before there was a Refill.
func TestAnOnlyControllerAsksNobody(t *testing.T) {
	mem, cfg, latest := startsAt8(t)
	write(t, mem, latest, nil)
	before := contentsOf(t, mem)
	own := cfg.Endpoints[0]
	f := func(what string, voters raft.Voters, bootstrap ...raft.Endpoint) {
		t.Helper()
		cfg.Voters, cfg.Bootstrap = voters, bootstrap
		if _, err := StartRefill(cfg); !errors.Is(err, ErrGap) || !strings.Contains(err.Error(), copyOne) || !strings.Contains(err.Error(), "add-controller") {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("a static voter", cfg.Voters, own)
	f("a dynamic one", nil, own)
	f("no settings", nil)
	if !maps.Equal(before, contentsOf(t, mem)) {
		t.Error("it changed files")
	}
}

// While nobody answers, the controller says each minute what it waits for, keeps its
// damaged snapshot, and ends when it is told to. Nobody is told to give a directory up
// that a leader may be elected with.
func TestARefillSaysWhatItWaitsFor(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := forgetful(t, dynamic)
			defer q.stopAll()
			q.clean(q.leader(), 1, 2, 3)
			id := q.follower()
			q.stop(id)
			cfg := q.harmSnapshots(id)
			var said strings.Builder
			cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
			for other := range q.nodes {
				q.net.isolate(address(other), true)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
			defer cancel()
			_, done := q.refill(ctx, cfg)
			if err := <-done; !errors.Is(err, ErrGap) {
				t.Errorf("got %v", err)
			}
			if n := strings.Count(said.String(), "waits for a leader's snapshot"); n != 3 || strings.Contains(said.String(), "add-controller") {
				t.Errorf("said %d times in two and a half minutes:\n%s", n, said.String())
			}
			if n := strings.Count(said.String(), copyOne); n != 2 {
				t.Errorf("said %d times what can be done, in the second minute and the third:\n%s", n, said.String())
			}
			if all := strings.Join(names(t, q.disks[id], dataDir), " "); strings.Contains(all, damagedSuffix) {
				t.Error("its snapshot is gone before there is another:", all)
			}
		})
	}
}

// A disk that fails while the controller waits ends the wait.
func TestARefillEndsWithItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := forgetful(t, false)
		defer q.stopAll()
		lead := q.leader()
		q.clean(lead, 1, 2, 3)
		id := q.follower()
		q.stop(id)
		cfg := q.harmSnapshots(id)
		disk := vfs.NewFault(cfg.FS)
		cfg.FS = disk
		bad := errors.New("bad disk")
		disk.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: partSuffix, Err: bad})
		if _, done := q.refill(t.Context(), cfg); !errors.Is(<-done, bad) {
			t.Error("it goes on without its disk")
		}
	})
}

// Rule: what is before the log is of no later epoch than said, so that a log that is cut
// down to nothing votes for none that may be shorter.
func TestTheEpochBeforeALogIsNeverTakenForAnEarlierOne(t *testing.T) {
	damaged := func(end kafka.Offset, epoch kafka.Epoch) []raft.SnapshotID {
		return []raft.SnapshotID{{EndOffset: end, Epoch: epoch}}
	}
	f := func(d []raft.SnapshotID, known kafka.Epoch, first kafka.Epoch, want kafka.Epoch, ok bool) {
		t.Helper()
		var log []raft.EpochStart
		if first >= 0 {
			log = []raft.EpochStart{{Epoch: first, Start: 8}, {Epoch: first + 1, Start: 10}}
		}
		if got, told := epochBefore(d, 8, known, log); told != ok || ok && got != want {
			t.Errorf("epoch %d, %v; want %d, %v", got, told, want, ok)
		}
	}
	const none, unknown = -1, math.MaxInt32
	f(damaged(8, 3), 7, none, 3, true)
	f(damaged(8, 3), 7, 4, 3, true)
	f(damaged(8, 3), unknown, none, 3, true)
	f(damaged(9, 3), 7, none, 7, true) // it says nothing of offset 7
	f(damaged(8, 9), 7, none, 7, true) // nor one whose name cannot be
	f(damaged(8, 6), 7, 5, 5, true)
	f(nil, 7, 5, 5, true)
	f(nil, unknown, 5, 5, true)
	f(nil, unknown, none, 0, false)
}

// "All nodes have the same metadata, and brokers make snapshots of it as controllers do":
// where no controller has a whole snapshot nobody leads, and with a broker's in their
// folders they start, in their old places, with all that they had.
func TestControllersThatAllLostTheirSnapshotsStartWithABrokers(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := forgetful(t, dynamic)
			defer q.stopAll()
			controllers := q.edit
			q.edit = func(c *Config) {
				controllers(c)
				c.Controller, c.Formatted, c.Endpoints = false, false, nil
				c.Bootstrap = []raft.Endpoint{{Host: "localhost", Port: 9001}, {Host: "localhost", Port: 9002}, {Host: "localhost", Port: 9003}}
			}
			q.start(7)
			q.edit = controllers
			end := q.clean(q.leader(), 1, 2, 3, 7)
			more := q.write(q.leader())
			for _, id := range []kafka.NodeID{7, 1, 2, 3} {
				q.stop(id)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var said [4]strings.Builder
			var runs []chan error
			for id := kafka.NodeID(1); id <= 3; id++ {
				cfg := q.harmSnapshots(id)
				cfg.Log = slog.New(slog.NewTextHandler(&said[id], nil))
				_, done := q.refill(ctx, cfg)
				runs = append(runs, done)
			}
			for _, done := range runs {
				if err := <-done; !errors.Is(err, ErrGap) {
					t.Error(err)
				}
			}
			name := ""
			for _, n := range names(t, q.disks[7], dataDir) {
				if strings.HasSuffix(n, snapshotSuffix) {
					name = dataDir + "/" + n
				}
			}
			for id := kafka.NodeID(1); id <= 3; id++ {
				if !strings.Contains(said[id].String(), copyOne) {
					t.Errorf("node %d does not say what can be done: %s", id, said[id].String())
				}
				write(t, q.disks[id], name, bytesOf(t, q.disks[7], name))
			}
			q.start(1, 2, 3)
			if v := q.leader().View(); v.LogStart > end || v.LogEnd < more {
				t.Errorf("the log of the leader is %d to %d, and it was %d to %d", v.LogStart, v.LogEnd, end, more)
			}
			for end := q.write(q.leader()); len(q.ears) > 0; {
				for id, e := range q.ears {
					e.awaitEnd(t, end)
					delete(q.ears, id)
				}
			}
		})
	}
}

// slow is a way on which nothing comes back before it ends.
type slow struct{ ctx context.Context }

func (s slow) Send(_ kafka.NodeID, _ string, _ kmsg.Request, done func(kmsg.Response, error)) {
	go func() {
		<-s.ctx.Done()
		done(nil, errUnreachable)
	}()
}

// "A piece of a snapshot that is slow to come is not to hold up the fetches of the
// quorum": it has connections of its own, and one request at a time on them.
func TestASlowRefillDoesNotHoldUpTheQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := forgetful(t, true)
		defer q.stopAll()
		q.clean(q.leader(), 1, 2, 3)
		id := q.follower()
		q.stop(id)
		for other, n := range q.nodes { // so that the vote of the third is needed
			if n.View().Role != raft.RoleLeader {
				q.stop(other)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cfg := q.harmSnapshots(id)
		cfg.Bulk = slow{ctx}
		r, done := q.refill(ctx, cfg)
		time.Sleep(10 * time.Second) // of the bubble: a majority is there
		lead := q.leader()
		end := mustAppend(t, lead, record(t, 92))
		time.Sleep(time.Second) // of the bubble
		if at, hw := r.View().LogEnd, lead.View().HighWatermark; at < end || hw < end {
			t.Errorf("the log ends at %d after %d, and %d is committed", at, end, hw)
		}
		if n := q.net.count("*kmsg.FetchSnapshotRequest"); n > 0 {
			t.Errorf("%d pieces were asked for on the way of the quorum", n)
		}
		cancel()
		if err := <-done; !errors.Is(err, ErrGap) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// contentsIn are the bytes of the files with a suffix, one after the other.
func contentsIn(t *testing.T, fsys vfs.FS, dir, suffix string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names(t, fsys, dir) {
		if strings.HasSuffix(name, suffix) {
			all.Write(bytesOf(t, fsys, dir+"/"+name))
		}
	}
	return all.String()
}
