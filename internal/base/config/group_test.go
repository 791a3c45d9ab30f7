package config

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

// The texts are those of Apache Kafka 4.4's controller, with its default bounds.
func TestCheckGroupConfig(t *testing.T) {
	f := func(settings, want string, file ...string) {
		t.Helper()
		values := map[string]string{}
		for pair := range strings.FieldsSeq(settings) {
			key, value, _ := strings.Cut(pair, "=")
			values[key] = value
		}
		brokers := &Config{set: map[string]string{}}
		for _, pair := range file {
			key, value, _ := strings.Cut(pair, "=")
			brokers.set[key] = value
		}
		err := CheckGroupConfig(values, brokers)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", settings, err)
		case want != "" && (kerr.Of(err) != kerr.InvalidConfig || *kerr.Message(err) != want):
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
	f("", "")
	f("nokey=1", "Unknown group config name: nokey")
	f("consumer.session.timeout.ms=x", "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT")
	f("consumer.session.timeout.ms=0", "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1")
	f("consumer.session.timeout.ms=44999", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.")
	f("consumer.session.timeout.ms=60001", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.")
	f("consumer.session.timeout.ms=60001", "", "group.consumer.max.session.timeout.ms=70000")
	f("consumer.heartbeat.interval.ms=15001", "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive.")
	f("consumer.heartbeat.interval.ms=45000", "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms=60000")
	f("consumer.assignment.interval.ms=15001", "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive.")
	f("consumer.assignor.offload.enable=x", "Invalid value x for configuration consumer.assignor.offload.enable: Expected value to be either true or false")
	f("consumer.assignor.offload.enable=false", "")
	f("share.delivery.count.limit=11", "share.delivery.count.limit must be in the range 2 to 10 inclusive.")
	f("share.partition.max.record.locks=4001", "share.partition.max.record.locks must be in the range 100 to 4000 inclusive.")
	f("share.record.lock.duration.ms=14999", "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive.")
	f("streams.num.standby.replicas=3", "streams.num.standby.replicas must be less than or equal to 2")
	f("streams.num.warmup.replicas=21", "streams.num.warmup.replicas must be less than or equal to 20")
	f("streams.task.offset.interval.ms=14999", "streams.task.offset.interval.ms must be greater than or equal to 15000")
	f("streams.acceptable.recovery.lag=2000000000000", "")
	f("streams.initial.rebalance.delay.ms=2000000000", "")
	f("share.auto.offset.reset=earliest share.isolation.level=read_committed", "")
	f("share.isolation.level=READ_COMMITTED", "Invalid value READ_COMMITTED for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted")
	f("streams.assignor.name=sticky", "")
	f("streams.assignor.name=x", "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky].")
	f("streams.rack.aware.assignment.tags=a,b", "")
	f("streams.rack.aware.assignment.tags=a,a", "streams.rack.aware.assignment.tags must not contain duplicate tag keys.")
	f("errors.deadletterqueue.topic.name=__x", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	f("errors.deadletterqueue.topic.name=dlq", "")
}

func TestAGroupMayBeginAtADuration(t *testing.T) {
	for text, want := range map[string]bool{
		"PT1H": true, "P1DT2H3M4.5S": true, "P2D": true, "pt0s": true, "-PT-1H": true, "PT1H-30M": true,
		"-PT1H": false, "PT-1H": false, "P": false, "PT": false, "P1DT": false, "1H": false, "": false, "PT1D": false,
	} {
		if got := byDuration("by_duration:" + text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if byDuration("PT1H") {
		t.Error("a duration alone was taken")
	}
}
