package raftnode

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// diary is a log that is read by a test.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, string(line))
	return len(line), nil
}

// with counts the lines that hold all of some words.
func (d *diary) with(words ...string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.lines {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// firstSegment is where the nodes of a quorum in memory begin their logs.
const firstSegment = "/data/__cluster_metadata-0/00000000000000000000.log"

// rot turns a bit of the records of a batch where the log lies, under a node that
// has it open.
func rot(t *testing.T, fsys vfs.FS, which int) {
	t.Helper()
	b, err := vfs.ReadFile(fsys, firstSegment, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, one := range batch.All(b) {
		if which--; which < 0 {
			break
		}
		at += len(one)
	}
	at += batch.HeaderSize + 3
	f, err := fsys.OpenFile(firstSegment, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b[at] ^ 1}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// broker makes what starts next a node that never votes and asks voters 1 to 3.
func broker(c *Config) {
	c.Controller, c.Endpoints = false, nil
	for _, v := range c.Voters {
		c.Bootstrap = append(c.Bootstrap, raft.Endpoint{Host: "localhost", Port: v.Endpoints[0].Port})
	}
}

// A leader that reads from its disk what it has not written names the file and the
// byte, and makes room for a voter that holds the records.
func TestALeaderThatReadsDamageMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		fatal := make(chan error, 3)
		q.edit = func(c *Config) { c.Fatal = func(err error) { fatal <- err } }
		q.start(1, 2, 3)
		defer q.stopAll()
		lead := q.leader()
		id, epoch := lead.View().Leader, lead.View().Epoch
		var end kafka.Offset
		for i := range 5 {
			end = mustAppend(t, lead, record(t, i))
		}
		for _, e := range q.ears {
			e.awaitEnd(t, end)
		}
		rot(t, q.disks[id], 3)
		q.edit = broker
		q.start(8)
		err := <-fatal
		for _, word := range []string{firstSegment, "byte", "offset 3 "} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not say %q", err, word)
			}
		}
		q.net.set(address(id), nil)
		leave(t, q.nodes[id])
		delete(q.nodes, id)
		delete(q.ears, id)
		if v := q.leader().View(); v.Epoch <= epoch || v.Leader == id {
			t.Errorf("%d leads epoch %d", v.Leader, v.Epoch)
		}
		q.ears[8].awaitEnd(t, end)
		if got := q.ears[8].heard(); len(got) != 5 {
			t.Errorf("the broker has %d records", len(got))
		}
	})
}

// An only voter has nobody who could lead in its place. It goes on, says once where
// the damage is, and whoever needs those records asks for them less and less often.
func TestAnOnlyVoterWithDamageGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1)
		var said diary
		q.edit = func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) }
		q.start(1)
		defer q.stopAll()
		lead := q.leader()
		var end kafka.Offset
		for i := range 5 {
			end = mustAppend(t, lead, record(t, i))
		}
		q.ears[1].awaitEnd(t, end)
		rot(t, q.disks[1], 3)
		q.edit = broker
		q.start(8)
		time.Sleep(10 * time.Second) // of the bubble
		if n := q.net.count("*kmsg.FetchRequest"); n > 40 {
			t.Errorf("%d fetches in 10 s", n)
		}
		if n := said.with("the metadata log is damaged", ".log is damaged at byte", "offset 3 "); n != 1 {
			t.Errorf("it says so %d times: %s", n, said.lines)
		}
		end = mustAppend(t, lead, record(t, 9))
		q.ears[1].awaitEnd(t, end)
	})
}

// Records that are damaged, and a batch that is not there in full, are told as such
// and not as an answer without records.
func TestDamagedRecordsAreNotNone(t *testing.T) {
	sound, err := dataBatch([][]byte{record(t, 1)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := func(raw []byte, damaged bool, end kafka.Offset) {
		t.Helper()
		resp := kmsg.NewPtrFetchResponse()
		topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = raw
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		body, _, code := translator{}.readFetch(resp)
		if a := body.(raft.FetchAnswer); code != 0 || a.Damaged != damaged || a.Span.End != end {
			t.Errorf("%d bytes: damaged %v, up to %d, %v", len(raw), a.Damaged, a.Span.End, code)
		}
	}
	second := slices.Clone(sound)
	batch.SetBaseOffset(second, 1)
	f(nil, false, 0)
	f(sound, false, 1)
	f(flip(batch.HeaderSize+3)(sound), true, 0)
	f(sound[:len(sound)-1], true, 0)
	f(slices.Concat(sound, second), false, 2)
	f(slices.Concat(sound, second[:70]), false, 1) // where the limit of a fetch falls
	f(slices.Concat(sound, flip(batch.HeaderSize+3)(second)), true, 1)
}
