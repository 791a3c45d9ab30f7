package metrics

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves all metrics in Prometheus' text format. The runtime's own
// metrics join at the first look, so that a node nobody watches does not carry
// them.
func (r *Registry) Handler() http.Handler {
	serve := promhttp.HandlerFor(r.prom, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.runtime.Do(func() {
			r.prom.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		})
		serve.ServeHTTP(w, req)
	})
}

// Server makes the HTTP server of a node: /metrics, and /ready with status 200
// once ready returns nil, else 503 and the reason. The caller listens, serves
// and shuts down.
func Server(r *Registry, ready func() error) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", r.Handler())
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
}
