package raftnode

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// script is what a follower meets, whatever its disk holds when it starts: it
// copies four batches from node 1, which leads epoch 1; node 3 leads epoch 2 and
// has other batches from offset 2 on; then node 3 has only a snapshot that ends
// at 10, and two batches after it.
type script struct {
	mu       sync.Mutex
	t        testing.TB
	epoch    kafka.Epoch
	cleaned  bool // the log of node 3 starts at its snapshot
	snapshot []byte
	// promised is the end that the follower has said to be durable, and not been
	// told to cut; epochs is the highest epoch it has spoken of.
	promised kafka.Offset
	spoken   kafka.Epoch
	reached  chan struct{} // closed when it has everything
	wire     translator
}

const (
	firstEnd    = kafka.Offset(4)  // of the log of epoch 1
	commonEnd   = kafka.Offset(2)  // where the logs part
	secondEnd   = kafka.Offset(6)  // before node 3 cleans
	snapshotEnd = kafka.Offset(10) // of the snapshot
	lastEnd     = kafka.Offset(12)
)

func newScript(t testing.TB) *script {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/s", 0o755); err != nil {
		t.Fatal(err)
	}
	id := SnapshotID{EndOffset: snapshotEnd, Epoch: 2}
	w, err := newSnapshotFile(mem, "/s", id, 1, 1, 0, nil)
	if err == nil {
		err = w.Append([][]byte{record(t, 1), record(t, 2)})
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := vfs.ReadFile(mem, "/s/"+snapshotName(id), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return &script{t: t, epoch: 1, snapshot: raw, reached: make(chan struct{}), wire: translator{"cluster", "CONTROLLER", nil}}
}

// hint is who leads.
func (s *script) hint() raft.Hint {
	leader := kafka.NodeID(1)
	if s.epoch == 2 {
		leader = 3
	}
	return raft.Hint{Epoch: s.epoch, Leader: leader, Endpoints: endpoints(uint16(9000 + leader))}
}

// Send answers what the follower asks; votes find nobody.
func (s *script) Send(to kafka.NodeID, _ string, req kmsg.Request, done func(kmsg.Response, error)) {
	go func() { done(s.answer(to, req)) }() // ends with done
}

func (s *script) answer(to kafka.NodeID, req kmsg.Request) (kmsg.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.SetVersion(req.MaxVersion())
	from := RequestInfo{Listener: "CONTROLLER"}
	switch r := req.(type) {
	case *kmsg.FetchRequest:
		r.SetVersion(17)
		body, _ := s.wire.receiveFetch(r)
		a, raw := s.fetch(to, body.(raft.FetchRequest))
		return respondFetch(from, r, a, raw), nil
	case *kmsg.FetchSnapshotRequest:
		body, _ := s.wire.receiveFetchSnapshot(r)
		ask := body.(raft.SnapshotRequest)
		size, half := int64(len(s.snapshot)), int64(len(s.snapshot)/2)
		a := raft.SnapshotAnswer{Hint: s.hint(), ID: ask.ID, Size: size, Position: ask.Position}
		raw := s.snapshot[ask.Position:min(ask.Position+half, size)]
		return respondFetchSnapshot(from, r, a, raw), nil
	}
	return nil, errUnreachable
}

func (s *script) fetch(to kafka.NodeID, f raft.FetchRequest) (raft.FetchAnswer, []byte) {
	s.spoken = max(s.spoken, f.Epoch)
	s.promised = f.Offset
	if f.Offset >= firstEnd {
		s.epoch = 2
	}
	if f.Epoch == 2 && f.Offset >= secondEnd {
		s.cleaned = true
	}
	a := raft.FetchAnswer{Hint: s.hint(), HighWatermark: kafka.NoOffset}
	switch {
	case f.Epoch != s.epoch || to != a.Hint.Leader:
		a.Err = kerr.FencedLeaderEpoch
		return a, nil
	case s.epoch == 1:
		a.HighWatermark = min(f.Offset, commonEnd)
		return a, batches(s.t, f.Offset, firstEnd, 1)
	case f.LastEpoch == 1 && f.Offset > commonEnd:
		a.Diverging = &raft.EpochEnd{Epoch: 1, End: commonEnd}
		s.promised = min(s.promised, commonEnd)
		return a, nil
	case s.cleaned && f.Offset < snapshotEnd:
		a.Snapshot = &raft.SnapshotID{EndOffset: snapshotEnd, Epoch: 2}
		return a, nil
	case f.Offset < snapshotEnd:
		a.HighWatermark = min(f.Offset, commonEnd)
		if f.Offset < commonEnd {
			return a, batches(s.t, f.Offset, commonEnd, 1)
		}
		return a, batches(s.t, f.Offset, secondEnd, 2)
	}
	a.HighWatermark = lastEnd
	if f.Offset == lastEnd {
		select {
		case <-s.reached:
		default:
			close(s.reached)
		}
	}
	return a, batches(s.t, f.Offset, lastEnd, 2)
}

// batches are batches of one record each.
func batches(t testing.TB, from, end kafka.Offset, epoch kafka.Epoch) []byte {
	all := []byte{}
	for o := from; o < end; o++ {
		one, err := dataBatch([][]byte{record(t, int(o))}, 1)
		if err != nil {
			t.Error(err)
		}
		batch.SetBaseOffset(one, o)
		batch.SetLeaderEpoch(one, epoch)
		all = append(all, one...)
	}
	return all
}

// follow lets a follower go through the script until it has everything, or its
// disk fails; refused is why it did not start.
func (s *script) follow(t testing.TB, fsys vfs.FS) (refused error) {
	cfg := lone(fsys, metadataDir)
	cfg.Self = kafka.ReplicaKey{Node: 2, Dir: self.Dir}
	cfg.Endpoints, cfg.Sender = endpoints(9002), s
	cfg.Voters = raft.Voters{}
	for id := kafka.NodeID(1); id <= 3; id++ {
		cfg.Voters = cfg.Voters.With(raft.Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpoints(uint16(9000 + id))})
	}
	died := make(chan struct{})
	cfg.Fatal = func(error) { close(died) }
	n, err := Start(context.Background(), cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-s.reached:
	case <-died:
	case <-ctx.Done():
		t.Errorf("the follower got no further than %d", n.View().LogEnd)
	}
	leaveAnyway(n)
	return nil
}

// held tells what a folder holds: the end of its log and the epoch of its
// election state.
func held(fsys vfs.FS) (kafka.Offset, kafka.Epoch, error) {
	cfg := lone(fsys, metadataDir)
	cfg.Self.Node = 2
	o, err := openDir(cfg.withDefaults())
	if err != nil {
		return 0, 0, err
	}
	if err := o.log.Close(); err != nil {
		return 0, 0, fmt.Errorf("closing: %w", err)
	}
	return o.stored.LogEnd, o.stored.Election.Epoch, nil
}
