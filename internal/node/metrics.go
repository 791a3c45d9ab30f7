package node

import (
	"errors"
	"sync/atomic"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/drive/brokernode/fetcher"
	"github.com/ottla/ottla/internal/drive/brokernode/lifecycle"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/brokernode/txnverify"
	"github.com/ottla/ottla/internal/drive/coordnode"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
	"github.com/ottla/ottla/internal/edge/transport"
)

// brokerState is how far a node has come; the values are those of Kafka's
// BrokerState.
type brokerState int32

const (
	starting   brokerState = 1
	recovering brokerState = 2 // reads its logs and the metadata, or waits to be unfenced
	running    brokerState = 3
	leaving    brokerState = 6 // asks to be let go
	stopping   brokerState = 7
)

// watched is what the node as a whole has for somebody who looks. Parts register
// what they have themselves once they exist, so a look during a long start shows
// what there is so far.
type watched struct {
	state    atomic.Int32 // a brokerState
	registry *metrics.Registry
	requests *requests
	api      *api.Metrics
	changes  changes
}

// newWatched prepares for looks; without an address nobody can look and nothing
// is counted that costs anything.
func newWatched(addr string) *watched {
	w := &watched{api: &api.Metrics{}}
	w.at(starting)
	if addr != "" {
		w.registry, w.requests = metrics.New(), newRequests(&w.api.FetchErrors)
	}
	return w
}

// at notes how far the node has come.
func (w *watched) at(s brokerState) { w.state.Store(int32(s)) }

// ready tells why clients are not served now.
func (w *watched) ready() error {
	switch brokerState(w.state.Load()) {
	case running:
		return nil
	case leaving, stopping:
		return errors.New("the node is stopping")
	}
	return errors.New("the node is starting: it reads its logs, or the controller has not unfenced it yet")
}

// observer is what servers tell of requests; nil where nobody can look.
func (w *watched) observer() transport.Observer {
	if w.requests == nil {
		return nil
	}
	return w.requests
}

// show registers what a part has, if anybody can look.
func (w *watched) show(register ...func(*metrics.Registry)) {
	if w.registry == nil {
		return
	}
	for _, f := range register {
		f(w.registry)
	}
}

// showNode registers what is there from the start.
func (w *watched) showNode(version string, broker bool) {
	w.show(registerBuild(version), w.requests.Register)
	if broker {
		w.show(w.registerState, w.api.Register)
	}
}

func registerBuild(version string) func(*metrics.Registry) {
	return func(r *metrics.Registry) {
		metrics.Watch(r, func() string { return version }, metrics.Reading[string]{
			Name: "ottla_build_info", Help: "1, with the version of the software.", Labels: "version",
			Each: func(version string, report metrics.Report) { report(1, version) },
		})
	}
}

func (w *watched) registerState(r *metrics.Registry) {
	r.GaugeFunc("kafka_server_kafkaserver_brokerstate",
		"1 starting, 2 reading logs or waiting to be unfenced, 3 running, 6 asking to leave, 7 stopping.",
		func() float64 { return float64(w.state.Load()) })
}

// registerAssignments shows what the broker has to tell the controller.
func registerAssignments(l *lifecycle.Lifecycle, d *dirs.Dirs) func(*metrics.Registry) {
	return func(r *metrics.Registry) {
		metrics.Watch(r, l.QueuedFor, metrics.Reading[map[kafka.DirID]int]{
			Name: "ottla_log_directory_queued_assignments", Labels: "logDirectory",
			Help: "Replicas in the directory of which the controller has not been told yet.",
			Each: func(queued map[kafka.DirID]int, report metrics.Report) {
				for _, dir := range d.Names() {
					report(float64(queued[dir.ID]), dir.Path)
				}
			},
		})
		queued := func() float64 { return float64(l.QueuedAssignments()) }
		r.GaugeFunc("kafka_server_assignmentsmanager_queuedreplicatodirassignments",
			"Replicas whose directory the controller has not been told yet.", queued)
		r.GaugeFunc("kafka_server_kafkaserver_queuedreplicatodirassignments",
			"The same, under the name that KIP-858 gives it.", queued)
	}
}

// registerMemory shows a server's budget for requests.
func registerMemory(s *transport.Server) func(*metrics.Registry) {
	return func(r *metrics.Registry) {
		metrics.Watch(r, func() memory { return memoryOf(s.RequestMemory()) },
			metrics.Reading[memory]{Name: "kafka_network_socketserver_memorypoolused",
				Help: "Bytes of requests in memory; 0 without queued.max.request.bytes.", One: func(m memory) float64 { return m.used }},
			metrics.Reading[memory]{Name: "kafka_network_socketserver_memorypoolavailable",
				Help: "Bytes that queued.max.request.bytes leaves; -1 where it sets no bound.", One: func(m memory) float64 { return m.left }},
		)
	}
}

type memory struct{ used, left float64 }

func memoryOf(used, bound int64) memory {
	if bound == 0 {
		return memory{float64(used), -1}
	}
	return memory{float64(used), float64(max(bound-used, 0))}
}

// MetricFamilies are all metrics that a node with both roles shows, beside those
// of the Go runtime and the process. It is what docs/reference is made from.
func MetricFamilies() []metrics.Family {
	w := newWatched("anywhere")
	o := outlook{metadata: &metadata{env: &env{watched: w}}}
	w.showNode("", true)
	w.show(
		new(dirs.Dirs).Register, new(partitions.Manager).Register, new(fetcher.Fetcher).Register, throttle.New(0, 1, 1).Register, new(coordnode.Groups).Register, new(txnverify.Verifier).Register,
		registerAssignments(nil, nil), registerMemory(nil),
		quorum{}.Register, new(metaview.View).Register, o.registerMetadata, new(toctrl.Channel).Register, o.registerController,
	)
	return w.registry.Families()
}
