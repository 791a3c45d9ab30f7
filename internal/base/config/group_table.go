package config

// groupKeys is every key of a group (KIP-848, 932, 1071), sorted by name, in the
// columns of brokerKeys. They are stored and checked for coordinators that serve such
// groups; ours are classic ones, which have none.
var groupKeys = []Key{
	{"consumer.assignment.interval.ms", Int, "1000", "0..", Medium, Cluster, 0, Unused, "Least time between two assignments"},
	{"consumer.assignor.offload.enable", Bool, "true", "", Medium, Cluster, Internal, Unused, "Whether assignments are computed off the coordinator's thread"},
	{"consumer.heartbeat.interval.ms", Int, "5000", "1..", Medium, Cluster, 0, Unused, "Heartbeat interval given to members"},
	{"consumer.session.timeout.ms", Int, "45000", "1..", Medium, Cluster, 0, Unused, "Time without heartbeat after which a member is removed"},
	{"errors.deadletterqueue.copy.record.enable", Bool, "false", "", Medium, Cluster, 0, Unused, "Whether dead letters hold the record itself"},
	{"errors.deadletterqueue.topic.name", Str, "", "", Medium, Cluster, 0, Unused, "Topic for records that are given up"},
	{"share.assignment.interval.ms", Int, "1000", "0..", Medium, Cluster, 0, Unused, "Least time between two assignments"},
	{"share.assignor.offload.enable", Bool, "true", "", Medium, Cluster, Internal, Unused, "Whether assignments are computed off the coordinator's thread"},
	{"share.auto.offset.reset", Str, "latest", "", Medium, Cluster, 0, Unused, "Where a new group begins: latest, earliest or by_duration:PnDTnHnMn.nS"},
	{"share.delivery.count.limit", Int, "5", "2..", Medium, Cluster, 0, Unused, "Deliveries after which a record is given up"},
	{"share.heartbeat.interval.ms", Int, "5000", "1..", Medium, Cluster, 0, Unused, "Heartbeat interval given to members"},
	{"share.isolation.level", Str, "read_uncommitted", "read_committed read_uncommitted", Medium, Cluster, 0, Unused, "Whether records of aborted transactions are delivered"},
	{"share.partition.max.record.locks", Int, "2000", "100..", Medium, Cluster, 0, Unused, "Records of a partition that may be locked at once"},
	{"share.record.lock.duration.ms", Int, "30000", "1000..", Medium, Cluster, 0, Unused, "Time a delivered record stays locked for its consumer"},
	{"share.renew.acknowledge.enable", Bool, "true", "", Medium, Cluster, 0, Unused, "Whether consumers may renew their locks"},
	{"share.session.timeout.ms", Int, "45000", "1..", Medium, Cluster, 0, Unused, "Time without heartbeat after which a member is removed"},
	{"streams.acceptable.recovery.lag", Long, "10000", "0..", Medium, Cluster, Internal, Unused, "Lag up to which a task counts as caught up"},
	{"streams.assignment.interval.ms", Int, "1000", "0..", Medium, Cluster, 0, Unused, "Least time between two assignments"},
	{"streams.assignor.name", Str, Null, "", Medium, Cluster, 0, Unused, "Assignor of the group, one of the brokers'"},
	{"streams.assignor.offload.enable", Bool, "true", "", Medium, Cluster, Internal, Unused, "Whether assignments are computed off the coordinator's thread"},
	{"streams.heartbeat.interval.ms", Int, "5000", "1..", Medium, Cluster, 0, Unused, "Heartbeat interval given to members"},
	{"streams.initial.rebalance.delay.ms", Int, "3000", "0..", Medium, Cluster, 0, Unused, "Time an empty group waits for more members"},
	{"streams.num.standby.replicas", Int, "0", "0..", Medium, Cluster, 0, Unused, "Standby replicas of each task"},
	{"streams.num.warmup.replicas", Int, "2", "0..", Medium, Cluster, Internal, Unused, "Warm-up replicas of the group"},
	{"streams.rack.aware.assignment.tags", List, "", "", Low, Cluster, 0, Unused, "Client tags by which standby replicas are spread"},
	{"streams.session.timeout.ms", Int, "45000", "1..", Medium, Cluster, 0, Unused, "Time without heartbeat after which a member is removed"},
	{"streams.task.offset.interval.ms", Int, "60000", "1..", Medium, Cluster, Internal, Unused, "Time between two reports of task offsets"},
}
