package node

import (
	"context"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/fetcher"
	"github.com/ottla/ottla/internal/drive/brokernode/isr"
	"github.com/ottla/ottla/internal/edge/transport"
)

func (n *node) isrConfig(b *brokerPart) isr.Config {
	return isr.Config{
		Self: n.cfg.Node().ID, Epoch: n.life.Epoch, Controller: n.channel, Log: n.log.With("part", "replicas"),
		Answer: func(tp kafka.TopicIDPartition, answer replica.Proposed) { b.parts.Proposed(tp, answer) },
	}
}

func (n *node) fetcherConfig(b *brokerPart) fetcher.Config {
	cfg := n.cfg
	return fetcher.Config{
		Self: cfg.Node().ID, Partitions: b.parts, Listener: cfg.Node().InterBroker, Epoch: n.life.Epoch,
		Sources: int(cfg.Int("num.replica.fetchers")),
		Limits: fetcher.Limits{
			Wait:           cfg.Duration("replica.fetch.wait.max.ms"),
			MinBytes:       int32(cfg.Int("replica.fetch.min.bytes")),
			PartitionBytes: int32(cfg.Int("replica.fetch.max.bytes")),
			AnswerBytes:    int32(cfg.Int("replica.fetch.response.max.bytes")),
			Timeout:        cfg.Duration("replica.socket.timeout.ms"),
			Backoff:        cfg.Duration("replica.fetch.backoff.ms"),
		},
		Connect: func(addr string) fetcher.Conn { return transport.NewClient(addr, n.clientConfig()) },
		Log:     n.log.With("part", "replication"),
	}
}

// runReplication sends what leaders here wish for, and ends the fetching when the
// node stops.
func (n *node) runReplication(b *brokerPart) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { b.isr.Run(ctx) })
	n.onStop(func() {
		cancel()
		b.fetcher.Close()
		work.Wait()
	})
}

// runTicks looks after replicas that have fallen behind.
func (n *node) runTicks(b *brokerPart) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(b.parts.TickEvery())
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				b.parts.Tick()
			}
		}
	}()
	n.onStop(func() {
		close(quit)
		<-done
	})
}
