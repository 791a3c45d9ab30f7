package fetcher

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ottla/ottla/internal/base/metrics"
)

// figures are what the fetcher counts; kafka.server:type=FetcherStats.
type figures struct {
	Requests metrics.Count `name:"kafka_server_fetcherstats_requests_total" help:"Fetches sent to leaders by the replicas that follow here."`
	Bytes    metrics.Count `name:"kafka_server_fetcherstats_bytes_total" help:"Bytes of batches that leaders answered them with."`
}

// standing is how the replicas that follow get on, all together.
type standing struct{ followed, failed, maxLag, minRate float64 }

func (f *Fetcher) standing() (s standing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.follows {
		s.followed++
		s.maxLag = max(s.maxLag, float64(one.progress.lag.Load()))
		if one.progress.failed.Load() {
			s.failed++
		}
	}
	s.minRate = f.slowest(time.Now())
	return s
}

// slowest is the least rate of requests of a source, 0 without any. mu is held.
func (f *Fetcher) slowest(now time.Time) (least float64) {
	first := true
	for _, s := range f.sources {
		if r := s.asks.perSecond(now); first || r < least {
			least, first = r, false
		}
	}
	return least
}

// lags reports how many committed records each replica lacks.
func (f *Fetcher) lags(report metrics.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.follows {
		report(float64(one.progress.lag.Load()), one.source.key.client(), one.name.Topic, strconv.Itoa(int(one.name.Partition)))
	}
}

// client names a source as Kafka's metrics name the thread that fetches.
func (k sourceKey) client() string { return fmt.Sprintf("ReplicaFetcherThread-%d-%d", k.n, k.node) }

// Register shows how replication gets on, under the names of Kafka's
// ReplicaFetcherManager, FetcherStats and FetcherLagMetrics.
func (f *Fetcher) Register(r *metrics.Registry) {
	r.Register(&f.figures)
	gauge := func(name, help string, of func(standing) float64) metrics.Reading[standing] {
		return metrics.Reading[standing]{Name: "kafka_server_replicafetchermanager_" + name, Help: help, One: of}
	}
	metrics.Watch(r, f.standing,
		gauge("maxlag", "The most records that a replica following here lacked, of those that are committed, when its leader last answered.", func(s standing) float64 { return s.maxLag }),
		gauge("failedpartitionscount", "Replicas here that could not take what their leader sent last. Alert above 0.", func(s standing) float64 { return s.failed }),
		gauge("minfetchrate", "Fetches in a second to the leader that is asked least often, over the last minute; 0 without one. A leader that does not answer shows here.", func(s standing) float64 { return s.minRate }),
		gauge("partitions", "Replicas here that follow a leader.", func(s standing) float64 { return s.followed }),
	)
	metrics.Watch(r, func() *Fetcher { return f }, metrics.Reading[*Fetcher]{
		Name: "kafka_server_fetcherlagmetrics_consumerlag", Labels: "clientId,topic,partition",
		Help: "Records that a replica following here lacked, of those that are committed, when its leader last answered.",
		Each: (*Fetcher).lags,
	})
}
