package raftnode

import (
	"github.com/ottla/ottla/internal/base/metrics"
)

// Register shows the figures of this node under the names that Kafka's
// exporters give to the group raft-metrics. They are read when somebody looks.
func (n *Node) Register(r *metrics.Registry) {
	gauge := func(name, help string, read func(Metrics) float64) {
		r.GaugeFunc("kafka_server_raft_metrics_"+name, help, func() float64 { return read(n.Metrics()) })
	}
	gauge("current_leader", "node id of the quorum's leader, -1 if not known", func(m Metrics) float64 { return float64(m.CurrentLeader) })
	gauge("current_vote", "node id this node voted for in the epoch, -1 for none", func(m Metrics) float64 { return float64(m.CurrentVote) })
	gauge("current_epoch", "leader epoch of the quorum", func(m Metrics) float64 { return float64(m.CurrentEpoch) })
	gauge("high_watermark", "end of what is committed, -1 if not known", func(m Metrics) float64 { return float64(m.HighWatermark) })
	gauge("log_end_offset", "end of the metadata log", func(m Metrics) float64 { return float64(m.LogEndOffset) })
	gauge("log_end_epoch", "leader epoch of the last record", func(m Metrics) float64 { return float64(m.LogEndEpoch) })
	gauge("number_of_voters", "size of the voter set in effect", func(m Metrics) float64 { return float64(m.NumberOfVoters) })
	gauge("number_of_observers", "observers that fetch from this leader", func(m Metrics) float64 { return float64(m.NumberOfObservers) })
	gauge("number_unknown_voter_connections", "always 0", func(m Metrics) float64 { return float64(m.UnknownVoterConns) })
	gauge("commit_latency_avg", "milliseconds from append to commit on the leader, average", func(m Metrics) float64 { return m.CommitLatencyAvg })
	gauge("commit_latency_max", "milliseconds from append to commit on the leader, longest", func(m Metrics) float64 { return m.CommitLatencyMax })
	gauge("election_latency_avg", "milliseconds until a leader was found, average", func(m Metrics) float64 { return m.ElectionLatencyAvg })
	gauge("election_latency_max", "milliseconds until a leader was found, longest", func(m Metrics) float64 { return m.ElectionLatencyMax })
	r.CounterFunc("kafka_server_raft_metrics_append_records_total", "records appended as leader",
		func() float64 { return float64(n.Metrics().AppendRecords) })
	r.CounterFunc("kafka_server_raft_metrics_fetch_records_total", "records fetched from a leader",
		func() float64 { return float64(n.Metrics().FetchRecords) })
}
