package raftnode

import "github.com/ottla/ottla/internal/base/metrics"

// Register shows the figures of this node under the names of Kafka's group
// raft-metrics.
func (n *Node) Register(r *metrics.Registry) {
	metrics.Watch(r, n.Metrics, append(readings(), metrics.Reading[Metrics]{
		Name: "kafka_server_raft_metrics_current_vote_directory_id", Labels: "current_vote_directory_id",
		Help: "1, with the directory id of the voter that this node voted for in the epoch; zeros: none, or not known.",
		Each: func(m Metrics, report metrics.Report) { report(1, m.CurrentVoteDirectoryID) },
	}, metrics.Reading[Metrics]{
		Name: "kafka_server_raft_metrics_current_state", Labels: "current_state",
		Help: "1, with the role in the quorum: leader, follower, candidate, prospective, unattached or observer.",
		Each: func(m Metrics, report metrics.Report) { report(1, m.CurrentState) },
	}, metrics.Reading[Metrics]{
		Name: "ottla_quorum_occasions_total", Kind: metrics.Counter, Labels: "occasion",
		Help: "What a quorum at rest never does: rounds of pre-votes, candidacies, leaders that step down or die, and how each was dealt with (docs/quorum.md).",
		Each: func(m Metrics, report metrics.Report) {
			for which, n := range m.Occasions {
				report(float64(n), occasionsOf[which].name)
			}
		},
	}, metrics.Reading[Metrics]{
		Name: "ottla_quorum_syncs_total", Kind: metrics.Counter,
		Help: "Syncs of the metadata log. Each makes all durable that was appended meanwhile.",
		One:  func(m Metrics) float64 { return float64(m.Syncs) },
	})...)
}

func readings() []metrics.Reading[Metrics] {
	of := func(kind metrics.Kind, name, help string, value func(Metrics) float64) metrics.Reading[Metrics] {
		return metrics.Reading[Metrics]{Name: "kafka_server_raft_metrics_" + name, Help: help, Kind: kind, One: value}
	}
	const gauge, counter = metrics.Gauge, metrics.Counter
	return []metrics.Reading[Metrics]{
		of(gauge, "current_leader", "Id of the quorum's leader; -1: not known.", func(m Metrics) float64 { return float64(m.CurrentLeader) }),
		of(gauge, "current_epoch", "Epoch of the quorum.", func(m Metrics) float64 { return float64(m.CurrentEpoch) }),
		of(gauge, "current_vote", "Id that this node voted for in the epoch; -1: none.", func(m Metrics) float64 { return float64(m.CurrentVote) }),
		of(gauge, "high_watermark", "Offset below which metadata is committed; -1: not known.", func(m Metrics) float64 { return float64(m.HighWatermark) }),
		of(gauge, "log_end_offset", "Offset after the last record of the metadata log here.", func(m Metrics) float64 { return float64(m.LogEndOffset) }),
		of(gauge, "log_end_epoch", "Epoch of the last record of the metadata log here.", func(m Metrics) float64 { return float64(m.LogEndEpoch) }),
		of(gauge, "number_of_voters", "Voters of the quorum.", func(m Metrics) float64 { return float64(m.NumberOfVoters) }),
		of(gauge, "number_of_observers", "Observers that the leader knows of; 0 elsewhere.", func(m Metrics) float64 { return float64(m.NumberOfObservers) }),
		of(gauge, "uncommitted_voter_change", "1 while the leader waits for the commit of a change of the voters.", func(m Metrics) float64 {
			if m.UncommittedVoterChange {
				return 1
			}
			return 0
		}),
		of(gauge, "poll_idle_ratio_avg", "Part of the time, between 0 and 1, that the quorum's loop had nothing to do since this was asked for last. Near 0: it is overloaded.", func(m Metrics) float64 { return m.PollIdleRatio }),
		of(gauge, "number_unknown_voter_connections", "Voters whose address is not known.", func(m Metrics) float64 { return float64(m.UnknownVoterConns) }),
		of(gauge, "commit_latency_avg", "Milliseconds from append to commit on the leader, on average since the start.", func(m Metrics) float64 { return m.CommitLatencyAvg }),
		of(gauge, "commit_latency_max", "Milliseconds from append to commit on the leader, the longest.", func(m Metrics) float64 { return m.CommitLatencyMax }),
		of(gauge, "election_latency_avg", "Milliseconds that elections took, on average since the start.", func(m Metrics) float64 { return m.ElectionLatencyAvg }),
		of(gauge, "election_latency_max", "Milliseconds that the longest election took.", func(m Metrics) float64 { return m.ElectionLatencyMax }),
		of(counter, "append_records_total", "Records that this node appended as leader; Kafka shows a rate.", func(m Metrics) float64 { return float64(m.AppendRecords) }),
		of(counter, "fetch_records_total", "Records that this node fetched; Kafka shows a rate.", func(m Metrics) float64 { return float64(m.FetchRecords) }),
	}
}
