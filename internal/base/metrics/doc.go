// Package metrics is a thin registry over Prometheus' client: packages name
// their metrics in one struct each, and the node serves all of them over HTTP
// beside an answer to whether it is ready. It owns naming and exposition, not
// what is measured.
//
// Names are Kafka's, written as its exporters write them:
// kafka_server_replicamanager_leadercount for
// kafka.server:type=ReplicaManager,name=LeaderCount.
package metrics
