package coordnode

import (
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/group"
)

// Metrics are counted while the coordinator works, under the names that Kafka's
// exporters give to kafka.server:type=group-coordinator-metrics.
type Metrics struct {
	Commits metrics.Count  `name:"kafka_server_group_coordinator_metrics_offset_commit_count" help:"Requests to commit offsets that succeeded."`
	Batches metrics.Count  `name:"kafka_server_group_coordinator_metrics_batch_flush_count" help:"Batches handed to __consumer_offsets."`
	Refused metrics.Count  `name:"kafka_server_group_coordinator_metrics_refused_count" help:"Requests that found the mailbox of their coordinator full."`
	Load    metrics.Timing `name:"kafka_server_group_coordinator_metrics_partition_load_time" help:"Seconds that the load of a partition took."`
}

// Register shows the metrics of the coordinator.
func (n *Groups) Register(r *metrics.Registry) {
	r.Register(&n.metrics)
	metrics.Watch(r, n.census,
		metrics.Reading[census]{
			Name: "kafka_server_group_coordinator_metrics_num_partitions", Labels: "state",
			Help: "Partitions of __consumer_offsets that are led here.",
			Each: func(c census, report metrics.Report) {
				report(float64(c.active), "active")
				report(float64(c.loading), "loading")
				report(float64(c.failed), "failed")
			},
		},
		metrics.Reading[census]{
			Name: "kafka_server_group_coordinator_metrics_group_count", Labels: "protocol",
			Help: "Groups that this broker coordinates.",
			Each: func(c census, report metrics.Report) { report(float64(c.groups.Total()), "classic") },
		},
		metrics.Reading[census]{
			Name: "kafka_server_group_coordinator_metrics_classic_group_count", Labels: "state",
			Help: "Groups of the classic protocol that this broker coordinates.",
			Each: func(c census, report metrics.Report) {
				for state, count := range c.groups.States {
					report(float64(count), group.State(state).String())
				}
			},
		},
		metrics.Reading[census]{
			Name: "kafka_coordinator_group_groupmetadatamanager_numgroups",
			Help: "Groups that this broker coordinates.",
			One:  func(c census) float64 { return float64(c.groups.Total()) },
		},
		metrics.Reading[census]{
			Name: "kafka_coordinator_group_groupmetadatamanager_numoffsets",
			Help: "Committed offsets of all groups that this broker coordinates.",
			One:  func(c census) float64 { return float64(c.groups.Offsets) },
		},
		metrics.Reading[census]{
			Name: "kafka_server_group_coordinator_metrics_event_queue_size",
			Help: "Events that wait for a coordinator.",
			One:  func(c census) float64 { return float64(c.mail) },
		},
	)
}

// census is what the coordinator holds at one moment.
type census struct {
	active, loading, failed int
	mail                    int
	groups                  group.Census
}

func (n *Groups) census() census {
	var c census
	for _, p := range n.partitions() {
		p.count(&c)
	}
	return c
}

// count adds the partition to a census. While somebody works on the shard, its
// numbers are those of the last look.
func (p *partition) count(c *census) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case active:
		c.active++
	case loading:
		c.loading++
	default:
		c.failed++
	}
	if p.state == active && !p.working {
		p.groups = p.shard.Census()
	}
	c.mail += len(p.mail)
	c.groups.Add(p.groups)
}
