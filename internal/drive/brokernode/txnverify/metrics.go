package txnverify

import "github.com/ottla/ottla/internal/base/metrics"

// Metrics are kafka.server:type=AddPartitionsToTxnManager.
type Metrics struct {
	Failed metrics.Count  `name:"kafka_server_addpartitionstotxnmanager_verificationfailures_total" help:"Partitions whose transaction could not be verified, so that batches were refused."`
	Took   metrics.Timing `name:"kafka_server_addpartitionstotxnmanager_verificationtime" help:"Seconds that the first batches of transactions have waited for their coordinators."`
}

// Register shows the metrics.
func (v *Verifier) Register(r *metrics.Registry) { r.Register(&v.metrics) }
