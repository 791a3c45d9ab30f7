package coordnode

import (
	"context"
	crand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
)

// Config is what Groups is made of.
type Config struct {
	Log Log
	// Group are the settings of the coordinator; Random is filled in here.
	Group group.Config
	// Partitions is the number of partitions of __consumer_offsets, 0 while
	// the topic does not exist.
	Partitions func() int32
	// TopicID gives the id of a topic in the metadata that the elections follow,
	// and whether there is one of that name: offsets of others are dropped after
	// a load. It must not block.
	TopicID func(name string) (kafka.TopicID, bool)
	Codec   batch.Codec // offsets.topic.compression.codec
	// Controller and Topic create __consumer_offsets when it is first needed.
	Controller Controller
	Topic      Topic
	Logger     *slog.Logger
}

// maxLoads is how many partitions are loaded at the same time. The others wait
// for their turn.
const maxLoads = 4

// Groups is the group coordinator of a broker.
type Groups struct {
	cfg    Config
	origin time.Time
	loads  chan struct{} // holds maxLoads tokens at most
	work   sync.WaitGroup
	ctx    context.Context
	stop   context.CancelFunc

	metrics Metrics

	mu     sync.RWMutex
	led    map[kafka.PartitionID]*partition
	closed bool
	making bool // MakeTopic is at work
}

// New makes a coordinator that leads nothing yet.
func New(cfg Config) *Groups {
	ctx, stop := context.WithCancel(context.Background())
	return &Groups{
		cfg: cfg, origin: time.Now(), loads: make(chan struct{}, maxLoads),
		ctx: ctx, stop: stop, led: make(map[kafka.PartitionID]*partition),
	}
}

// now is the time of a step.
func (n *Groups) now() group.Time {
	t := time.Now()
	return group.Time{At: kafka.Instant(t.Sub(n.origin)), UnixMilli: t.UnixMilli()}
}

// Elected says that this broker leads a partition in an epoch. The partition is
// loaded in the background. A later epoch replaces an earlier one; anything else
// changes nothing.
func (n *Groups) Elected(tp kafka.TopicPartition, epoch kafka.Epoch) {
	n.mu.Lock()
	old := n.led[tp.Partition]
	if n.closed || old != nil && old.epoch >= epoch {
		n.mu.Unlock()
		return
	}
	p := newPartition(n, tp.Partition, epoch)
	n.led[tp.Partition] = p
	n.work.Add(1)
	n.mu.Unlock()
	if old != nil {
		old.close()
	}
	go p.load()
}

// Resigned says that this broker does not lead a partition any more since an
// epoch, or that the topic is gone.
func (n *Groups) Resigned(tp kafka.TopicPartition, epoch kafka.Epoch, deleted bool) {
	n.mu.Lock()
	p := n.led[tp.Partition]
	if p == nil || p.epoch > epoch && !deleted {
		n.mu.Unlock()
		return
	}
	delete(n.led, tp.Partition)
	n.mu.Unlock()
	p.close()
}

// Submit hands a request to the coordinator of its group. done is called once,
// from any goroutine, when the request has its answer; it must not block.
func (n *Groups) Submit(r group.Request, done func()) {
	call := group.CallOf(r)
	p, err := n.find(call.Group)
	if err != kerr.None {
		group.Refuse(r, err)
		done()
		return
	}
	call.Token = done
	p.submit(r)
}

// EndTransaction hands the end of a transaction to the partition of
// __consumer_offsets that it is about. done is called once, from any goroutine, when
// r has its answer; it must not block.
func (n *Groups) EndTransaction(at kafka.PartitionID, r *group.EndTransaction, done func()) {
	n.mu.RLock()
	p := n.led[at]
	n.mu.RUnlock()
	if p == nil {
		group.Refuse(r, kerr.NotCoordinator)
		done()
		return
	}
	r.Token = done
	p.submit(r)
}

// find gives the partition that holds a group, if it is led here.
func (n *Groups) find(id string) (*partition, kerr.Code) {
	count := n.cfg.Partitions()
	if count <= 0 {
		return nil, kerr.NotCoordinator // of a topic that is still to be made nobody is
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if p := n.led[kafka.PartitionID(kafka.CoordinatedBy(id, count))]; p != nil {
		return p, kerr.None
	}
	return nil, kerr.NotCoordinator
}

// partitions are all that are led at the moment.
func (n *Groups) partitions() []*partition {
	n.mu.RLock()
	defer n.mu.RUnlock()
	list := make([]*partition, 0, len(n.led))
	for _, p := range n.led {
		list = append(list, p)
	}
	return list
}

// List gathers the groups of all partitions that are led here, in no order.
// While one of them is loading the answer is COORDINATOR_LOAD_IN_PROGRESS. done
// is called once, from any goroutine; it must not block.
func (n *Groups) List(done func([]group.Listed, kerr.Code)) {
	led := n.partitions()
	if len(led) == 0 {
		done(nil, kerr.None)
		return
	}
	var (
		mu     sync.Mutex
		all    []group.Listed
		failed kerr.Code
		left   = len(led)
	)
	for _, p := range led {
		r := &group.List{}
		r.Token = func() {
			mu.Lock()
			all = append(all, r.Groups...)
			if r.Err != kerr.None && r.Err != kerr.NotCoordinator { // one that left meanwhile has no groups
				failed = r.Err
			}
			left--
			last := left == 0
			mu.Unlock()
			if last {
				done(all, failed)
			}
		}
		p.submit(r)
	}
}

// TopicsDeleted says that topics are gone: their committed offsets go too, and
// those that do not say for which topic of the name they were committed.
func (n *Groups) TopicsDeleted(topics []group.Topic) {
	gone := slices.Clone(topics)
	for _, t := range topics {
		gone = append(gone, group.Topic{Name: t.Name})
	}
	for _, p := range n.partitions() {
		p.topicsDeleted(gone)
	}
}

// Close resigns everything and waits until nothing runs any more, or until ctx
// ends.
func (n *Groups) Close(ctx context.Context) error {
	n.mu.Lock()
	n.closed = true
	led := n.led
	n.led = nil
	n.mu.Unlock()
	for _, p := range led {
		p.close()
	}
	n.stop()
	idle := make(chan struct{})
	go func() {
		n.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chance makes a source of member ids that cannot be guessed.
func chance() rand.Source {
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	return rand.NewChaCha8(seed)
}
