package raftnode

import (
	"fmt"
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// Listener is told what is committed and who leads. Calls come in order from
// one goroutine; a slow listener holds up nobody but itself.
type Listener interface {
	// Snapshot replaces everything told so far. Bootstrap records of the
	// checkpoint of format time are not told; see Bootstrap.
	Snapshot(r *SnapshotReader)
	// Commit brings every committed batch, in order and as many at once as there
	// are by now, also those of control records, which have no records for the
	// listener but move the end. There is at least one.
	Commit(batches []Batch)
	// Leader tells who leads an epoch: NoNode first, if nobody is known yet, then
	// the leader. A node that led and gave up tells NoNode for the same epoch
	// again. This node is named only after all records below the start of its
	// epoch, and its change of leader, were told (KAFKA-15345).
	Leader(l LeaderAndEpoch)
}

// Batch is one committed batch. The records, and the slice it came in, live until
// Commit returns.
type Batch struct {
	Base, End       kafka.Offset
	Epoch           kafka.Epoch
	AppendTimestamp int64    // ms since 1970
	Records         [][]byte // framed metadata records
	Size            int      // bytes in the log
}

// LeaderAndEpoch names the leader of an epoch, or NoNode.
type LeaderAndEpoch struct {
	Leader kafka.NodeID
	Epoch  kafka.Epoch
}

// nobodyYet is what a listener knows at first.
var nobodyYet = LeaderAndEpoch{Leader: kafka.NoNode, Epoch: kafka.NoEpoch}

// listeners hold what every listener has to be told.
type listeners struct {
	n       *Node
	mu      sync.Mutex
	changed *sync.Cond
	commit  kafka.Offset // committed and written
	leader  LeaderAndEpoch
	after   kafka.Offset // the leader is told once this offset was passed
	closed  bool
	wg      sync.WaitGroup
}

func newListeners(n *Node) *listeners {
	l := &listeners{n: n, commit: kafka.NoOffset, after: kafka.NoOffset, leader: nobodyYet}
	l.changed = sync.NewCond(&l.mu)
	return l
}

func (l *listeners) show(commit kafka.Offset, leader LeaderAndEpoch, after kafka.Offset) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if commit == l.commit && leader == l.leader && after == l.after {
		return
	}
	l.commit, l.leader, l.after = max(commit, l.commit), leader, after
	l.changed.Broadcast()
}

func (l *listeners) stop() {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	l.wg.Wait()
}

// Subscribe adds a listener. It is told everything from the beginning: the
// latest snapshot if what follows it is all there is, else the log.
func (n *Node) Subscribe(to Listener) {
	n.listeners.wg.Go((&delivery{n: n, to: to, told: nobodyYet}).run)
}

// keptBytes is how much of a buffer an idle delivery keeps.
const keptBytes = 64 << 10

// delivery tells one listener.
type delivery struct {
	n    *Node
	to   Listener
	next kafka.Offset // everything below was told
	told LeaderAndEpoch

	buf     []byte
	records [][]byte // of all batches in buf
	batches []Batch
}

// run waits for news and tells it, until the node stops.
func (d *delivery) run() {
	for {
		commit, leader, tell, ok := d.wait()
		if !ok {
			return
		}
		if err := d.catchUp(commit); err != nil {
			_ = d.n.put(failed{fmt.Errorf("reading committed records at offset %d: %w", d.next, err)})
			return
		}
		if tell {
			d.told = leader
			d.to.Leader(leader)
		}
	}
}

// wait blocks until there is something to tell. The leader is told when
// everything before it was.
func (d *delivery) wait() (commit kafka.Offset, leader LeaderAndEpoch, tell, ok bool) {
	l := d.n.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		tell = l.leader != d.told && max(d.next, l.commit) > l.after
		switch {
		case l.closed:
			return 0, leader, false, false
		case tell || l.commit > d.next:
			return l.commit, l.leader, tell, true
		}
		l.changed.Wait()
	}
}

// catchUp tells everything below commit.
func (d *delivery) catchUp(commit kafka.Offset) error {
	for d.next < commit {
		if id, behind := d.snapshotAhead(); behind {
			if err := d.load(id); err != nil {
				return err
			}
			continue
		}
		var err error
		if d.buf, err = d.n.log.Read(d.buf[:0], d.next, commit, scanBytes); err != nil {
			if d.next < d.n.log.Start() {
				continue // it was cleaned away just now
			}
			return err
		}
		if err := d.tell(commit); err != nil {
			return err
		}
	}
	if cap(d.buf) > keptBytes {
		d.buf, d.records, d.batches = nil, nil, nil // of a replay; what is new is small
	}
	return nil
}

// snapshotAhead tells which snapshot to load: at the beginning the latest one,
// later only when the log does not reach back far enough.
func (d *delivery) snapshotAhead() (raft.SnapshotID, bool) {
	id := d.n.latest.Load()
	if id == nil || id.EndOffset <= d.next || d.next > 0 && d.next >= d.n.log.Start() {
		return raft.SnapshotID{}, false
	}
	return *id, true
}

func (d *delivery) load(id raft.SnapshotID) error {
	r, err := d.n.folder.open(id)
	if err != nil {
		if now := d.n.latest.Load(); now != nil && *now != id {
			return nil // a newer one has taken its place
		}
		return err
	}
	d.to.Snapshot(r)
	d.next = id.EndOffset
	return nil
}

// tell hands on the batches that were read.
func (d *delivery) tell(commit kafka.Offset) error {
	d.batches, d.records = d.batches[:0], d.records[:0]
	next := d.next
	for h, raw := range batch.All(d.buf) {
		if h.End() <= next || h.End() > commit {
			continue
		}
		b := Batch{Base: h.BaseOffset, End: h.End(), Epoch: h.LeaderEpoch, AppendTimestamp: h.MaxTimestamp, Size: len(raw)}
		if !h.Control() {
			var err error
			first := len(d.records)
			if d.records, err = values(d.records, raw); err != nil {
				return err
			}
			b.Records = d.records[first:len(d.records):len(d.records)]
		}
		d.batches = append(d.batches, b)
		next = h.End()
	}
	if next == d.next {
		return fmt.Errorf("%w: nothing can be read below %d", batch.ErrCorrupt, commit)
	}
	d.to.Commit(d.batches)
	d.next = next
	return nil
}
