package metaview

import (
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/metrics"
)

// figures are what a view counts.
type figures struct {
	Loads      metrics.Count `name:"kafka_server_metadataloader_handleloadsnapshotcount" help:"Snapshots of the metadata that this node has loaded since its start."`
	LoadErrors metrics.Count `name:"kafka_server_broker_metadata_metrics_metadata_load_error_count" help:"Faults in metadata that this node has read. Alert above 0: the node stops at the first."`
}

// emitted is the snapshot that was written last.
type emitted struct {
	bytes atomic.Int64
	atMs  atomic.Int64 // or when the view was made, ms since 1970
}

// wrote notes a snapshot of so many bytes.
func (e *emitted) wrote(bytes int64) {
	e.bytes.Store(bytes)
	e.atMs.Store(time.Now().UnixMilli())
}

// Register shows the figures under the names of Kafka's MetadataLoader,
// SnapshotEmitter and broker-metadata-metrics.
func (v *View) Register(r *metrics.Registry) {
	r.Register(&v.figures)
	r.GaugeFunc("kafka_server_snapshotemitter_latestsnapshotgeneratedbytes",
		"Bytes of the snapshot of the metadata that this node has written last; 0: none since its start.",
		func() float64 { return float64(v.emitted.bytes.Load()) })
	r.GaugeFunc("kafka_server_snapshotemitter_latestsnapshotgeneratedagems",
		"Milliseconds since this node has written a snapshot of the metadata, or, if it has not, since its start.",
		func() float64 { return float64(time.Since(time.UnixMilli(v.emitted.atMs.Load())).Milliseconds()) })
}
