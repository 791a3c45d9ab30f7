package raftnode

import (
	"context"
	"errors"
	"fmt"
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

// cutter is a leader that tells a follower once where its log ends in epoch 1.
type cutter struct {
	end  kafka.Offset
	told bool
}

func (c *cutter) Send(_ kafka.NodeID, _ string, req kmsg.Request, done func(kmsg.Response, error)) {
	fetch, ok := req.(*kmsg.FetchRequest)
	if !ok || c.told || fetch.Topics[0].Partitions[0].FetchOffset == 0 {
		go func() {
			time.Sleep(100 * time.Millisecond) // of the bubble
			done(nil, errUnreachable)
		}()
		return
	}
	c.told = true
	fetch.SetVersion(17)
	go done(respondFetch(RequestInfo{}, fetch, raft.FetchAnswer{
		Err: kerr.None, Hint: raft.Hint{Leader: 2, Epoch: 5}, HighWatermark: 0, LogStart: 0,
		Diverging: &raft.EpochEnd{Epoch: 1, End: c.end},
	}, nil), nil)
}

// startsBefore9 is a disk whose log starts after 0 and before 9, where a snapshot ends,
// and goes on to 12. The snapshot has the given name and cannot be read.
func startsBefore9(t *testing.T, name string) (*vfs.Mem, Config) {
	t.Helper()
	mem := vfs.NewMem()
	cfg := lone(mem, metadataDir)
	cfg.SegmentBytes = 300
	n := start(t, cfg)
	e := listen(n)
	for i := range 11 {
		e.awaitEnd(t, mustAppend(t, n, record(t, i)))
	}
	stop(t, n)
	first := segments(t, mem)[0]
	remove(t, mem, first)
	if l, err := cfg.openLog(1); err != nil || l.Start() <= 0 || l.Start() >= 9 || l.End() != 12 {
		t.Fatal(l, err)
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, mem, metadataDir+"/"+name, nil)
	for _, id := range []kafka.NodeID{2, 3} {
		cfg.Voters = cfg.Voters.With(raft.Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpoints(uint16(9000 + id))})
	}
	return mem, cfg
}

// Rule: "all below its end was committed, so this node lets no leader cut it off". What the
// name of a damaged snapshot says counts, also when it was set aside before.
func TestAMuteControllerCutsNothingThatASnapshotProvesCommitted(t *testing.T) {
	f := func(name string, at kafka.Offset, cuts bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			_, cfg := startsBefore9(t, name)
			cfg.Sender = &cutter{end: at}
			r, err := StartRefill(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			begin := r.node.wire.askBegin(raft.BeginRequest{Voter: kafka.ReplicaKey{Node: 1}, Leader: 2, Epoch: 5, Endpoints: endpoints(9002)})
			r.Handle(ctx, RequestInfo{Listener: "CONTROLLER"}, again(begin, 1), func(kmsg.Response) {})
			time.Sleep(10 * time.Second) // of the bubble
			cancel()
			err = <-done
			time.Sleep(time.Second) // of the bubble: what was asked last is answered
			refused := strings.Contains(fmt.Sprint(err), "which is committed")
			if end := r.View().LogEnd; cuts && (refused || end != at) || !cuts && (!refused || end != 12) {
				t.Errorf("%s, cut at %d: the log ends at %d, %v", name, at, end, err)
			}
		})
	}
	const newest = "00000000000000000009-0000000001"
	f(newest+snapshotSuffix, 10, true)
	f(newest+snapshotSuffix, 9, true)
	f(newest+snapshotSuffix, 8, false)
	f(newest+damagedSuffix, 9, true)
	f(newest+damagedSuffix, 8, false)
	f("00000000000000000009-0000000000"+snapshotSuffix, 8, true) // it says nothing of this log
	f("00000000000000000099-0000000001"+snapshotSuffix, 8, true)
}

// A kill, or a loss of power, at each step of a Refill leaves what the next one goes on
// with: the same log, and the epoch in which what came before it ends.
func TestARefillGoesOnAfterAKillAtEachStep(t *testing.T) {
	for _, empty := range []bool{false, true} { // nothing is in the log behind the snapshot
		synctest.Test(t, func(t *testing.T) {
			q := forgetful(t, true)
			defer q.stopAll()
			end := q.clean(q.leader(), 1, 2, 3)
			id := q.follower()
			if !empty { // what follows is of the next epoch
				old := q.leader().View().Leader
				q.stop(old)
				q.start(old)
				q.ears[id].awaitEnd(t, q.write(q.leader()))
			}
			q.stop(id)
			if empty {
				l, err := q.config(id).openLog(q.leader().View().Epoch)
				if err == nil {
					err = errors.Join(l.StartAt(end), l.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			cfg := q.harmSnapshots(id)
			cfg.Formatted = true
			whole := q.disks[id].Crash()
			want := beforeLog(t, cfg, whole)
			for step := 0; ; step++ {
				mem := whole.Crash()
				disk := vfs.NewFault(mem)
				disk.StopAfter(step)
				if refillOn(t, cfg, disk) == nil {
					break
				}
				for kind, after := range map[string]*vfs.Mem{"killed": mem, "power lost": mem.Crash()} {
					if n, err := Start(t.Context(), on(cfg, after)); err == nil {
						leave(t, n)
						continue
					} else if !errors.Is(err, ErrGap) {
						t.Fatalf("step %d, %s: %v", step, kind, err)
					}
					if got := beforeLog(t, cfg, after); got != want {
						t.Errorf("step %d, %s: before the log is %v, and it was %v", step, kind, got, want)
					}
					if err := refillOn(t, cfg, after); err != nil {
						t.Fatalf("step %d, %s: %v", step, kind, err)
					}
					n, err := Start(t.Context(), on(cfg, after))
					if err != nil {
						t.Fatalf("step %d, %s: %v", step, kind, err)
					}
					leave(t, n)
				}
			}
		})
	}
}

func on(cfg Config, disk vfs.FS) Config {
	cfg.FS = disk
	return cfg
}

// refillOn runs a Refill on a disk to its end.
func refillOn(t *testing.T, cfg Config, disk vfs.FS) error {
	t.Helper()
	r, err := StartRefill(on(cfg, disk))
	if err != nil {
		return err
	}
	return r.Run(t.Context())
}

// beforeLog is what a Refill takes for the end of what came before the log on a disk.
func beforeLog(t *testing.T, cfg Config, disk *vfs.Mem) SnapshotID {
	t.Helper()
	o, _, err := openMute(on(cfg, disk.Crash()).withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer o.log.Close()
	return o.stored.Snapshots[0].ID
}
