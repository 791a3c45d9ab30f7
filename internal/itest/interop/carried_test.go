package interop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// carried are the cells of row 3 in which a controller of one kind writes down
// credentials, quotas, rules, settings and tokens, and one of the other kind goes on.
func carried() (cells []peer.Cell) {
	for _, way := range [][2]peer.Kind{{peer.Ottla, peer.Kafka}, {peer.Kafka, peer.Ottla}} {
		cells = append(cells, peer.Cell{
			Row: 3, Name: fmt.Sprintf("credentials, quotas, rules and settings go from %s to %s and back", short(way[0]), short(way[1])),
			Play: func(p *peer.Play) { carriedOver(p, way[0], way[1]) },
		})
	}
	return cells
}

// guarded are three controllers of both kinds, which have snapshots soon, and a broker
// of Apache Kafka with an authorizer, tokens and logins. Brokers of ours have none of
// these, and tools ask any broker.
func guarded() peer.Layout {
	l := peer.Layout{More: "metadata.log.max.record.bytes.between.snapshots=2000"}
	for _, k := range []peer.Kind{peer.Kafka, peer.Ottla, peer.Ottla} {
		l.Nodes = append(l.Nodes, peer.Spec{Kind: k, Roles: peer.Controller, More: security})
	}
	l.Nodes = append(l.Nodes, peer.Spec{Kind: peer.Kafka, Roles: peer.Broker, More: security})
	return l
}

// carriedOver has the second controller change what the first wrote down, which takes
// that it has it, and the first one remove it again.
func carriedOver(p *peer.Play, first, second peer.Kind) {
	c := peer.New(p, guarded())
	s := &settled{p: p, c: c, broker: c.Node(4)}
	s.login = withLogin(p, s.broker)
	g := s.start(first)
	step := func(name string, act func()) {
		p.Event(c, g, peer.Event{Name: name, Happens: func(peer.View) { act() }})
	}
	step(short(first)+" writes down", s.write)
	c.LedBy(second)
	s.same()
	step(short(second)+" changes", s.change)
	c.LedBy(first)
	s.same()
	step(short(first)+" removes", s.remove)
	c.LedBy(second)
	s.same()
	s.nothingLeft()
	p.End(c, g)
}

// settled is what has been written down in a cluster, by way of a broker of Apache
// Kafka.
type settled struct {
	p      *peer.Play
	c      *peer.Cluster
	broker *peer.Node
	login  string // where clients log in
	hmac   string // of the token
	state  map[string][]string
}

// start starts the cluster, with a load.
func (s *settled) start(leads peer.Kind) *peer.Ledger {
	s.p.Helper()
	for _, n := range s.c.Of(leads) {
		n.Start()
	}
	s.c.Start()
	s.c.CreateTopic("ledger", 6, 1, nil)
	s.c.InSync("ledger", 1)
	g := s.c.Load("ledger")
	s.c.LedBy(leads)
	return g
}

// do runs a tool and gives what it printed, which says something of no failure.
func (s *settled) do(script, args string, more ...string) string {
	s.p.Helper()
	return s.check(s.c.Tool(script, slices.Concat([]string{"--bootstrap-server", s.broker.Addr()}, strings.Fields(args), more)...))
}

// as runs a tool for a user who logs in.
func (s *settled) as(user, password, script, args string) string {
	s.p.Helper()
	return s.check(s.c.Tool(script, append([]string{"--bootstrap-server", s.login, "--command-config", s.credentials(user, password, "")}, strings.Fields(args)...)...))
}

// credentials is a file with which a client logs in.
func (s *settled) credentials(user, password, more string) (file string) {
	s.p.Helper()
	return itest.WriteFile(s.p, "client.properties", fmt.Sprintf(`security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username=%q password=%q%s;
`, user, password, more))
}

func (s *settled) check(out string, err error) string {
	s.p.Helper()
	if err != nil || strings.Contains(out, "Exception") {
		s.p.Fatalf("%v: %s", err, out)
	}
	return out
}

// write writes down something of each kind.
func (s *settled) write() {
	s.p.Helper()
	for what, value := range map[string]string{
		"users --entity-name alice":                                         "SCRAM-SHA-256=[iterations=4096,password=secret]",
		"users --entity-name alice --entity-type clients --entity-name app": "producer_byte_rate=1048576,consumer_byte_rate=2097152",
		"users --entity-default":                                            "request_percentage=75.5,controller_mutation_rate=100",
		"ips --entity-name 10.99.0.77":                                      "connection_creation_rate=10",
		"topics --entity-name ledger":                                       "retention.ms=77000000,max.message.bytes=900000",
		"brokers --entity-name 4":                                           "log.retention.ms=88000000",
		"brokers --entity-default":                                          "message.max.bytes=1500000",
		"groups --entity-name g":                                            "consumer.session.timeout.ms=46000",
		"client-metrics --entity-name m":                                    "interval.ms=5000,metrics=[org.apache.kafka.producer.],match=[client_id=app]",
	} {
		s.do("kafka-configs", "--alter --entity-type "+what+" --add-config", value)
	}
	s.do("kafka-configs", "--alter --entity-type users --entity-name alice --add-config", "SCRAM-SHA-512=[iterations=8192,password=secret]")
	s.do("kafka-acls", "--add --allow-principal User:alice --operation Create --operation Describe --topic mine")
	s.do("kafka-acls", "--add --deny-principal User:mallory --deny-host 10.99.0.9 --operation All --topic pre --resource-pattern-type prefixed")
	s.as("alice", "secret", "kafka-topics", "--create --topic mine --partitions 1")
	s.hmac = regexp.MustCompile(`[A-Za-z0-9+/]{86}==`).FindString(s.as("alice", "secret", "kafka-delegation-tokens", "--create --max-life-time-period -1 --renewer-principal User:bob"))
	if s.hmac == "" {
		s.p.Fatal("alice gets no token")
	}
	s.look()
}

// change changes some, adds some and removes some.
func (s *settled) change() {
	s.p.Helper()
	for what, value := range map[string]string{
		"users --entity-name alice":      "SCRAM-SHA-256=[iterations=5000,password=changed]",
		"users --entity-default":         "request_percentage=50",
		"ips --entity-default":           "connection_creation_rate=1000",
		"topics --entity-name ledger":    "retention.ms=99000000",
		"groups --entity-name h":         "consumer.session.timeout.ms=47000",
		"client-metrics --entity-name m": "interval.ms=6000",
	} {
		s.do("kafka-configs", "--alter --entity-type "+what+" --add-config", value)
	}
	s.do("kafka-configs", "--alter --entity-type users --entity-name alice --delete-config", "SCRAM-SHA-512")
	s.do("kafka-configs", "--alter --entity-type brokers --entity-name 4 --delete-config", "log.retention.ms")
	s.do("kafka-acls", "--remove --force --allow-principal User:alice --operation Describe --topic mine")
	s.do("kafka-acls", "--add --allow-principal User:alice --operation Delete --topic mine")
	s.as("alice", "changed", "kafka-delegation-tokens", "--renew --renew-time-period 3600000 --hmac "+s.hmac)
	s.look()
}

// remove removes all.
func (s *settled) remove() {
	s.p.Helper()
	s.as("alice", "changed", "kafka-delegation-tokens", "--expire --expiry-time-period -1 --hmac "+s.hmac)
	s.as("alice", "changed", "kafka-topics", "--delete --topic mine")
	s.do("kafka-acls", "--remove --force --topic mine")
	s.do("kafka-acls", "--remove --force --topic pre --resource-pattern-type prefixed")
	for what, names := range map[string]string{
		"users --entity-name alice":                                         "SCRAM-SHA-256",
		"users --entity-name alice --entity-type clients --entity-name app": "producer_byte_rate,consumer_byte_rate",
		"users --entity-default":                                            "request_percentage,controller_mutation_rate",
		"ips --entity-name 10.99.0.77":                                      "connection_creation_rate",
		"ips --entity-default":                                              "connection_creation_rate",
		"topics --entity-name ledger":                                       "retention.ms,max.message.bytes",
		"brokers --entity-default":                                          "message.max.bytes",
		"groups --entity-name g":                                            "consumer.session.timeout.ms",
		"groups --entity-name h":                                            "consumer.session.timeout.ms",
		"client-metrics --entity-name m":                                    "interval.ms,metrics,match",
	} {
		s.do("kafka-configs", "--alter --entity-type "+what+" --delete-config", names)
	}
	s.look()
}

// descriptions are the questions to which the answers are what has been written down.
var descriptions = []string{
	"users", "users --entity-type clients", "ips", "topics --entity-name ledger", "brokers --entity-name 4",
	"brokers --entity-default", "groups --entity-name g", "groups --entity-name h", "client-metrics --entity-name m",
}

// look remembers what has been written down.
func (s *settled) look() { s.p.Helper(); s.state = s.described() }

// described asks the brokers for it, and each controller for the rules.
func (s *settled) described() map[string][]string {
	s.p.Helper()
	state := map[string][]string{}
	for _, what := range descriptions {
		state[what] = words(s.do("kafka-configs", "--describe --entity-type "+what))
	}
	for _, n := range s.c.Nodes[:3] {
		state["rules at "+n.String()] = words(s.check(s.c.Tool("kafka-acls", "--bootstrap-controller", n.ControllerAddr(), "--list")))
	}
	state["rules"] = words(s.do("kafka-acls", "--list"))
	return state
}

// logLine is what a tool's client says beside what was asked for.
var logLine = regexp.MustCompile(`(?m)^\[\d{4}-.*$`)

// words are what was printed, in an order of its own: those who print have none.
func words(out string) []string {
	out = logLine.ReplaceAllString(out, "")
	return slices.Sorted(slices.Values(strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune(" \n\t,{}()[]", r) })))
}

// same waits until all is as it was remembered.
func (s *settled) same() {
	s.p.Helper()
	itest.Eventually(s.p, func() error {
		for what, now := range s.described() {
			if before := s.state[what]; !slices.Equal(now, before) {
				return fmt.Errorf("%s: %v, before %v", what, now, before)
			}
		}
		return nil
	})
}

// nothingLeft wants no word of what was written down.
func (s *settled) nothingLeft() {
	s.p.Helper()
	for what, now := range s.described() {
		for _, word := range []string{"alice", "mallory", "SCRAM", "_byte_rate", "request_percentage", "connection_creation_rate", "retention.ms=9", "=1500000", "46000", "47000", "6000"} {
			if slices.ContainsFunc(now, func(w string) bool { return strings.Contains(w, word) }) {
				s.p.Errorf("%s still says %s: %v", what, word, now)
			}
		}
	}
}
