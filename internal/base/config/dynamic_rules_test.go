package config

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

// Rule: settings that break a rule between them are refused at run time with
// INVALID_REQUEST, and the message has the key and the value; what was wrong before
// stops nothing.
func TestCheckChange(t *testing.T) {
	static, err := New(map[string]string{"log.retention.hours": "1", "num.io.threads": "8"})
	if err != nil {
		t.Fatal(err)
	}
	static.node = &Node{LogDirs: []string{"/a", "/b"}}
	f := func(before, after string, want ...string) {
		t.Helper()
		layer := func(text string) Layers {
			l := Layers{Broker: map[string]string{}, Static: static}
			for pair := range strings.FieldsSeq(text) {
				key, value, _ := strings.Cut(pair, "=")
				l.Broker[key] = value
			}
			return l
		}
		err := layer(before).CheckChange(layer(after))
		if len(want) == 0 {
			if err != nil {
				t.Errorf("%q to %q: %v", before, after, err)
			}
			return
		}
		if kerr.Of(err) != kerr.InvalidRequest {
			t.Fatalf("%q to %q: %v", before, after, err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q to %q: no %q in %v", before, after, part, err)
			}
		}
	}
	f("", "num.io.threads=16")
	f("", "num.io.threads=17", "num.io.threads=17", "double the current value 8")
	f("", "num.io.threads=3", "num.io.threads=3", "half the current value 8")
	f("num.io.threads=16", "num.io.threads=32")
	f("num.replica.fetchers=2", "num.replica.fetchers=1")
	f("", "log.cleaner.threads=0", "log.cleaner.threads=0", "at least 1")
	f("", "num.network.threads=7", "num.network.threads=7", "double the current value 3")
	f("", "num.network.threads=6")
	f("", "log.retention.ms=0", "log.retention.ms", "0")
	f("", "log.retention.ms=-1")
	f("", "log.roll.ms=0", "log.roll.ms", "0")
	f("", "log.roll.jitter.ms=-5", "log.roll.jitter.ms", "-5")
	f("", "max.connections.per.ip=0", "max.connections.per.ip", "0")
	f("", "max.connections.per.ip=0 max.connections.per.ip.overrides=127.0.0.1:3,[::1]:4")
	f("", "max.connections.per.ip.overrides=127.0.0.1", "max.connections.per.ip.overrides", "127.0.0.1")
	f("", "max.connections.per.ip.overrides=127.0.0.1:x", "max.connections.per.ip.overrides", "127.0.0.1:x")
	f("", "max.connections.per.ip.overrides=127.0.0.1:-1", "max.connections.per.ip.overrides", "127.0.0.1:-1")
	f("", "max.connections.per.ip.overrides=somebody:1", "max.connections.per.ip.overrides", "somebody:1")
	f("", "max.connections=0", "max.connections", "0")
	f("", "listener.name.a.max.connections=0", "listener.name.a.max.connections", "0")
	f("", "max.connection.creation.rate=0", "max.connection.creation.rate", "0")
	f("", "log.cleaner.dedupe.buffer.size=1048576", "log.cleaner.dedupe.buffer.size", "1048576")
	f("", "log.cleaner.dedupe.buffer.size=1048577")
	f("log.cleaner.dedupe.buffer.size=1048577", "log.cleaner.dedupe.buffer.size=1048577 log.cleaner.threads=2", "log.cleaner.dedupe.buffer.size")
	f("", "group.consumer.assignment.interval.ms=15001", "group.consumer.assignment.interval.ms", "15001")
	f("", "group.streams.assignment.interval.ms=15001", "group.streams.assignment.interval.ms", "15001")
	f("", "log.local.retention.ms=3600001", "log.local.retention.ms", "3600001", "3600000")
	f("", "log.local.retention.ms=-1", "log.local.retention.ms", "-1")
	f("", "log.local.retention.ms=3600000")
	f("log.local.retention.bytes=5000", "log.local.retention.bytes=5000 log.retention.bytes=4000", "log.local.retention.bytes", "5000")
	f("", "cordoned.log.dirs=/a,/c", "cordoned.log.dirs", "/c")
	f("", "cordoned.log.dirs=/a,/b")
	f("", "cordoned.log.dirs=*")
	f("log.roll.ms=0", "log.roll.ms=0 log.retention.ms=5")
}
