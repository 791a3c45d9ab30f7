package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// combined is a file that starts a node of both roles.
const combined = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
log.dirs=/d1,/d2
`

// parse loads the combined file with some keys changed; a change without "="
// takes its key out.
func parse(t *testing.T, opt Options, changes ...string) (*Config, []Warning, error) {
	t.Helper()
	text := combined
	for _, change := range changes {
		key, _, set := strings.Cut(change, "=")
		kept := ""
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, key+"=") {
				kept += line
			}
		}
		if text = kept; set {
			text += change + "\n"
		}
	}
	return Parse("server.properties", []byte(text), nil, opt)
}

// faultsOf are the lines of a refusal, without the place.
func faultsOf(t *testing.T, opt Options, changes ...string) []string {
	t.Helper()
	_, _, err := parse(t, opt, changes...)
	if err == nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		place, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !strings.HasPrefix(place, "server.properties") {
			t.Errorf("no place in %q", line)
		}
		lines = append(lines, text)
	}
	return lines
}

// Rule: a file is refused where Kafka 4.4 refuses it, and the message names
// the key, what is wrong and what is allowed.
func TestRefusals(t *testing.T) {
	f := func(changes string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, faultsOf(t, Options{}, strings.Split(changes, " & ")...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", changes, diff)
		}
	}
	f("num.partitions=1")
	f("process.roles", "process.roles: is missing and has no default (allowed: a list of: broker, controller)")
	f("process.roles=", "process.roles: Configuration 'process.roles' must not be empty. Valid values include: [broker, controller] (allowed: a list of: broker, controller)")
	f("process.roles=brok", "process.roles: Invalid value brok for configuration process.roles: String must be one of: broker, controller (allowed: a list of: broker, controller)")
	f("node.id", "node.id: is missing and has no default (allowed: a number of type INT, at least 0)")
	f("node.id=-1", "node.id: Invalid value -1 for configuration node.id: Value must be at least 0 (allowed: a number of type INT, at least 0)")
	f("node.id=1 ")
	f("node.id & broker.id=1")
	f("broker.id=2", "broker.id: is 2, but node.id is 1; they must agree, or remove broker.id")
	f("num.partitions=x", "num.partitions: Invalid value x for configuration num.partitions: Not a number of type INT (allowed: a number of type INT, at least 1)")
	f("unclean.leader.election.enable=ja", "unclean.leader.election.enable: Invalid value ja for configuration unclean.leader.election.enable: Expected value to be either true or false (allowed: true or false)")

	f("controller.quorum.voters", "controller.quorum.voters: neither this key nor controller.quorum.bootstrap.servers names a controller; one must")
	f("controller.quorum.voters= & controller.quorum.bootstrap.servers=", "controller.quorum.voters: neither this key nor controller.quorum.bootstrap.servers names a controller; one must")
	f("controller.quorum.voters & controller.quorum.bootstrap.servers=localhost:9093")
	f("controller.quorum.voters & controller.quorum.bootstrap.servers=localhost", `controller.quorum.bootstrap.servers: "localhost" is not of the form host:port`)
	f("controller.quorum.voters=1@localhost", `controller.quorum.voters: "localhost" is not of the form host:port`)
	f("controller.quorum.voters=x@localhost:1", `controller.quorum.voters: "x@localhost:1": the id must be a number from 0, not "x"`)
	f("controller.quorum.voters=1@localhost:99999", `controller.quorum.voters: "localhost:99999": the port must be a number from 0 to 65535, not "99999"`)
	f("controller.quorum.voters=1@0.0.0.0:9093", `controller.quorum.voters: "1@0.0.0.0:9093": nobody can connect to host 0.0.0.0`)
	f("controller.quorum.voters=2@localhost:1", "controller.quorum.voters: has the voters 2 but not node.id 1, although process.roles makes this node a controller")
	f("process.roles=broker & listeners=PLAINTEXT://:9092", "controller.quorum.voters: has node.id 1 as a voter, but process.roles does not make this node a controller")
	f("process.roles=broker & listeners=PLAINTEXT://:9092 & node.id=2")

	f("controller.listener.names", "controller.listener.names: is missing and has no default (allowed: a list with at least one item and no empty ones)")
	f("listeners=PLAINTEXT://:9092", "controller.listener.names: [CONTROLLER]: none of them is in listeners, although process.roles makes this node a controller")
	f("inter.broker.listener.name=CLIENT", "inter.broker.listener.name: CLIENT is not a listener in advertised.listeners (allowed: PLAINTEXT)")
	f("inter.broker.listener.name=PLAINTEXT & security.inter.broker.protocol=PLAINTEXT", "inter.broker.listener.name: is set together with security.inter.broker.protocol; only one of them may be")
	f("process.roles=controller", "listeners: PLAINTEXT is not in controller.listener.names; with process.roles=controller all listeners must be")
	f("process.roles=controller & listeners=CONTROLLER://:9093")
	f("process.roles=broker & node.id=2", "listeners: CONTROLLER is in controller.listener.names; with process.roles=broker a node does not open controllers' listeners")
	f("listeners=CONTROLLER://:9093", "advertised.listeners: no listener is left for clients and brokers: all of listeners and advertised.listeners are in controller.listener.names")

	f("listeners=PLAINTEXT://:9092,CONTROLLER://:9092", "listeners: PLAINTEXT and CONTROLLER have the same port 9092")
	f("listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092")
	f("listeners=PLAINTEXT://:0,CONTROLLER://:0")
	f("listeners=PLAINTEXT://:9092,PLAINTEXT://:9094,CONTROLLER://:9093", "listeners: has the listener name PLAINTEXT twice")
	f("listeners=PLAINTEXT:9092,CONTROLLER://:9093", `listeners: "PLAINTEXT:9092" is not of the form NAME://host:port`)
	f("listeners=PLAINTEXT://h:99999,CONTROLLER://:9093", `listeners: "PLAINTEXT://h:99999": the port must be a number from 0 to 65535, not "99999"`)
	f("listeners=", "listeners: Configuration 'listeners' must not be empty. Valid values include: any non-empty value (allowed: a list with at least one item and no empty ones)")
	f("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "advertised.listeners: nobody can connect to PLAINTEXT://0.0.0.0:9092; give PLAINTEXT a host that others can reach")
	f("listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093", "advertised.listeners: nobody can connect to PLAINTEXT://0.0.0.0:9092; give PLAINTEXT a host that others can reach")
	f("early.start.listeners=FOO", "early.start.listeners: FOO is neither in listeners nor in controller.listener.names")
	f("listener.security.protocol.map=X", `listener.security.protocol.map: "X" is not of the form LISTENER:PROTOCOL`)
	f("listener.security.protocol.map=PLAINTEXT:FOO", `listener.security.protocol.map: "PLAINTEXT:FOO" names no security protocol (allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)`)

	f("log.dirs=/d1,", "log.dirs: Configuration 'log.dirs' values must not be empty. (allowed: a list with at least one item and no empty ones)")
	f("log.dirs= & log.dir=/x", "log.dirs: Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value (allowed: a list with at least one item and no empty ones)")
	f("log.dirs=/d1,/d1/", `log.dirs: "/d1" and "/d1/" are the same directory`)
	f("cordoned.log.dirs=/x", `cordoned.log.dirs: "/x" is not in log.dirs or log.dir`)
	f("log.retention.hours=0", "log.retention.hours: 0: log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
	f("replica.fetch.wait.max.ms=40000", "replica.fetch.wait.max.ms: must not be above replica.socket.timeout.ms (30000)",
		"replica.fetch.wait.max.ms: must not be above replica.lag.time.max.ms (30000), or replicas would leave the in-sync set for no reason")
	f("offsets.topic.compression.codec=9", "offsets.topic.compression.codec: 9 is no codec (allowed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd)")
	f("queued.max.request.bytes=10", "queued.max.request.bytes: must be at least socket.request.max.bytes (104857600), or -1")
	f("log.cleaner.dedupe.buffer.size=2000000 & log.cleaner.threads=2", "log.cleaner.dedupe.buffer.size: 2000000 must be above 1 MiB for each of log.cleaner.threads (2)")
	f("controller.quorum.election.timeout.ms=0", "controller.quorum.election.timeout.ms: 0 ms is too short for a quorum to work; use 20 or more")
	f("controller.quorum.fetch.timeout.ms=1", "controller.quorum.fetch.timeout.ms: 1 ms is too short for a quorum to work; use 50 or more")
	f("controller.quorum.request.timeout.ms=0", "controller.quorum.request.timeout.ms: 0 ms is too short for a quorum to work; use 20 or more")
	f("controller.quorum.retry.backoff.ms=0", "controller.quorum.retry.backoff.ms: 0 ms is too short for a quorum to work; use 1 or more")
	f("group.coordinator.rebalance.protocols=consumer", "group.coordinator.rebalance.protocols: must hold classic: disabling the 'classic' protocol is not supported")
	f("controller.quorum.auto.join.enable=true & process.roles=broker & listeners=PLAINTEXT://:9092 & node.id=2", "controller.quorum.auto.join.enable: is only possible when process.roles holds controller")
	f("log.cleaner.min.compaction.lag.ms=5 & log.cleaner.max.compaction.lag.ms=4", "log.cleaner.min.compaction.lag.ms: 5 must not be above log.cleaner.max.compaction.lag.ms (4)")
}

// Rule (S-01): controller listeners are PLAINTEXT only while the protocol map
// is at its default, and names are compared in their letters as given.
func TestListenerNamesThatDoNotMatch(t *testing.T) {
	const undefined = "no security protocol is defined for listener CONTROLLER; add CONTROLLER:PLAINTEXT (or another protocol) to listener.security.protocol.map, " +
		"or name it in controller.listener.names in the same letters"
	f := func(want string, changes ...string) {
		t.Helper()
		if got := strings.Join(faultsOf(t, Options{}, changes...), "\n"); got != want {
			t.Errorf("%v\n got %s\nwant %s", changes, got, want)
		}
	}
	f("", "controller.listener.names=CONTROLLER_LISTENER", "listeners=PLAINTEXT://:9092,CONTROLLER_LISTENER://:9093")
	f("", "listeners=PLAINTEXT://:9092,controller://:9093")
	f("listeners: "+undefined, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT")
	f("listeners: "+undefined, "controller.listener.names=controller", "listeners=PLAINTEXT://:9092,controller://:9093")
	f("listeners: "+undefined, "listeners=SSL://:9092,CONTROLLER://:9093")
}

// Rule (S-03): all faults are told in one go, each with its file and line.
func TestAllFaultsAtOnce(t *testing.T) {
	_, _, err := Parse("f", []byte(combined+"num.partitions=0\npreallocate=1\nlog.segment.bytes=5\n"), []string{"node.id=x", "nonsense"}, Options{})
	want := `--override "nonsense" is not of the form key=value
f:7: num.partitions: Invalid value 0 for configuration num.partitions: Value must be at least 1 (allowed: a number of type INT, at least 1)
f:9: log.segment.bytes: Invalid value 5 for configuration log.segment.bytes: Value must be at least 1048576 (allowed: a number of type INT, at least 1048576)
--override: node.id: Invalid value x for configuration node.id: Not a number of type INT (allowed: a number of type INT, at least 0)`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

// Rule: a value that cannot be read hides no fault of another key, and brings
// none of a key that is held against it.
func TestOneFaultHidesNoOther(t *testing.T) {
	f := func(changes string, want ...string) {
		t.Helper()
		var got []string
		for _, line := range faultsOf(t, Options{}, strings.Split(changes, " & ")...) {
			key, _, _ := strings.Cut(line, ": ")
			got = append(got, key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", changes, diff)
		}
	}
	f("num.partitions=0 & log.retention.ms=abc & listeners=FOO://x:1", "num.partitions", "log.retention.ms", "listeners")
	f("num.partitions=0 & controller.quorum.voters=2@localhost:1 & log.dirs=/d1,/d1/ & queued.max.request.bytes=10",
		"num.partitions", "controller.quorum.voters", "log.dirs", "queued.max.request.bytes")
	f("node.id=x & log.dirs=/d1,/d1/", "node.id", "log.dirs")
	f("process.roles=brok & listeners=PLAINTEXT:9092", "process.roles", "listeners")
	f("replica.socket.timeout.ms=x & replica.fetch.wait.max.ms=40000", "replica.socket.timeout.ms", "replica.fetch.wait.max.ms")
	f("replica.socket.timeout.ms=x & replica.lag.time.max.ms=y & replica.fetch.wait.max.ms=40000", "replica.socket.timeout.ms", "replica.lag.time.max.ms")
}

// Rule: one value that cannot be read is one fault, whatever the key.
func TestOneFaultIsOne(t *testing.T) {
	for i := range brokerKeys {
		k := &brokerKeys[i]
		for _, bad := range []string{"?", "", ",", "x,,y"} {
			if k.Has(Internal) || k.Use == Refused || k.Check(bad) == nil {
				continue
			}
			if got := faultsOf(t, Options{}, k.Name+"="+bad); len(got) != 1 || !strings.HasPrefix(got[0], k.Name+": ") {
				t.Errorf("%s=%s: %q", k.Name, bad, got)
			}
		}
	}
}

// Rule: what would leave the node less secure or less durable than the file
// says ends the start, unless the key is named by --ignore-unsupported or set
// to its default.
func TestUnsupportedKeys(t *testing.T) {
	f := func(change string) {
		t.Helper()
		key, _, _ := strings.Cut(change, "=")
		want := key + ": this release cannot do that, and the node would be less secure or less durable without it; remove the key, or start with --ignore-unsupported " + key
		if got := faultsOf(t, Options{}, change); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", change, got)
		}
		_, warnings, err := parse(t, Options{IgnoreUnsupported: []string{key}}, change)
		if err != nil || len(warnings) != 1 || warnings[0].Text != "server.properties:7: "+key+": has no effect in this release; ignored as --ignore-unsupported asks" {
			t.Errorf("%s, ignored: %v %v", change, warnings, err)
		}
		if got := faultsOf(t, Options{Offline: true}, change); got != nil {
			t.Errorf("%s, offline: %q", change, got)
		}
	}
	f("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer")
	f("super.users=User:admin")
	f("ssl.keystore.location=/k.jks")
	f("ssl.client.auth=required")
	f("sasl.jaas.config=x")
	f("client.quota.callback.class=x")
	f("delegation.token.secret.key=x")
	f("listener.name.PLAINTEXT.max.connections=10")
	f("listener.name.plaintext.ssl.keystore.location=/k.jks")
	f("listener.name.plaintext.scram-sha-512.sasl.jaas.config=x")

	for _, harmless := range []string{"super.users=", "ssl.client.auth=none", "max.connection.creation.rate=10", "max.connections.per.ip.overrides=127.0.0.1:10", "listener.name.plaintext.max.connections=10"} {
		if got := faultsOf(t, Options{}, harmless); got != nil {
			t.Errorf("%s: %q", harmless, got)
		}
	}
}

// Rule: a node that is nothing but a controller has the standard authorizer, and knows
// the secret of delegation tokens; on a broker, where not every request is checked yet,
// neither counts for done.
func TestControllersHaveAnAuthorizer(t *testing.T) {
	const standard = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	alone := []string{"process.roles=controller", "listeners=CONTROLLER://:9093"}
	for _, change := range []string{standard, "super.users=User:admin", "delegation.token.secret.key=x"} {
		_, warnings, err := parse(t, Options{}, append(alone, change)...)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", change, warnings, err)
		}
	}
	if got := faultsOf(t, Options{}, append(alone, "authorizer.class.name=mine")...); len(got) != 1 {
		t.Errorf("another authorizer: %q", got)
	}
}

// Rule: a listener that ought to be protected is never opened unprotected,
// unless a person says so by name.
func TestProtectedListeners(t *testing.T) {
	changes := []string{"listeners=CLIENT://:9092,CONTROLLER://:9093", "listener.security.protocol.map=CLIENT:SASL_SSL,CONTROLLER:PLAINTEXT", "inter.broker.listener.name=CLIENT"}
	want := "listener.security.protocol.map: listener CLIENT wants SASL_SSL, which this release does not have (allowed: PLAINTEXT); to serve it unprotected, start with --ignore-unsupported listener.security.protocol.map"
	if got := faultsOf(t, Options{}, changes...); len(got) != 1 || got[0] != want {
		t.Errorf("got %q", got)
	}
	c, warnings, err := parse(t, Options{IgnoreUnsupported: []string{"listener.security.protocol.map"}}, changes...)
	if err != nil || len(warnings) != 1 || c.Node().Listeners[0].Protocol != "PLAINTEXT" {
		t.Errorf("ignored: %v %v", warnings, err)
	}
}

// Rule: a key without effect and an unknown key are warned about; an unknown
// one with the known key that looks most like it.
func TestWarnings(t *testing.T) {
	f := func(change, want string) {
		t.Helper()
		_, warnings, err := parse(t, Options{}, change)
		if err != nil || len(warnings) != 1 || !strings.HasSuffix(warnings[0].Text, ": "+want) || !strings.HasPrefix(warnings[0].Text, "server.properties") {
			t.Errorf("%s: %v %v", change, warnings, err)
		}
	}
	f("num.io.threads=8", "num.io.threads: has no effect in this release")
	f("listener.name.plaintext.num.network.threads=8", "listener.name.plaintext.num.network.threads: has no effect in this release")
	f("log.retention.hour=1", "log.retention.hour: is not a key that this release knows; did you mean log.retention.hours?")
	f("advertized.listeners=x", "advertized.listeners: is not a key that this release knows; did you mean advertised.listeners?")
	f("lgo.segment.bytes=1", "lgo.segment.bytes: is not a key that this release knows; did you mean log.segment.bytes?")
	f("qqqqqqqqqqqqqqqqqqqq=1", "qqqqqqqqqqqqqqqqqqqq: is not a key that this release knows")
	f("zookeeper.connect=x:2181", "zookeeper.connect: Kafka has no ZooKeeper since 4.0: metadata lives in the KRaft quorum")
	f("leader.replication.throttled.rate=1", "leader.replication.throttled.rate: can only be set while the node runs, with ottla configs --alter; it has no effect here")
	f("broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms: 2000 is more than half of broker.session.timeout.ms (3000): one lost heartbeat may fence the broker")

	_, warnings, err := Parse("f", []byte(combined+"node.id=1\nnum.partitions=2\nnum.partitions=3\n"), nil, Options{})
	if err != nil || len(warnings) != 1 || warnings[0].Text != "f:9: num.partitions: is set on line 8 and again on line 9, which counts" {
		t.Errorf("twice: %v %v", warnings, err)
	}
}

// Rule: what the file says about the node's place comes out in one value.
func TestNode(t *testing.T) {
	c, warnings, err := Parse("f", []byte(combined+"broker.rack = r1\nadvertised.listeners=PLAINTEXT://[2001:db8::1]:19092\n"),
		[]string{"log.dirs= /d1 , /d2,/d1", "node.id=1"}, Options{})
	if err != nil || warnings != nil {
		t.Fatal(warnings, err)
	}
	plain, controller := Listener{"PLAINTEXT", "", 9092, "PLAINTEXT"}, Listener{"CONTROLLER", "", 9093, "PLAINTEXT"}
	want := &Node{
		ID: 1, Broker: true, Controller: true, Rack: "r1",
		Listeners:             []Listener{plain, controller},
		Advertised:            []Listener{{"PLAINTEXT", "2001:db8::1", 19092, "PLAINTEXT"}},
		AdvertisedControllers: []Listener{controller},
		InterBroker:           "PLAINTEXT",
		ControllerNames:       []string{"CONTROLLER"},
		Protocols:             map[string]string{"PLAINTEXT": "PLAINTEXT", "SSL": "SSL", "SASL_PLAINTEXT": "SASL_PLAINTEXT", "SASL_SSL": "SASL_SSL", "CONTROLLER": "PLAINTEXT"},
		Voters:                []Voter{{1, HostPort{"localhost", 9093}}},
		LogDirs:               []string{"/d1", "/d2"},
		MetadataDir:           "/d1",
	}
	if diff := cmp.Diff(want, c.Node()); diff != "" {
		t.Error(diff)
	}
	if got := c.Node().Advertised[0].String(); got != "PLAINTEXT://[2001:db8::1]:19092" {
		t.Error(got)
	}
}

// Rule: a file that is not there is an error that names it.
func TestLoadNoFile(t *testing.T) {
	_, _, err := Load("testdata/none.properties", nil, Options{})
	if err == nil || !strings.Contains(err.Error(), "testdata/none.properties") {
		t.Error(err)
	}
}
