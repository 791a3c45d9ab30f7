package interop

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const ofLoggers = kmsg.ConfigResourceTypeBrokerLogger

// loggersAlike changes the levels of loggers on both nodes (KIP-412): they take and refuse
// the same in the same words, and tell what holds alike. Which loggers there are is each
// program's own matter: a name of theirs stands for one of ours.
func loggersAlike(t *testing.T, theirs, ours *configured) {
	const inKafka, inOttla = "kafka.server.KafkaApis", "storage"
	same := strings.NewReplacer(inKafka, inOttla)
	f := func(node, logger, level string, code int16) {
		t.Helper()
		value := &level
		if level == "" {
			value = nil
		}
		a, b := theirs.alter(ofLoggers, node, logger, value), ours.alter(ofLoggers, node, same.Replace(logger), value)
		if a.message = same.Replace(a.message); a != b || b.code != code {
			t.Errorf("%s=%s at %q\nApache Kafka: %s\nours:         %s\nwant the code %d", logger, level, node, a, b, code)
		}
		x, y := theirs.described(ofLoggers, "1", logger), ours.described(ofLoggers, "1", same.Replace(logger))
		if x[logger].line != y[same.Replace(logger)].line {
			t.Errorf("%s=%s\nApache Kafka: %s\nours:         %s", logger, level, x[logger].line, y[same.Replace(logger)].line)
		}
	}
	const invalidConfig, invalidRequest = 40, 42
	f("1", "root", "WARN", 0)
	f("1", inKafka, "DEBUG", 0)
	f("1", inKafka, "TRACE", 0)
	f("1", "root", "ERROR", 0)
	f("1", inKafka, "debug", invalidConfig)
	f("1", inKafka, "OFF", invalidConfig)
	f("1", inKafka, "", 0)
	f("1", "root", "FATAL", 0)
	f("1", "root", "loud", invalidConfig)
	f("1", "root", "", invalidRequest)
	f("1", "no.such.logger", "INFO", invalidConfig)
	f("1", "no.such.logger", "", invalidConfig)
	f("2", "root", "INFO", invalidRequest)
	f("x", "root", "INFO", invalidRequest)
	f("", "root", "INFO", invalidRequest)
}
