package raftnode

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

var self = kafka.ReplicaKey{Node: 1, Dir: kafka.DirID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}

func endpoints(port uint16) raft.Endpoints {
	return raft.Endpoints{{Name: "CONTROLLER", Host: "localhost", Port: port}}
}

// lone is the configuration of an only, static voter.
func lone(fsys vfs.FS, dir string) Config {
	return Config{
		FS: fsys, Dir: dir, ClusterID: "cluster", Self: self, Controller: true,
		Endpoints: endpoints(9093), Listener: "CONTROLLER",
		Voters: raft.NewVoters(raft.Voter{Key: kafka.ReplicaKey{Node: 1}, Endpoints: endpoints(9093)}),
		Seed:   1,
	}
}

func start(t testing.TB, cfg Config) *Node {
	t.Helper()
	if cfg.Fatal == nil {
		cfg.Fatal = func(err error) { t.Errorf("node %d: %v", cfg.Self.Node, err) }
	}
	n, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func stop(t testing.TB, n *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// leave stops a node without waiting for another to lead.
func leave(t testing.TB, n *Node) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := n.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// record is a framed metadata record; i makes it recognisable.
func record(t testing.TB, i int) []byte {
	t.Helper()
	r := metarec.NewConfigRecord()
	r.ResourceType, r.ResourceName, r.Name = 4, fmt.Sprint(i), "some.key"
	b, err := metarec.AppendMetadata(nil, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ear is a listener that remembers what it was told.
type ear struct {
	mu       sync.Mutex
	news     *sync.Cond
	records  []string
	end      kafka.Offset
	leaders  []LeaderAndEpoch
	atLeader []kafka.Offset // end when the leader was told
	loaded   []SnapshotID
}

func listen(n *Node) *ear {
	e := &ear{}
	e.news = sync.NewCond(&e.mu)
	n.Subscribe(e)
	return e
}

func (e *ear) Snapshot(r *SnapshotReader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.records, e.end = nil, r.ID().EndOffset
	for records, err := range r.Batches() {
		if err != nil {
			panic(err)
		}
		e.take(records)
	}
	e.loaded = append(e.loaded, r.ID())
	e.news.Broadcast()
}

func (e *ear) take(records [][]byte) {
	for _, r := range records {
		e.records = append(e.records, string(r))
	}
}

func (e *ear) Commit(batches []Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range batches {
		if b.Base != e.end {
			panic(fmt.Sprintf("batch at %d follows %d", b.Base, e.end))
		}
		e.take(b.Records)
		e.end = b.End
	}
	e.news.Broadcast()
}

func (e *ear) Leader(l LeaderAndEpoch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaders, e.atLeader = append(e.leaders, l), append(e.atLeader, e.end)
	e.news.Broadcast()
}

// await waits until what the ear has heard satisfies ok.
func (e *ear) await(t testing.TB, what string, ok func(*ear) bool) {
	t.Helper()
	late := time.AfterFunc(patience, func() { e.mu.Lock(); e.news.Broadcast(); e.mu.Unlock() })
	defer late.Stop()
	begun := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for !ok(e) {
		if time.Since(begun) > patience {
			t.Fatalf("never happened: %s; heard end %d, leaders %v, %d records", what, e.end, e.leaders, len(e.records))
		}
		e.news.Wait()
	}
}

func (e *ear) awaitEnd(t testing.TB, end kafka.Offset) {
	t.Helper()
	e.await(t, fmt.Sprintf("commit of everything below %d", end), func(e *ear) bool { return e.end >= end })
}

func (e *ear) awaitLeader(t testing.TB, want LeaderAndEpoch) {
	t.Helper()
	e.await(t, fmt.Sprintf("leader %v", want), func(e *ear) bool { return slices.Contains(e.leaders, want) })
}

func (e *ear) heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.records)
}

func mustAppend(t testing.TB, n *Node, records ...[]byte) kafka.Offset {
	t.Helper()
	end, err := n.Append(n.View().Epoch, records)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func write(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	if err := vfs.WriteFileAtomic(fsys, name, data); err != nil {
		t.Fatal(err)
	}
}

func names(t testing.TB, fsys vfs.FS, dir string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.Sort(all)
	return all
}

func contextThatIsOver() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx, cancel
}
