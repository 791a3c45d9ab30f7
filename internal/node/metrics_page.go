package node

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/ottla/ottla/internal/base/metrics"
)

// metricsPage answers /metrics and /ready, where ottla.metrics.listener names an
// address.
type metricsPage struct {
	addr string // where it listens; empty: nowhere
	srv  *http.Server
	done chan struct{} // closed when srv serves no more
}

// serveMetrics opens the page. What it shows at first is the node as a whole.
func serveMetrics(e *env) (*metricsPage, error) {
	addr := e.cfg.String("ottla.metrics.listener")
	if addr == "" {
		return &metricsPage{}, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("ottla.metrics.listener: %w", err)
	}
	e.watched.showNode(e.version, e.self.Broker)
	p := &metricsPage{ln.Addr().String(), metrics.Server(e.watched.registry, e.watched.ready), make(chan struct{})}
	go func() {
		defer close(p.done)
		if err := p.srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			e.log.Error("metrics listener ended", "err", err)
		}
	}()
	return p, nil
}

func (p *metricsPage) close() {
	if p.srv != nil {
		_ = p.srv.Close() // a scrape under way is of no use any more
		<-p.done
	}
}
