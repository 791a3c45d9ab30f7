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
	"github.com/ottla/ottla/internal/edge/storage/dirs"
	"github.com/ottla/ottla/internal/edge/transport"
)

// others are values of changeable keys that say something else than the default.
// Numbers are found without it.
var others = map[string]string{
	"compression.type": "zstd", "log.cleanup.policy": "compact", "log.message.timestamp.type": "LogAppendTime",
	"log.cleaner.min.cleanable.ratio": "0.25", "unclean.leader.election.enable": "true",
	"transaction.partition.verification.enable": "false", "max.connections.per.ip.overrides": "10.0.0.1:5", "cordoned.log.dirs": "*",
}

// Rule: a key that the table lets be changed at run time and calls used reaches
// somebody who follows the layers: the logs, by way of the topics' defaults, the
// directories, the fetchers, the bounds on connections and on replication, or the
// verification of transactions. One whose consumer reads the file only is marked AtStart.
func TestChangeableKeysAreFollowed(t *testing.T) {
	static := settings(t, t.TempDir(), "")
	followers := func(l config.Layers) any {
		c := l.Effective()
		return []any{config.TopicDefaults(c), boundsOf(c, 10), ratesOf(c), verifies(c), dirs.LiveOf(c), sourcesOf(c), cordonedIn(c), moveRateOf(c)}
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
		if err := config.CheckBrokerConfig(key, value); err != nil {
			t.Errorf("%s=%s: %v", key, value, err)
		}
		return !reflect.DeepEqual(before, followers(config.Layers{Broker: map[string]string{key: value}, Static: static}))
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
	for _, key := range []string{"listener.name.plaintext.max.connections", "listener.name.plaintext.max.connection.creation.rate"} {
		if !changed(key) {
			t.Errorf("nobody follows %s", key)
		}
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
		if got := fmt.Sprintf("%+v", boundsOf(live.now, 10)); got != want {
			t.Errorf("%q: %s, want %s", pairs, got, want)
		}
	}
	server := transport.NewServer(transport.Config{})
	live.govern(server, 10)
	f("{Connections:3 PerIP:2 Addresses:map[] Listeners:map[] Rate:0 Unrated: Rates:map[]}", "max.connections=3", "max.connections.per.ip=2")
	const all = "{Connections:3 PerIP:2 Addresses:map[10.0.0.1:5] Listeners:map[PLAINTEXT:1] Rate:9 Unrated: Rates:map[PLAINTEXT:8]}"
	f(all, "listener.name.plaintext.max.connections=1", "max.connections.per.ip.overrides=10.0.0.1:5",
		"max.connection.creation.rate=9", "listener.name.plaintext.max.connection.creation.rate=8")
	if got := fmt.Sprintf("%+v", server.Bounds()); got != all {
		t.Errorf("the server has %s", got)
	}
	const none = "{Connections:10 PerIP:7 Addresses:map[] Listeners:map[] Rate:0 Unrated: Rates:map[]}"
	f(none, "max.connections=", "max.connections.per.ip=", "listener.name.plaintext.max.connections=", "max.connections.per.ip.overrides=",
		"max.connection.creation.rate=", "listener.name.plaintext.max.connection.creation.rate=")
	if got := fmt.Sprintf("%+v", server.Bounds()); got != none {
		t.Errorf("the server has %s", got)
	}
}

// Rule: verification is switched off and on while the node runs.
func TestTheVerificationOfTransactionsFollows(t *testing.T) {
	live := newLiveSettings(settings(t, t.TempDir(), ""), slog.New(slog.DiscardHandler))
	img := image.Empty()
	f := func(value string, want bool) {
		t.Helper()
		next, delta, err := image.Apply(img, stored("transaction.partition.verification.enable="+value))
		if err != nil {
			t.Fatal(err)
		}
		img = next
		live.publish(delta, img)
		if live.verifiesTransactions() != want {
			t.Errorf("%q: verified is not %v", value, want)
		}
	}
	if !live.verifiesTransactions() {
		t.Error("not verified by default")
	}
	f("false", false)
	f("", true)
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
	f([]string{"log.retention.ms=5", "background.threads=9", "listener.name.plaintext.ssl.key.password=hush"},
		"background.threads, stored for all brokers: has no effect", "listener.name.plaintext.ssl.key.password, stored for all brokers: this release cannot")
	f([]string{"listeners=X://:1"}, "listeners, stored for all brokers: is read from the node's file")
	f([]string{"listeners=", "background.threads="})
	f([]string{"background.threads=9"}, "background.threads")
}
