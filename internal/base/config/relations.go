package config

import "math"

// checkRelations holds keys against each other, as Kafka does at its start.
func (l *loading) checkRelations() {
	c := l.config
	l.checkRetention()
	if c.Int("replica.fetch.wait.max.ms") > c.Int("replica.socket.timeout.ms") {
		l.fault("replica.fetch.wait.max.ms", "must not be above replica.socket.timeout.ms (%d)", c.Int("replica.socket.timeout.ms"))
	}
	if c.Int("replica.fetch.wait.max.ms") > c.Int("replica.lag.time.max.ms") {
		l.fault("replica.fetch.wait.max.ms", "must not be above replica.lag.time.max.ms (%d), or replicas would leave the in-sync set for no reason", c.Int("replica.lag.time.max.ms"))
	}
	if codec := c.Int("offsets.topic.compression.codec"); codec < 0 || codec > 4 {
		l.fault("offsets.topic.compression.codec", "%d is no codec (allowed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd)", codec)
	}
	if budget := c.Int("queued.max.request.bytes"); budget > 0 && budget < c.Int("socket.request.max.bytes") {
		l.fault("queued.max.request.bytes", "must be at least socket.request.max.bytes (%d), or -1", c.Int("socket.request.max.bytes"))
	}
	if c.Int("max.connections.per.ip") == 0 && c.String("max.connections.per.ip.overrides") == "" {
		l.fault("max.connections.per.ip", "may be 0 only when max.connections.per.ip.overrides is set")
	}
	if beat, session := c.Int("broker.heartbeat.interval.ms"), c.Int("broker.session.timeout.ms"); beat*2 > session {
		l.warn("broker.heartbeat.interval.ms", "%d is more than half of broker.session.timeout.ms (%d): one lost heartbeat may fence the broker", beat, session)
	}
	if least, most := c.Int("log.cleaner.min.compaction.lag.ms"), c.Int("log.cleaner.max.compaction.lag.ms"); least > most {
		l.fault("log.cleaner.min.compaction.lag.ms", "%d must not be above log.cleaner.max.compaction.lag.ms (%d)", least, most)
	}
	if threads := c.Int("log.cleaner.threads"); threads > 0 && c.Int("log.cleaner.dedupe.buffer.size")/threads <= 1<<20 {
		l.fault("log.cleaner.dedupe.buffer.size", "must be above 1 MiB for each of log.cleaner.threads (%d)", threads)
	}
	l.checkProtocols()
}

// checkRetention wants the age that counts to be at least 1 ms, or none.
func (l *loading) checkRetention() {
	for _, s := range synonymsOf("retention.ms") {
		if text, set := l.config.text(s.name); set {
			if inUnit(text, s.unit) == "0" {
				l.fault(s.name, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
			}
			if n := l.config.Int(s.name); n > math.MaxInt64/s.unit {
				l.fault(s.name, "%d is longer than a number of milliseconds can say", n)
			}
			return
		}
	}
}

// checkProtocols wants classic groups among those served: clients rely on them.
func (l *loading) checkProtocols() {
	for _, kind := range l.config.List("group.coordinator.rebalance.protocols") {
		if kind == "classic" {
			return
		}
	}
	l.fault("group.coordinator.rebalance.protocols", "must hold classic: disabling the 'classic' protocol is not supported")
}
