package config

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// checkRelations holds keys against each other, as Kafka does at its start.
func (l *loading) checkRelations() {
	l.checkRetention()
	l.checkRolls()
	l.checkFetchWait()
	l.checkCleaner()
	l.checkDedupeBuffer()
	l.checkConnections()
	l.checkAssignmentIntervals()
	l.checkProtocols()
	l.checkQuorumTimers()
	c := l.config
	if key := "offsets.topic.compression.codec"; l.readable(key) && (c.Int(key) < 0 || c.Int(key) > 4) {
		l.fault(key, "%d is no codec (allowed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd)", c.Int(key))
	}
	if key, largest := "queued.max.request.bytes", "socket.request.max.bytes"; l.readable(key, largest) && c.Int(key) > 0 && c.Int(key) < c.Int(largest) {
		l.fault(key, "must be at least %s (%d), or -1", largest, c.Int(largest))
	}
	if beat, session := "broker.heartbeat.interval.ms", "broker.session.timeout.ms"; l.readable(beat, session) && c.Int(beat)*2 > c.Int(session) {
		l.warn(beat, "%d is more than half of %s (%d): one lost heartbeat may fence the broker", c.Int(beat), session, c.Int(session))
	}
}

// checkRetention wants the age that counts to be at least 1 ms, or none.
func (l *loading) checkRetention() {
	for _, s := range synonymsOf("retention.ms") {
		text, set := l.config.text(s.name)
		if !set {
			continue
		}
		if !l.readable(s.name) {
			return
		}
		if inUnit(text, s.unit) == "0" {
			l.fault(s.name, "%s: log.retention.ms must be unlimited (-1) or, greater than or equal to 1", text)
		}
		if n := l.config.Int(s.name); n > math.MaxInt64/s.unit {
			l.fault(s.name, "%d is longer than a number of milliseconds can say", n)
		}
		return
	}
}

// checkFetchWait wants a follower's fetch to end before others give up on it.
func (l *loading) checkFetchWait() {
	const wait, socket, lag = "replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "replica.lag.time.max.ms"
	c := l.config
	if l.readable(wait, socket) && c.Int(wait) > c.Int(socket) {
		l.fault(wait, "must not be above %s (%d)", socket, c.Int(socket))
	}
	if l.readable(wait, lag) && c.Int(wait) > c.Int(lag) {
		l.fault(wait, "must not be above %s (%d), or replicas would leave the in-sync set for no reason", lag, c.Int(lag))
	}
}

func (l *loading) checkCleaner() {
	const least, most = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
	if c := l.config; l.readable(least, most) && c.Int(least) > c.Int(most) {
		l.fault(least, "%d must not be above %s (%d)", c.Int(least), most, c.Int(most))
	}
}

// checkDedupeBuffer wants room for keys in each cleaner.
func (l *loading) checkDedupeBuffer() {
	const buffer, threads = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"
	c := l.config
	if l.readable(buffer, threads) && c.Int(threads) > 0 && c.Int(buffer)/c.Int(threads) <= 1<<20 {
		l.fault(buffer, "%d must be above 1 MiB for each of %s (%d)", c.Int(buffer), threads, c.Int(threads))
	}
}

// checkRolls wants segments that can grow older than nothing.
func (l *loading) checkRolls() {
	for _, rule := range [...]struct {
		key   string
		least int64
	}{{"log.roll.ms", 1}, {"log.roll.jitter.ms", 0}} {
		if l.readable(rule.key) && l.config.Has(rule.key) && l.config.Int(rule.key) < rule.least {
			l.fault(rule.key, "%d must be greater than or equal to %d", l.config.Int(rule.key), rule.least)
		}
	}
}

// checkAssignmentIntervals holds the intervals of each kind of group against their
// bounds.
func (l *loading) checkAssignmentIntervals() {
	for _, kind := range [...]string{"consumer", "share", "streams"} {
		key := "group." + kind + ".assignment.interval.ms"
		least, most := "group."+kind+".min.assignment.interval.ms", "group."+kind+".max.assignment.interval.ms"
		if !l.readable(key, least, most) {
			continue
		}
		switch c := l.config; {
		case c.Int(key) > c.Int(most):
			l.fault(key, "%d must be less than or equal to %s (%d)", c.Int(key), most, c.Int(most))
		case c.Int(key) < c.Int(least):
			l.fault(key, "%d must be greater than or equal to %s (%d)", c.Int(key), least, c.Int(least))
		}
	}
}

// checkLocalRetention wants no more to be kept on the disk than at all. Less than 0 is
// without a bound for the whole log, and like the whole log (-2) for its local part.
func (l *loading) checkLocalRetention() {
	whole := map[string]int64{"log.retention.bytes": l.config.Int("log.retention.bytes"), "log.retention.ms": TopicDefaults(l.config).RetentionMs}
	for _, key := range [...]string{"log.local.retention.bytes", "log.local.retention.ms"} {
		of := strings.Replace(key, ".local", "", 1)
		switch local := l.config.Int(key); {
		case whole[of] < 0 || local == -2:
		case local == -1:
			l.fault(key, "%d must not be unlimited as %s is %d", local, of, whole[of])
		case local > whole[of]:
			l.fault(key, "%d must not be more than %s (%d)", local, of, whole[of])
		}
	}
}

// checkProtocols wants classic groups among those served: clients rely on them.
func (l *loading) checkProtocols() {
	const key = "group.coordinator.rebalance.protocols"
	if !l.readable(key) || slices.Contains(l.config.List(key), "classic") {
		return
	}
	l.fault(key, "must hold classic: disabling the 'classic' protocol is not supported")
}

// leastTimers are in ms. A quorum with a shorter one finds no leader, or a new one
// again and again, on any network and disk there is. (Apache Kafka takes 0.)
var leastTimers = map[string]int64{
	"controller.quorum.election.timeout.ms": 20,
	"controller.quorum.fetch.timeout.ms":    50,
	"controller.quorum.request.timeout.ms":  20,
	"controller.quorum.retry.backoff.ms":    1,
}

func (l *loading) checkQuorumTimers() {
	for _, key := range slices.Sorted(maps.Keys(leastTimers)) {
		if least := leastTimers[key]; l.readable(key) && l.config.Int(key) < least {
			l.fault(key, "%d ms is too short for a quorum to work; use %d or more", l.config.Int(key), least)
		}
	}
}
