// Package lifecycle is a broker's standing with the controller: it registers,
// sends heartbeats, reports where replicas lie and which directories failed,
// asks to be unfenced when everything is in place, and leaves in an orderly way
// (KIP-631, KIP-858, KIP-966).
//
// It owns the registration and its epoch. What the broker does with its
// replicas, and how requests reach the controller, belongs to others.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Controller takes a request to the active controller and brings the answer.
type Controller interface {
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// Endpoint is one advertised listener of the broker.
type Endpoint struct {
	Name     string
	Host     string
	Port     uint16
	Protocol int16 // Kafka's number of the security protocol
}

// Feature is a range of levels that the broker supports.
type Feature struct {
	Name     string
	Min, Max int16
}

// Config is what a broker says about itself.
type Config struct {
	Node      kafka.NodeID
	ClusterID string
	// Incarnation is drawn anew for each process.
	Incarnation kafka.UUID
	Listeners   []Endpoint
	Features    []Feature
	Rack        *string
	// Dirs are the log directories that are online at the start.
	Dirs []kafka.DirID
	// PreviousEpoch is the broker epoch of the last clean shutdown, or
	// kafka.NoBrokerEpoch: then the controller takes it for unclean.
	PreviousEpoch kafka.BrokerEpoch
	// HeartbeatInterval is broker.heartbeat.interval.ms; it is also the time a
	// request to the controller may take.
	HeartbeatInterval time.Duration
	// RegistrationTimeout is initial.broker.registration.timeout.ms.
	RegistrationTimeout time.Duration
	// DirFailureTimeout is log.dir.failure.timeout.ms: a failed directory that
	// the controller has not heard of by then stops the broker.
	DirFailureTimeout time.Duration
	// Cordoned are the directories that take no new replicas (KIP-1066), for each
	// heartbeat; nil where the cluster has no place for them. It may be nil itself.
	Cordoned   func() []kafka.DirID
	Controller Controller
	Log        *slog.Logger
}

// Lifecycle runs a broker's registration from start to shutdown.
type Lifecycle struct {
	cfg    Config
	kick   chan struct{} // room for one: a heartbeat is due before its time
	amends chan struct{} // room for one: the registration is to be amended
	assign *assigner

	// published is the highest metadata offset that this broker has applied.
	published atomic.Int64
	epoch     atomic.Int64

	mu      sync.Mutex
	ready   bool
	leaving bool
	failed  map[kafka.DirID]time.Time // offline directories: when they failed
	told    map[kafka.DirID]bool      // those of failed that the controller knows
	dirs    []kafka.DirID             // all that were online at some time, in order

	unfenced chan struct{} // closed the first time the controller unfences us
	goAway   chan struct{} // closed when the controller lets a leaving broker go
}

// New prepares a lifecycle; Run starts it.
func New(cfg Config) *Lifecycle {
	l := &Lifecycle{
		cfg:      cfg,
		kick:     make(chan struct{}, 1),
		amends:   make(chan struct{}, 1),
		failed:   map[kafka.DirID]time.Time{},
		told:     map[kafka.DirID]bool{},
		dirs:     slices.Clone(cfg.Dirs),
		unfenced: make(chan struct{}),
		goAway:   make(chan struct{}),
	}
	l.epoch.Store(int64(kafka.NoBrokerEpoch))
	l.published.Store(int64(kafka.NoOffset))
	l.assign = newAssigner(l)
	return l
}

// ErrRefused says that the controller will never take this registration as it
// is.
var ErrRefused = errors.New("the controller refuses the registration")

// Run registers and sends heartbeats until ctx ends or a leaving broker is let
// go. An error means that the broker cannot go on.
func (l *Lifecycle) Run(ctx context.Context) error {
	if err := l.register(ctx); err != nil {
		return fmt.Errorf("register broker %d: %w", l.cfg.Node, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	beside.Go(func() { l.assign.run(ctx) })
	beside.Go(func() { l.amend(ctx) })
	err := l.beat(ctx)
	stop()
	beside.Wait()
	return err
}

// Epoch is the broker epoch, or kafka.NoBrokerEpoch before the registration.
func (l *Lifecycle) Epoch() kafka.BrokerEpoch { return kafka.BrokerEpoch(l.epoch.Load()) }

// Incarnation is that of this process.
func (l *Lifecycle) Incarnation() kafka.UUID { return l.cfg.Incarnation }

// Unfenced is closed once clients may be served.
func (l *Lifecycle) Unfenced() <-chan struct{} { return l.unfenced }

// Published tells that all metadata up to offset has been applied here.
func (l *Lifecycle) Published(offset kafka.Offset) {
	l.published.Store(int64(offset))
	l.hurryUnfencing()
}

// Ready says that the broker's replicas are in place, so that it may be
// unfenced as soon as all their directories are known to the controller. Said
// again it changes nothing.
func (l *Lifecycle) Ready() {
	l.mu.Lock()
	l.ready = true
	l.mu.Unlock()
	l.hurryUnfencing()
}

// Assign reports that a replica lies in dir while metadata says otherwise.
func (l *Lifecycle) Assign(replica kafka.TopicIDPartition, dir kafka.DirID) {
	l.assign.add(replica, dir)
}

// Unassign forgets a report: metadata says so by now, or the replica is gone.
func (l *Lifecycle) Unassign(replica kafka.TopicIDPartition) { l.assign.remove(replica) }

// AssignmentPending tells whether a report of a replica was not answered yet.
func (l *Lifecycle) AssignmentPending(replica kafka.TopicIDPartition) bool {
	return l.assign.has(replica)
}

// QueuedAssignments is the metric QueuedReplicaToDirAssignments.
func (l *Lifecycle) QueuedAssignments() int { return l.assign.len() }

// QueuedFor are those of them, by the directory in which the replicas lie.
func (l *Lifecycle) QueuedFor() map[kafka.DirID]int { return l.assign.byDir() }

// DirFailed reports an offline directory with the next heartbeat.
func (l *Lifecycle) DirFailed(dir kafka.DirID) {
	l.mu.Lock()
	if _, known := l.failed[dir]; !known {
		l.failed[dir] = time.Now()
	}
	l.mu.Unlock()
	l.hurry()
}

// DirReturned registers again, as the same incarnation, with a directory that was not
// online or had failed.
func (l *Lifecycle) DirReturned(dir kafka.DirID) {
	l.mu.Lock()
	delete(l.failed, dir)
	delete(l.told, dir)
	if !slices.Contains(l.dirs, dir) {
		l.dirs = append(l.dirs, dir)
		slices.SortFunc(l.dirs, kafka.UUID.Compare)
	}
	l.mu.Unlock()
	l.Amend()
}

// online are the directories to register.
func (l *Lifecycle) online() []kafka.DirID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.dirs), func(dir kafka.DirID) bool {
		_, failed := l.failed[dir]
		return failed
	})
}

// CordonChanged reports with a heartbeat at once that Cordoned says something else.
func (l *Lifecycle) CordonChanged() { l.hurry() }

// Leave asks the controller to move leadership away and waits until it lets us
// go, or ctx ends.
func (l *Lifecycle) Leave(ctx context.Context) error {
	l.mu.Lock()
	l.leaving = true
	l.mu.Unlock()
	l.hurry()
	select {
	case <-l.goAway:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("controlled shutdown: %w", ctx.Err())
	}
}

// hurry makes a heartbeat due now.
func (l *Lifecycle) hurry() {
	select {
	case l.kick <- struct{}{}:
	default: // one is due already
	}
}

// hurryUnfencing is hurry for what matters only to a broker that waits to be
// unfenced; later it waits for the heartbeat that comes anyway.
func (l *Lifecycle) hurryUnfencing() {
	if !closed(l.unfenced) {
		l.hurry()
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
