package node

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ottla/ottla/internal/edge/transport"
)

// newServer makes a server of connections, whose bounds follow the settings. files
// is how many there may be where those do not say; 0 is no bound.
func newServer(e *env, files int) *transport.Server {
	server := newUnboundServer(e)
	e.live.govern(server, files)
	return server
}

// newUnboundServer makes a server that takes as many connections as there are.
func newUnboundServer(e *env) *transport.Server {
	return transport.NewServer(transport.Config{
		MaxRequestBytes: int(e.cfg.Int("socket.request.max.bytes")),
		QueuedBytes:     e.cfg.Int("queued.max.request.bytes"),
		Idle:            e.cfg.Duration("connections.max.idle.ms"),
		Logger:          e.part("network"),
		Observer:        e.watched.observer(),
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

// asClient is how this node appears to its peers.
func (e *env) asClient() transport.ClientConfig {
	return transport.ClientConfig{
		ClientID: fmt.Sprintf("ottla-%d", e.self.ID), SoftwareVersion: e.version,
		DialTimeout:    e.cfg.Duration("socket.connection.setup.timeout.ms"),
		DialTimeoutMax: e.cfg.Duration("socket.connection.setup.timeout.max.ms"),
		RequestTimeout: e.cfg.Duration("request.timeout.ms"),
	}
}
