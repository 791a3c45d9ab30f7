package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rule: stored values that this release does not obey leave the file's in place,
// are not shown as the broker's, and are named with the reason.
func TestStoredValuesThatAreNotObeyed(t *testing.T) {
	static, err := New(map[string]string{"listeners": "A://:1"})
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{
		Cluster: map[string]string{
			"listeners": "A://:7", "config.providers": "x", "background.threads": "1",
			"max.connections": "4", "listener.name.a.max.connections": "2", "log.segment.bytes": "1", "my.plugin": "x",
			"sasl.enabled.mechanisms": "GSSAPI",
		},
		Broker: map[string]string{"listener.name.a.ssl.keystore.location": "/k", "node.id": "9"},
		Static: static,
	}
	c := l.Effective()
	if n, set := c.MaxConnections("A"); c.String("listeners") != "A://:1" || c.Int("max.connections") != 4 || n != 2 || !set {
		t.Errorf("listeners %s, connections %d, of a listener %d", c.String("listeners"), c.Int("max.connections"), n)
	}
	for _, name := range []string{"config.providers", "listener.name.a.ssl.keystore.location", "node.id"} {
		if c.Has(name) {
			t.Errorf("%s is obeyed", name)
		}
	}
	if got := said(only(t, l.DescribeBroker([]string{"listeners"}))); got != "A://:1 source=4 synonyms={4:listeners=A://:1, 5:listeners=PLAINTEXT://:9092}" {
		t.Error(got)
	}
	const cannot = "this release cannot do that, and the node is less secure or less durable than the setting says; delete it"
	want := []Warning{
		{"background.threads", "background.threads, stored for all brokers: has no effect in this release"},
		{"config.providers", "config.providers, stored for all brokers: " + cannot},
		{"listeners", "listeners, stored for all brokers: is read from the node's file at its start only"},
		{"log.segment.bytes", "log.segment.bytes, stored for all brokers: the value cannot be read; what the file says counts"},
		{"listener.name.a.ssl.keystore.location", "listener.name.a.ssl.keystore.location, stored for this broker: " + cannot},
		{"node.id", "node.id, stored for this broker: is read from the node's file at its start only"},
	}
	if diff := cmp.Diff(want, l.Idle()); diff != "" {
		t.Error(diff)
	}
}
