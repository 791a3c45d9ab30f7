package raftnode

import (
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// life is what one process saw before its disk stopped.
type life struct {
	epoch     kafka.Epoch
	committed []string
	refused   error // to start
}

// story starts an only voter, commits records, writes and cleans up snapshots,
// and stops. It ends early when the disk does.
func story(t *testing.T, fsys vfs.FS, from int) (l life) {
	t.Helper()
	e := &ear{}
	e.news = sync.NewCond(&e.mu)
	var died bool // below e.mu
	cfg := lone(fsys, "/data/__cluster_metadata-0")
	cfg.Retention = Retention{Bytes: 1, Age: -1}
	cfg.SegmentBytes = 400
	cfg.Fatal = func(error) { e.mu.Lock(); died = true; e.news.Broadcast(); e.mu.Unlock() }
	n, err := Start(t.Context(), cfg)
	if err != nil {
		l.refused = err
		return l
	}
	n.Subscribe(e)
	l.epoch = n.View().Epoch
	for i := range 8 {
		end, err := n.Append(l.epoch, [][]byte{record(t, from+i)})
		if err != nil {
			break
		}
		e.await(t, "commit or the end of the disk", func(e *ear) bool { return e.end >= end || died })
		if i%3 == 2 {
			snapshotOf(n, e)
			tidy(n)
		}
	}
	l.committed = e.heard()
	leaveAnyway(n)
	return l
}

// snapshotOf writes what was heard; errors are those of the disk.
func snapshotOf(n *Node, e *ear) {
	e.mu.Lock()
	end, records := e.end, slices.Clone(e.records)
	e.mu.Unlock()
	w, err := n.CreateSnapshot(SnapshotID{EndOffset: end, Epoch: n.View().Epoch}, 1)
	if err != nil || w == nil {
		return
	}
	defer w.Close()
	var framed [][]byte
	for _, r := range records {
		framed = append(framed, []byte(r))
	}
	if w.Append(framed) == nil {
		_ = w.Freeze()
	}
}

// tidy cleans now and waits for it, or for the end of the disk.
func tidy(n *Node) {
	for begun := false; ; begun = true {
		p := &probe{begin: !begun, idle: make(chan bool, 1)}
		if n.put(p) != nil || <-p.idle {
			return
		}
	}
}

type probe struct {
	begin bool
	idle  chan bool
}

func (p *probe) run(l *loop) {
	if p.begin {
		l.clean.next = 0
		l.clean.turn(l)
	}
	p.idle <- !l.clean.running || l.fault != nil
}

// leaveAnyway stops a node whose disk may be gone.
func leaveAnyway(n *Node) {
	ctx, cancel := contextThatIsOver()
	defer cancel()
	_ = n.Stop(ctx)
}

// A process that stops at any step of the disk, with what was not synced lost,
// starts again: it leads a later epoch and has every committed record.
func TestACrashAtEveryStepLosesNothingCommitted(t *testing.T) {
	whole := vfs.NewFault(vfs.NewMem())
	story(t, whole, 0)
	total := whole.Changes()
	if total < 60 {
		t.Fatalf("the story has only %d steps", total)
	}
	for step := range total {
		mem := vfs.NewMem()
		disk := vfs.NewFault(mem)
		disk.StopAfter(step)
		before := story(t, disk, 0)
		for kind, after := range map[string]vfs.FS{"cut": mem.Crash(), "torn": mem.CrashTorn(uint64(step))} {
			name := fmt.Sprintf("step %d, %s", step, kind)
			then := story(t, after, 100)
			if then.epoch == 0 || then.epoch <= before.epoch {
				t.Errorf("%s: epoch %d after %d, %v", name, then.epoch, before.epoch, then.refused)
			}
			if len(then.committed) < len(before.committed)+8 || !slices.Equal(then.committed[:len(before.committed)], before.committed) {
				t.Fatalf("%s: %d records were committed, now there are %d", name, len(before.committed), len(then.committed))
			}
		}
	}
}

// A disk that fails makes the node refuse, and says so once.
func TestAFailedSyncIsFinal(t *testing.T) {
	disk := vfs.NewFault(vfs.NewMem())
	cfg := lone(disk, "/data/__cluster_metadata-0")
	fatal := make(chan error, 2)
	cfg.Fatal = func(err error) { fatal <- err }
	n := start(t, cfg)
	e := listen(n)
	e.awaitEnd(t, 1)
	disk.Inject(vfs.Rule{Ops: vfs.OpSync, Path: ".log", Err: vfs.ErrIO, Only: 1})
	mustAppend(t, n, record(t, 1))
	if err := <-fatal; err == nil {
		t.Error("no reason")
	}
	if _, err := n.Append(1, [][]byte{record(t, 2)}); err == nil {
		t.Error("appended to a failed log")
	}
	leaveAnyway(n)
	if got := e.heard(); len(got) != 0 {
		t.Errorf("%d records were committed without a sync", len(got))
	}
	if len(fatal) != 0 {
		t.Errorf("told twice: %v", <-fatal)
	}
}

// counter counts the syncs of a disk.
type counter struct {
	vfs.FS
	mu           sync.Mutex
	files, dirs  int
	filesByNames map[string]int
}

type countedFile struct {
	vfs.File
	c *counter
}

func (c *counter) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &countedFile{f, c}, nil
}

func (f *countedFile) Sync() error {
	f.c.mu.Lock()
	f.c.files++
	f.c.filesByNames[f.Name()]++
	f.c.mu.Unlock()
	return f.File.Sync()
}

func (c *counter) SyncDir(name string) error {
	c.mu.Lock()
	c.dirs++
	c.mu.Unlock()
	return c.FS.SyncDir(name)
}

// A start of an only voter on its own data syncs one file and its folder for
// the election; nothing else holds it up. The log's first batch takes its own
// few files and their folder along.
func TestARestartSyncsLittle(t *testing.T) {
	mem := vfs.NewMem()
	n := start(t, lone(mem, "/data/__cluster_metadata-0"))
	listen(n).awaitEnd(t, 1)
	stop(t, n)
	c := &counter{FS: mem, filesByNames: map[string]int{}}
	n = start(t, lone(c, "/data/__cluster_metadata-0"))
	defer stop(t, n)
	listen(n).awaitEnd(t, 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files > 4 || c.dirs > 4 {
		t.Errorf("%d files and %d folders were synced: %v", c.files, c.dirs, c.filesByNames)
	}
	for name, times := range c.filesByNames {
		if times > 1 {
			t.Errorf("%s was synced %d times", name, times)
		}
	}
}

// While a sync runs, what arrives waits; one more sync takes it all (B7).
func TestSyncsAreShared(t *testing.T) {
	disk := vfs.NewFault(vfs.NewMem())
	c := &counter{FS: disk, filesByNames: map[string]int{}}
	n := start(t, lone(c, "/data/__cluster_metadata-0"))
	defer stop(t, n)
	e := listen(n)
	e.awaitEnd(t, 1)
	release := make(chan struct{})
	disk.Inject(vfs.Rule{Ops: vfs.OpSync, Path: ".log", Only: 1, Hang: release})
	c.mu.Lock()
	before := c.files
	c.mu.Unlock()
	var end kafka.Offset
	for i := range 100 {
		end = mustAppend(t, n, record(t, i))
	}
	close(release)
	e.awaitEnd(t, end)
	c.mu.Lock()
	defer c.mu.Unlock()
	if took := c.files - before; took > 3 {
		t.Errorf("100 batches took %d syncs", took)
	}
}
