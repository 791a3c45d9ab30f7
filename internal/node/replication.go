package node

import (
	"context"
	"sync"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/fetcher"
	"github.com/ottla/ottla/internal/drive/brokernode/isr"
	"github.com/ottla/ottla/internal/drive/brokernode/mender"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
	"github.com/ottla/ottla/internal/edge/transport"
)

func (b *brokerRole) isrConfig() isr.Config {
	return isr.Config{
		Self: b.self.ID, Epoch: b.life.Epoch, Controller: b.channel, Log: b.part("replicas"),
		Answer: func(tp kafka.TopicIDPartition, answer replica.Proposed) { b.parts.Proposed(tp, answer) },
	}
}

func (b *brokerRole) fetcherConfig() fetcher.Config {
	cfg := b.cfg
	return fetcher.Config{
		Self: b.self.ID, Partitions: b.parts, Listener: b.self.InterBroker, Epoch: b.life.Epoch,
		Sources: sourcesOf(cfg),
		Limits: fetcher.Limits{
			Wait:           cfg.Duration("replica.fetch.wait.max.ms"),
			MinBytes:       int32(cfg.Int("replica.fetch.min.bytes")),
			PartitionBytes: int32(cfg.Int("replica.fetch.max.bytes")),
			AnswerBytes:    int32(cfg.Int("replica.fetch.response.max.bytes")),
			Timeout:        cfg.Duration("replica.socket.timeout.ms"),
			Backoff:        cfg.Duration("replica.fetch.backoff.ms"),
		},
		Quota:   b.quotas.Follower(),
		Connect: func(addr string) fetcher.Conn { return transport.NewClient(addr, b.asClient()) },
		Log:     b.part("replication"),
	}
}

// menderConfig is what gets from other replicas what a disk here has lost.
func (b *brokerRole) menderConfig() mender.Config {
	return mender.Config{
		Self: b.self.ID, Listener: b.self.InterBroker, Image: b.parts.Image, Peers: b.peers,
		Timeout: b.cfg.Duration("request.timeout.ms"),
	}
}

// sourcesOf is how many connections followers have to one leader at most.
func sourcesOf(cfg *config.Config) int { return int(cfg.Int("num.replica.fetchers")) }

// moversOf is how many replicas are moved between directories at the same time: one for
// each directory, unless the settings say otherwise.
func moversOf(cfg *config.Config) int {
	if cfg.Has("num.replica.alter.log.dirs.threads") {
		return int(cfg.Int("num.replica.alter.log.dirs.threads"))
	}
	return len(cfg.Node().LogDirs)
}

// moveRateOf bounds the bytes that are moved between directories in a second.
func moveRateOf(cfg *config.Config) float64 {
	return float64(cfg.Int("replica.alter.log.dirs.io.max.bytes.per.second"))
}

// ratesOf are the bounds that settings set on the replication of throttled replicas.
func ratesOf(cfg *config.Config) throttle.Rates {
	return throttle.Rates{Leader: cfg.Int("leader.replication.throttled.rate"), Follower: cfg.Int("follower.replication.throttled.rate")}
}

// replicate sends what leaders here wish for, and ends the fetching when the
// broker stops.
func (b *brokerRole) replicate() {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { b.isr.Run(ctx) })
	work.Go(func() { b.mover.Run(ctx) })
	b.stops.add(func() {
		cancel()
		within(stopGrace, b.log, "copying from leaders", b.fetcher.Close)
		work.Wait()
	})
}
