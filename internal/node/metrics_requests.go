package node

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/edge/transport"
)

const (
	maxKey     = 127 // Kafka has 93 APIs
	maxVersion = 31
	keyFetch   = 1
)

// requests counts what goes through the node's listeners. It is a
// transport.Observer: counting costs a few atomic adds, and memory only for the
// APIs that are asked for.
type requests struct {
	byKey [maxKey + 1]atomic.Pointer[apiFigures]
	// Fetches are counted once more by who sent them, as in Kafka.
	consumers, followers atomic.Pointer[apiFigures]
	// fetchErrors are counted where answers to fetches of records are made. Those
	// to fetches of the quorum are messages like others.
	fetchErrors *api.ErrorCounts

	mu        sync.Mutex
	listeners map[string]*listenerFigures
	refused   map[string]int
}

// apiFigures are what is counted for one API.
type apiFigures struct {
	name     string
	versions [maxVersion + 1]metrics.Count
	errors   api.ErrorCounts
	total    metrics.Timing // until the reply left
	local    metrics.Timing // in the handler
	bytes    metrics.Distribution
}

type listenerFigures struct{ open, opened, closed int }

func newRequests(fetchErrors *api.ErrorCounts) *requests {
	return &requests{fetchErrors: fetchErrors, listeners: map[string]*listenerFigures{}, refused: map[string]int{}}
}

// figures finds or makes the place to count in.
func figures(at *atomic.Pointer[apiFigures], name func() string) *apiFigures {
	if f := at.Load(); f != nil {
		return f
	}
	at.CompareAndSwap(nil, &apiFigures{name: name()})
	return at.Load()
}

// apiName is the name of an API as Kafka's metrics write it.
func apiName(key int16) string {
	return strings.NewReplacer("SASL", "Sasl", "ACLs", "Acls", "SCRAM", "Scram", "ID", "Id").Replace(kmsg.NameForKey(key))
}

// of gives the figures of a request's API, and for a fetch those of its kind.
func (q *requests) of(r *transport.Request) (all, kind *apiFigures) {
	if r.Key < 0 || r.Key > maxKey {
		return nil, nil
	}
	all = figures(&q.byKey[r.Key], func() string { return apiName(r.Key) })
	if f, ok := r.Body.(*kmsg.FetchRequest); ok {
		kind = q.fetches(f)
	}
	return all, kind
}

func (q *requests) fetches(f *kmsg.FetchRequest) *apiFigures {
	replica := f.ReplicaID
	if f.Version >= 15 {
		replica = f.ReplicaState.ID
	}
	if replica >= 0 {
		return figures(&q.followers, func() string { return "FetchFollower" })
	}
	return figures(&q.consumers, func() string { return "FetchConsumer" })
}

// Request implements transport.Observer.
func (q *requests) Request(r *transport.Request, size int, handling time.Duration) {
	all, kind := q.of(r)
	for _, f := range [...]*apiFigures{all, kind} {
		if f != nil {
			f.versions[min(max(r.Version, 0), maxVersion)].Add(1)
			f.local.Saw(handling)
			f.bytes.Observe(uint64(size))
		}
	}
}

// Answer implements transport.Observer.
func (q *requests) Answer(r *transport.Request, m kmsg.Response) {
	if all, _ := q.of(r); all != nil {
		all.errors.AddAll(m)
	}
}

// Reply implements transport.Observer.
func (q *requests) Reply(r *transport.Request, _ int64, total time.Duration) {
	all, kind := q.of(r)
	for _, f := range [...]*apiFigures{all, kind} {
		if f != nil {
			f.total.Saw(total)
		}
	}
}

// Connection implements transport.Observer.
func (q *requests) Connection(listener string, delta int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.listeners[listener]
	if l == nil {
		l = &listenerFigures{}
		q.listeners[listener] = l
	}
	l.open += delta
	if delta > 0 {
		l.opened++
	} else {
		l.closed++
	}
}

// Refused implements transport.Observer.
func (q *requests) Refused(reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused[reason]++
}

// seen are the figures of all APIs that were asked for.
func (q *requests) seen() (list []*apiFigures) {
	add := func(at *atomic.Pointer[apiFigures]) {
		if f := at.Load(); f != nil {
			list = append(list, f)
		}
	}
	for i := range q.byKey {
		add(&q.byKey[i])
	}
	add(&q.consumers)
	add(&q.followers)
	return list
}

// Register shows the requests under the names of Kafka's RequestMetrics, and the
// connections under those of socket-server-metrics.
func (q *requests) Register(r *metrics.Registry) {
	metrics.Watch(r, q.seen,
		metrics.Reading[[]*apiFigures]{
			Name: "kafka_network_requestmetrics_requests_total", Kind: metrics.Counter, Labels: "request,version",
			Help: "Requests served. Those of Fetch are counted again as FetchConsumer or FetchFollower.",
			Each: func(list []*apiFigures, report metrics.Report) {
				for _, f := range list {
					for version := range f.versions {
						if n := f.versions[version].Value(); n > 0 {
							report(n, f.name, strconv.Itoa(version))
						}
					}
				}
			},
		},
		metrics.Reading[[]*apiFigures]{
			Name: "kafka_network_requestmetrics_errors_total", Kind: metrics.Counter, Labels: "request,error",
			Help: "Error codes in answers, NONE too: one for each partition, topic, group and so on.",
			Each: func(list []*apiFigures, report metrics.Report) {
				fetches := map[kerr.Code]float64{}
				count := func(code kerr.Code, n float64) { fetches[code] += n }
				q.fetchErrors.Each(count)
				for _, f := range list {
					if f.name == apiName(keyFetch) { // those of the quorum
						f.errors.Each(count)
						continue
					}
					f.errors.Each(func(code kerr.Code, n float64) { report(n, f.name, code.String()) })
				}
				for code, n := range fetches {
					report(n, apiName(keyFetch), code.String())
				}
			},
		},
		spread("totaltimems", "Time from the start of a request until its answer had left, in milliseconds.", func(f *apiFigures) *metrics.Timing { return &f.total }),
		spread("localtimems", "Time of a request in its handler, without waiting for others, in milliseconds.", func(f *apiFigures) *metrics.Timing { return &f.local }),
		metrics.Reading[[]*apiFigures]{
			Name: "kafka_network_requestmetrics_requestbytes", Kind: metrics.Summary, Labels: "request", Help: "Bytes of requests.",
			Sizes: func(list []*apiFigures, report func(*metrics.Distribution, ...string)) {
				for _, f := range list {
					report(&f.bytes, f.name)
				}
			},
		},
	)
	q.registerConnections(r)
}

func spread(name, help string, of func(*apiFigures) *metrics.Timing) metrics.Reading[[]*apiFigures] {
	return metrics.Reading[[]*apiFigures]{
		Name: "kafka_network_requestmetrics_" + name, Kind: metrics.Summary, Labels: "request", Help: help,
		Timings: func(list []*apiFigures, report func(*metrics.Timing, ...string)) {
			for _, f := range list {
				report(of(f), f.name)
			}
		},
	}
}

func (q *requests) registerConnections(r *metrics.Registry) {
	perListener := func(name, help string, kind metrics.Kind, value func(*listenerFigures) int) metrics.Reading[*requests] {
		return metrics.Reading[*requests]{
			Name: "kafka_server_socket_server_metrics_connection_" + name, Help: help, Kind: kind, Labels: "listener",
			Each: func(q *requests, report metrics.Report) {
				q.mu.Lock()
				defer q.mu.Unlock()
				for listener, l := range q.listeners {
					report(float64(value(l)), listener)
				}
			},
		}
	}
	metrics.Watch(r, func() *requests { return q },
		perListener("count", "Open connections.", metrics.Gauge, func(l *listenerFigures) int { return l.open }),
		perListener("creation_total", "Connections accepted.", metrics.Counter, func(l *listenerFigures) int { return l.opened }),
		perListener("close_total", "Connections closed.", metrics.Counter, func(l *listenerFigures) int { return l.closed }),
		metrics.Reading[*requests]{
			Name: "ottla_connections_refused_total", Kind: metrics.Counter, Labels: "reason",
			Help: "Connections that were closed for what they sent, or because there were too many.",
			Each: func(q *requests, report metrics.Report) {
				q.mu.Lock()
				defer q.mu.Unlock()
				for reason, n := range q.refused {
					report(float64(n), reason)
				}
			},
		},
	)
}
