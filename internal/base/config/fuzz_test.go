package config

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

// FuzzSetting: whatever a client sets for a topic, a broker or all brokers is
// refused with a code, or can be used.
func FuzzSetting(f *testing.F) {
	for i, k := range Keys() {
		f.Add(uint16(i), k.Name, k.Default)
		f.Add(uint16(i), "listener.name.a."+k.Name, "-1")
	}
	for i := range TopicKeys() {
		f.Add(uint16(i), "", "1:2,3:4")
	}
	static, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pick uint16, name, value string) {
		topicKey := TopicKeys()[int(pick)%len(TopicKeys())].Name
		if _, err := DefaultLogConfig().With(map[string]string{topicKey: value}); err != nil && kerr.Of(err) != kerr.InvalidConfig {
			t.Errorf("%s=%q: %v", topicKey, value, err)
		}
		DefaultLogConfig().Overlay(map[string]string{name: value, topicKey: value})
		for _, check := range []func(name, value string) error{CheckBrokerConfig, CheckClusterConfig} {
			if err := check(name, value); err != nil && kerr.Of(err) != kerr.InvalidRequest {
				t.Errorf("%q=%q: %v", name, value, err)
			}
		}
		key := Keys()[int(pick)%len(Keys())].Name
		Layers{Broker: map[string]string{key: value, name: value}, Static: static}.Effective()
	})
}

// FuzzParse: no file crashes the loader, and what loads can be asked for.
func FuzzParse(f *testing.F) {
	f.Add([]byte(combined), "node.id=1")
	f.Add([]byte("a=\\u00zz\nlisteners=A://[::1:1,://:\n"), "=")
	f.Add([]byte("process.roles=broker\nnode.id=9\ncontroller.quorum.voters=1@h:1\nlog.retention.hours=9223372036854775807\ncontroller.listener.names=C"), "listener.name.a.b.sasl.jaas.config=\\")
	f.Fuzz(func(t *testing.T, data []byte, override string) {
		data, override = data[:min(len(data), 1<<10)], override[:min(len(override), 256)]
		c, _, err := Parse("f", data, []string{override}, Options{})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		if c.Node() == nil || c.Node().ID < 0 {
			t.Error("loaded without a node")
		}
		TopicDefaults(c)
		c.Duration("log.retention.ms")
	})
}
