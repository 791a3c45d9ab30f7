package node

import "github.com/ottla/ottla/internal/drive/brokernode/txnverify"

// verifierConfig is what asks transaction coordinators for the leaders of this
// broker.
func (b *brokerRole) verifierConfig() txnverify.Config {
	return txnverify.Config{
		Self: b.self.ID, Listener: b.self.InterBroker, Image: b.parts.Image, Peers: b.peers,
		Timeout:  b.cfg.Duration("request.timeout.ms"),
		Pause:    b.cfg.Duration("add.partitions.to.txn.retry.backoff.ms"),
		Patience: b.cfg.Duration("add.partitions.to.txn.retry.backoff.max.ms"),
		Log:      b.part("transactions"),
	}
}
