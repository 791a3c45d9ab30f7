package storage

import "github.com/ottla/ottla/internal/base/metrics"

// Metrics are what the logs of a node count together. The zero value is ready.
type Metrics struct {
	Flush metrics.Timing `name:"kafka_log_logflushstats_logflushrateandtimems" help:"Time that syncs of logs took, in milliseconds."`
}
