// Package metrics is a thin registry over Prometheus' client. Packages count in
// plain fields of one struct each, whose zero value works and costs an atomic
// add; what can be read off the state of a part is read when somebody looks. The
// node serves all of it over HTTP beside an answer to whether it is ready. The
// package owns naming and exposition, not what is measured.
//
// Names are Kafka's, as the usual rules of the JMX exporter write them:
// kafka_server_replicamanager_leadercount for
// kafka.server:type=ReplicaManager,name=LeaderCount. Names that begin with ottla_
// are for what Kafka has no name for.
package metrics
