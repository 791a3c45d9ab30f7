package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// others are values of changeable keys that say something else than the default.
// Numbers are found without it.
var others = map[string]string{
	"compression.type": "zstd", "log.cleanup.policy": "compact", "log.message.timestamp.type": "LogAppendTime",
	"log.cleaner.min.cleanable.ratio": "0.25", "unclean.leader.election.enable": "true",
}

// Rule: a key that the table lets be changed at run time and calls used reaches
// somebody who follows the layers: the logs, by way of the topics' defaults, or the
// bounds on connections. One whose consumer reads the file only is marked AtStart.
func TestChangeableKeysAreFollowed(t *testing.T) {
	static := settings(t, t.TempDir(), "")
	followers := func(l config.Layers) any {
		c := l.Effective()
		return []any{config.TopicDefaults(c), boundsOf(c, 10)}
	}
	before := followers(config.Layers{Static: static})
	changed := func(key string) bool {
		value, ok := others[key]
		if !ok {
			value = "1048577" // in the range of every size and time
			if k := config.Lookup(strings.TrimPrefix(key, "listener.name.plaintext.")); k.Check(value) != nil {
				value = "5"
			}
		}
		if err := config.CheckClusterConfig(key, value); err != nil {
			t.Errorf("%s=%s: %v", key, value, err)
		}
		cluster := map[string]string{key: value}
		return !reflect.DeepEqual(before, followers(config.Layers{Cluster: cluster, Static: static}))
	}
	for _, k := range config.Keys() {
		switch {
		case k.Use != config.Used || k.Scope == config.Static:
		case k.Has(config.AtStart):
			if config.CheckBrokerConfig(k.Name, "1048577") == nil {
				t.Errorf("%s is read at the start only, and its change is taken", k.Name)
			}
		case !changed(k.Name):
			t.Errorf("nobody follows %s: let its consumer follow, or mark it AtStart", k.Name)
		}
	}
	if !changed("listener.name.plaintext.max.connections") {
		t.Error("nobody follows the bound of a listener")
	}
}

// stored are the records of settings of all brokers; an empty value deletes.
func stored(pairs ...string) (records []metarec.Message) {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		r := metarec.NewConfigRecord()
		r.ResourceType, r.Name = int8(image.BrokerResource), key
		if value != "" {
			r.Value = &value
		}
		records = append(records, r)
	}
	return records
}

// Rule: bounds follow what is stored, at the start and later, and the file where
// it is taken back.
func TestBoundsFollowWhatIsStored(t *testing.T) {
	live := newLiveSettings(settings(t, t.TempDir(), "max.connections.per.ip=7"), slog.New(slog.DiscardHandler))
	img := image.Empty()
	f := func(want string, pairs ...string) {
		t.Helper()
		next, delta, err := image.Apply(img, stored(pairs...))
		if err != nil {
			t.Fatal(err)
		}
		img = next
		live.publish(delta, img)
		if got := fmt.Sprint(boundsOf(live.now, 10)); got != want {
			t.Errorf("%q: %s, want %s", pairs, got, want)
		}
	}
	server := transport.NewServer(transport.Config{})
	live.govern(server, 10)
	f("{3 2 map[]}", "max.connections=3", "max.connections.per.ip=2")
	f("{3 2 map[PLAINTEXT:1]}", "listener.name.plaintext.max.connections=1")
	if got := fmt.Sprint(server.Bounds()); got != "{3 2 map[PLAINTEXT:1]}" {
		t.Errorf("the server has %s", got)
	}
	f("{10 7 map[]}", "max.connections=", "max.connections.per.ip=", "listener.name.plaintext.max.connections=")
	if got := fmt.Sprint(server.Bounds()); got != "{10 7 map[]}" {
		t.Errorf("the server has %s", got)
	}
}

// Rule: a stored value that changes nothing is warned about once, with its name,
// when it comes; no secret is written.
func TestIdleValuesAreWarnedAbout(t *testing.T) {
	var out bytes.Buffer
	live := newLiveSettings(settings(t, t.TempDir(), ""), slog.New(slog.NewTextHandler(&out, nil)))
	img := image.Empty()
	f := func(pairs []string, want ...string) {
		t.Helper()
		next, delta, err := image.Apply(img, stored(pairs...))
		if err != nil {
			t.Fatal(err)
		}
		img = next
		out.Reset()
		live.publish(delta, img)
		if n := strings.Count(out.String(), "level=WARN"); n != len(want) {
			t.Errorf("%q: %d warnings", pairs, n)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q: %q is not in %s", pairs, w, out.String())
			}
		}
		if strings.Contains(out.String(), "hush") {
			t.Error("a value is in the log")
		}
	}
	f([]string{"log.retention.ms=5", "leader.replication.throttled.rate=1", "listener.name.plaintext.ssl.key.password=hush"},
		"leader.replication.throttled.rate, stored for all brokers: has no effect", "listener.name.plaintext.ssl.key.password, stored for all brokers: this release cannot")
	f([]string{"num.replica.fetchers=2"}, "num.replica.fetchers, stored for all brokers: is read from the node's file")
	f([]string{"num.replica.fetchers=", "leader.replication.throttled.rate="})
	f([]string{"leader.replication.throttled.rate=1"}, "leader.replication.throttled.rate")
}
