package config

import (
	"slices"
)

// CheckChange tells why a node that runs by these layers cannot go over to others:
// the rules between settings that Kafka checks at run time. What was wrong before
// stops no change that leaves it as it is. The error is kerr.InvalidRequest.
func (l Layers) CheckChange(next Layers) error {
	before, after := l.Effective(), next.Effective()
	old := brokenRules(before)
	for _, fault := range brokenRules(after) {
		if !slices.Contains(old, fault) {
			return notNow("%s", fault)
		}
	}
	return checkThreads(before, after)
}

// brokenRules are the rules that settings break, each with its key and value.
func brokenRules(c *Config) Faults {
	l := loading{config: c}
	l.checkRetention()
	l.checkRolls()
	l.checkConnections()
	l.checkDedupeBuffer()
	l.checkAssignmentIntervals()
	l.checkLocalRetention()
	if c.node != nil {
		l.checkCordoned(c.node.LogDirs)
	}
	return l.faults
}

// pools are the numbers of threads that change by half or double at most, for each
// request.
var pools = [...]string{
	"background.threads", "log.cleaner.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers",
	"remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size",
	"remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads",
}

// checkThreads holds numbers of threads against what they were.
func checkThreads(before, after *Config) error {
	const refused = "Dynamic thread count update validation failed for %s=%d, "
	for _, key := range pools {
		switch was, is := before.Int(key), after.Int(key); {
		case is == was:
		case is < 1:
			return notNow(refused+"value should be at least 1", key, is)
		case is < was/2:
			return notNow(refused+"value should be at least half the current value %d", key, is, was)
		case is > was*2:
			return notNow(refused+"value should not be greater than double the current value %d", key, is, was)
		}
	}
	return nil
}
