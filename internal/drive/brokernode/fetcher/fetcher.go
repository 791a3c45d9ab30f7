package fetcher

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// Conn is a connection to a broker; *transport.Client is one. It connects when it
// is first used, and again after it broke.
type Conn interface {
	// Send sends requests in the order in which it is called, and calls done once
	// for each, in the same order while the connection lasts.
	Send(ctx context.Context, req kmsg.Request, done func(kmsg.Response, error))
	Close()
}

// Limits are what a fetch asks for, as configured by replica.fetch.*.
type Limits struct {
	Wait           time.Duration // at the leader, while it has nothing
	MinBytes       int32
	PartitionBytes int32
	AnswerBytes    int32
	// Timeout of a request.
	Timeout time.Duration
	// Backoff is the longest pause after a failure; the first ones are shorter.
	Backoff time.Duration
}

// Config is what a Fetcher is made of.
type Config struct {
	Self       kafka.NodeID
	Partitions *partitions.Manager
	// Listener is the name of the listener that brokers reach each other by.
	Listener string
	// Epoch is our broker epoch, which leaders check (KIP-903).
	Epoch func() kafka.BrokerEpoch
	// Sources is how many connections there are to one broker at most, until
	// SetSources (num.replica.fetchers).
	Sources int
	Limits  Limits
	// Quota bounds what throttled replicas take; nil: nothing does.
	Quota Quota
	// Connect makes a connection to host:port.
	Connect func(addr string) Conn
	Log     *slog.Logger
}

// Fetcher keeps the replicas that follow on this broker up with their leaders.
type Fetcher struct {
	cfg    Config
	ctx    context.Context // ends with the fetcher
	cancel context.CancelFunc
	work   sync.WaitGroup // the goroutines of sources

	figures figures

	mu      sync.Mutex
	closed  bool
	spread  int // connections to one broker at most
	sources map[sourceKey]*source
	follows map[kafka.TopicIDPartition]followed
}

// sourceKey names a source: one of the connections to a broker.
type sourceKey struct {
	node kafka.NodeID
	n    int
}

// followed is which source has a replica, since which leader epoch, and how it
// gets on.
type followed struct {
	name     kafka.TopicPartition
	source   *source
	epoch    kafka.Epoch
	progress *progress
}

// New makes a fetcher that fetches nothing before the first Publish.
func New(cfg Config) *Fetcher {
	ctx, cancel := context.WithCancel(context.Background())
	if cfg.Quota == nil {
		cfg.Quota = unbounded{}
	}
	return &Fetcher{cfg: cfg, ctx: ctx, cancel: cancel, spread: max(cfg.Sources, 1), sources: map[sourceKey]*source{}, follows: map[kafka.TopicIDPartition]followed{}}
}

// Close ends all fetching and waits for it.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.work.Wait()
}

// Publish follows metadata, after the replicas have: what began to follow is
// fetched, what follows another leader or in another epoch moves, the rest ends.
// It is called for each image in order, and may be for replicas that have changed
// without one.
func (f *Fetcher) Publish(delta image.Delta, _ *image.Image) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for _, t := range delta.Deleted {
		for n := range t.Partitions.All() {
			f.drop(kafka.TopicIDPartition{Topic: t.ID, Partition: n})
		}
	}
	for _, id := range delta.Partitions {
		f.place(id)
	}
	if len(delta.Brokers) > 0 {
		for _, s := range f.sources {
			s.hurry() // the broker it waits for may be there, or elsewhere, now
		}
	}
	f.endIdle()
}

// Renew fetches all anew over other connections: one of those there are may wait for a
// write to a disk that hangs, and with it all that it copies to other disks.
func (f *Fetcher) Renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for k, s := range f.sources {
		delete(f.sources, k)
		s.cancel()
	}
	ids := slices.Collect(maps.Keys(f.follows))
	clear(f.follows)
	for _, id := range ids {
		f.place(id)
	}
}

// SetSources changes how many connections there are to one broker at most. Replicas
// whose connection is another one now go on there from where they stand.
func (f *Fetcher) SetSources(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n = max(n, 1); f.closed || n == f.spread {
		return
	}
	f.spread = n
	for _, id := range slices.Collect(maps.Keys(f.follows)) {
		f.place(id)
	}
	f.endIdle()
}

// place gives a replica to the source of its leader, if it follows one. mu is
// held, as in all below.
func (f *Fetcher) place(id kafka.TopicIDPartition) {
	p, err := f.cfg.Partitions.ByID(id)
	if err != nil {
		f.drop(id)
		return
	}
	at, ok := p.Follower().Stands()
	if !ok || at.Leader == f.cfg.Self {
		f.drop(id)
		return
	}
	to := f.source(sourceKey{at.Leader, f.group(p.Name)})
	old, known := f.follows[id]
	if known && old.source == to && old.epoch == at.Epoch {
		return
	}
	if known && old.source != to {
		f.drop(id)
	}
	if !known || old.source != to {
		to.given++
	}
	m := &member{part: p}
	f.follows[id] = followed{p.Name, to, at.Epoch, &m.progress}
	to.order(id, m)
}

func (f *Fetcher) drop(id kafka.TopicIDPartition) {
	if old, known := f.follows[id]; known {
		delete(f.follows, id)
		old.source.given--
		old.source.order(id, nil)
	}
}

// group spreads partitions over the connections to a broker as Kafka does.
func (f *Fetcher) group(tp kafka.TopicPartition) int {
	h := int32(0)
	for _, c := range tp.Topic { // names are ASCII
		h = 31*h + c
	}
	h = 31*h + int32(tp.Partition)
	return int(uint32(max(h, -h))) % f.spread
}

func (f *Fetcher) source(k sourceKey) *source {
	s := f.sources[k]
	if s == nil {
		s = newSource(f, k)
		f.sources[k] = s
		f.work.Go(s.run)
	}
	return s
}

// endIdle ends the sources that nobody follows any more. What they still wait
// for is of no use.
func (f *Fetcher) endIdle() {
	for k, s := range f.sources {
		if s.given == 0 {
			delete(f.sources, k)
			s.cancel()
		}
	}
}

// address is where a broker is reached right now.
func (f *Fetcher) address(node kafka.NodeID) (string, bool) {
	b, ok := f.cfg.Partitions.Image().Broker(node)
	if !ok {
		return "", false
	}
	for _, e := range b.Endpoints {
		if e.Name == f.cfg.Listener {
			return hostPort(e), true
		}
	}
	return "", false
}
