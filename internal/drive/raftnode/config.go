package raftnode

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Config is what a node is started with.
type Config struct {
	FS vfs.FS
	// Dir is the folder of the metadata log: <metadata.log.dir>/__cluster_metadata-0.
	// It is made when it is missing, see Formatted.
	Dir string
	// Formatted tells that the directory around Dir was formatted for a controller,
	// which puts something into Dir or beside it. If neither is there, the node has
	// lost what it may have promised to others, and does not start.
	Formatted bool
	ClusterID string
	Self      kafka.ReplicaKey
	// Controller tells that the node has the controller role. Only such nodes
	// become voters, and only they sync what they copy.
	Controller bool
	// Endpoints are our own controller listeners, default first, names in
	// upper case. Empty on a node that is broker only.
	Endpoints raft.Endpoints
	// Listener is the name of the default controller listener.
	Listener string
	// Voters are controller.quorum.voters; Bootstrap are
	// controller.quorum.bootstrap.servers.
	Voters    raft.Voters
	Bootstrap []raft.Endpoint
	// AutoJoin is controller.quorum.auto.join.enable.
	AutoJoin bool
	Timing   raft.Timing // zero: Kafka's defaults

	// SegmentBytes and SegmentAge are metadata.log.segment.bytes and .ms.
	SegmentBytes int
	SegmentAge   time.Duration
	Retention    Retention

	Sender Sender
	// Bulk carries what a Refill asks for, one request at a time, on connections of
	// its own: a piece of a snapshot that is slow to come is not to hold up the
	// fetches of the quorum. Nil is Sender.
	Bulk Sender
	Seed uint64 // of timers; 0 draws one
	Log  *slog.Logger
	// Fatal is called once when the node cannot go on: its directory failed, or
	// the quorum contradicts what was committed. The node only refuses then.
	Fatal func(error)
	// Observer is told every step of the core, or nil.
	Observer Observer
	// OpenLog replaces the log on disk, for tests; nil is edge/storage.
	OpenLog func(LogOptions) (Log, error)

	muted bool // see mute
}

// Observer sees what the core is told, has become and asks for, step by step,
// before any of it is carried out. It is called by one goroutine, which waits for
// it, and must not keep the effects.
type Observer interface {
	// Started is the step with which a process begins.
	Started(cfg raft.Config, found raft.Stored, s raft.State, e raft.Effects)
	Stepped(ev raft.Event, s raft.State, e raft.Effects)
}

// Retention says how much of the metadata log is kept besides what the latest
// snapshot needs (metadata.max.retention.bytes and .ms). Negative is no limit.
type Retention struct {
	Bytes int64
	Age   time.Duration
}

// DefaultRetention is Kafka's: 100 MiB, 7 days.
func DefaultRetention() Retention {
	return Retention{Bytes: 100 << 20, Age: 7 * 24 * time.Hour}
}

// Sender carries requests to peers. Every request gets exactly one call of
// done, from any goroutine but not from within Send: the response, or an error
// that wraps ErrUnsupportedVersion or says that there is no answer.
type Sender interface {
	Send(to kafka.NodeID, addr string, req kmsg.Request, done func(kmsg.Response, error))
}

func (c Config) withDefaults() Config {
	if c.Timing == (raft.Timing{}) {
		c.Timing = raft.DefaultTiming()
	}
	if c.Retention == (Retention{}) {
		c.Retention = DefaultRetention()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Fatal == nil {
		c.Fatal = func(error) {}
	}
	if c.Sender == nil {
		c.Sender = nobody{}
	}
	if c.Bulk == nil {
		c.Bulk = c.Sender
	}
	return c
}

// nobody is the sender of a node that has no peers.
type nobody struct{}

func (nobody) Send(_ kafka.NodeID, _ string, _ kmsg.Request, done func(kmsg.Response, error)) {
	go done(nil, errNoPeers) // ends with done
}

// core is the part of the configuration that the core decides on.
func (c Config) core() raft.Config {
	return raft.Config{
		Self: c.Self, Controller: c.Controller, Endpoints: c.Endpoints, Listener: c.Listener,
		Static: c.static(), Bootstrap: c.Bootstrap, AutoJoin: c.AutoJoin, Timing: c.Timing,
		Rand: rand.New(rand.NewPCG(c.Seed, uint64(c.Self.Node))),
		Unix: time.Now().Unix(),
	}
}
