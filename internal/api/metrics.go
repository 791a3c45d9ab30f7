package api

import (
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
)

// Metrics are what the APIs about records count. The zero value is ready.
type Metrics struct {
	// FetchErrors are the codes in answers to Fetch, which are not made from
	// messages that could be looked into.
	FetchErrors ErrorCounts

	produces             parking
	consumers, followers parking // fetches
	sessions             atomic.Pointer[fetchSessions]
}

// parking counts requests that wait.
type parking struct {
	now     metrics.Level
	expired metrics.Count
}

func (p *parking) began() { p.now.Add(1) }

func (p *parking) ended(how await.Outcome) {
	p.now.Add(-1)
	if how == await.Expired {
		p.expired.Add(1)
	}
}

// fetches is the parking of a reader's kind.
func (m *Metrics) fetches(r partitions.Reader) *parking {
	if r.Follower >= 0 {
		return &m.followers
	}
	return &m.consumers
}

// count notes what the partitions that were looked at are answered with.
func (w *fetchWait) count() {
	for i := range w.answers {
		a := &w.answers[i]
		w.handler.metrics.FetchErrors.Add(kerr.Of(a.err))
		if p := a.part.found; p != nil {
			p.Fetched(w.reader, int(a.records.Len), a.err)
		}
	}
}

// Register shows the metrics under the names of Kafka's DelayedOperationPurgatory
// and FetchSessionCache.
func (m *Metrics) Register(r *metrics.Registry) {
	metrics.Watch(r, func() *Metrics { return m },
		waiting("purgatorysize"), waiting("numdelayedoperations"),
		metrics.Reading[*Metrics]{
			Name: "kafka_server_delayedproducemetrics_expires_total", Kind: metrics.Counter,
			Help: "Produce requests that did not have all in-sync replicas in time.",
			One:  func(m *Metrics) float64 { return m.produces.expired.Value() },
		},
		metrics.Reading[*Metrics]{
			Name: "kafka_server_delayedfetchmetrics_expires_total", Kind: metrics.Counter, Labels: "fetcherType",
			Help: "Fetches that did not have enough to read in time.",
			Each: func(m *Metrics, report metrics.Report) {
				report(m.consumers.expired.Value(), "consumer")
				report(m.followers.expired.Value(), "follower")
			},
		},
	)
	metrics.Watch(r, m.sessionsNow,
		metrics.Reading[sessionFigures]{
			Name: "kafka_server_fetchsessioncache_numincrementalfetchsessions", Help: "Fetch sessions.",
			One: func(s sessionFigures) float64 { return s.sessions },
		},
		metrics.Reading[sessionFigures]{
			Name: "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", Help: "Partitions in fetch sessions.",
			One: func(s sessionFigures) float64 { return s.partitions },
		},
		metrics.Reading[sessionFigures]{
			Name: "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", Kind: metrics.Counter,
			Help: "Fetch sessions that lost their slot to another. Many: max.incremental.fetch.session.cache.slots is too small.",
			One:  func(s sessionFigures) float64 { return s.evictions },
		},
	)
}

// waiting is one of the two names that Kafka has for requests that wait.
func waiting(name string) metrics.Reading[*Metrics] {
	return metrics.Reading[*Metrics]{
		Name: "kafka_server_delayedoperationpurgatory_" + name, Labels: "delayedOperation",
		Help: "Requests that wait: Produce for replicas, Fetch for records.",
		Each: func(m *Metrics, report metrics.Report) {
			report(m.produces.now.Value(), "Produce")
			report(m.consumers.now.Value()+m.followers.now.Value(), "Fetch")
		},
	}
}

// sessionFigures describe the fetch sessions at one moment.
type sessionFigures struct{ sessions, partitions, evictions float64 }

func (m *Metrics) sessionsNow() (f sessionFigures) {
	s := m.sessions.Load()
	if s == nil {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return sessionFigures{float64(len(s.byID)), float64(s.total), s.evictions.Value()}
}
