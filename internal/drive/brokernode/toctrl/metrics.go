package toctrl

import (
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/metrics"
)

// Metrics are what a channel counts.
type Metrics struct {
	underWay atomic.Int64 // requests of clients

	Repeated metrics.Count // sent again, to the controller that took over
	Unknown  metrics.Count // answered REQUEST_TIMED_OUT because nobody knows what became of them
	Refused  metrics.Count // answered REQUEST_TIMED_OUT because too many were under way
}

// Register shows the metrics. Kafka has no like of them.
func (c *Channel) Register(r *metrics.Registry) {
	metrics.Watch(r, func() *Metrics { return &c.metrics },
		metrics.Reading[*Metrics]{
			Name: "ottla_forwarding_requests", Help: "Requests of clients that are on their way to the controller.",
			One: func(m *Metrics) float64 { return float64(m.underWay.Load()) },
		},
		metrics.Reading[*Metrics]{
			Name: "ottla_forwarding_lost_total", Kind: metrics.Counter, Labels: "outcome",
			Help: "Requests to the controller whose answer did not come: repeated at the next controller, of unknown outcome, or refused because too many were under way.",
			Each: func(m *Metrics, report metrics.Report) {
				report(m.Repeated.Value(), "repeated")
				report(m.Unknown.Value(), "unknown")
				report(m.Refused.Value(), "refused")
			},
		},
	)
}
