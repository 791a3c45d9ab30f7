package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/edge/transport"
)

// newServer makes a server of connections. files is how many there may be where
// the settings do not say; 0 is no bound.
func (n *node) newServer(files int) *transport.Server {
	cfg := n.cfg
	if cfg.Has("max.connections") {
		files = int(cfg.Int("max.connections"))
	}
	return transport.NewServer(transport.Config{
		MaxRequestBytes:     int(cfg.Int("socket.request.max.bytes")),
		QueuedBytes:         cfg.Int("queued.max.request.bytes"),
		Idle:                cfg.Duration("connections.max.idle.ms"),
		MaxConnections:      files,
		MaxConnectionsPerIP: int(cfg.Int("max.connections.per.ip")),
		Logger:              n.log.With("part", "network"),
		Observer:            n.watched.observer(),
	})
}

// closeServer lets replies under way leave and closes the connections.
func closeServer(s *transport.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		log.Warn("connections did not end in good order", "err", err)
	}
}

// serveMetrics answers /metrics and /ready, where ottla.metrics.listener names an address.
func (n *node) serveMetrics(context.Context) error {
	addr := n.cfg.String("ottla.metrics.listener")
	if addr == "" {
		return nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("ottla.metrics.listener: %w", err)
	}
	n.metricsAddr = ln.Addr().String()
	n.showNode()
	srv := metrics.Server(n.watched.registry, n.watched.ready)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("metrics listener ended", "err", err)
		}
	}()
	n.onStop(func() {
		_ = srv.Close() // a scrape under way is of no use any more
		<-done
	})
	return nil
}
