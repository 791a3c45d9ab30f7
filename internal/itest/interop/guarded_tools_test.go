package interop

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// guardedTools are the cells of row 7 with the tools that need an authorizer, which our
// brokers do not have, or a login: controllers of both kinds decide, and a broker of
// Apache Kafka asks them.
func guardedTools() (cells []peer.Cell) {
	for _, leads := range []peer.Kind{peer.Ottla, peer.Kafka} {
		cells = append(cells, peer.Cell{
			Row: 7, Name: "rules, logins and tokens on controllers of both kinds led by " + short(leads),
			Play: func(p *peer.Play) { rulesAndTokens(p, leads) },
		})
	}
	return cells
}

func rulesAndTokens(p *peer.Play, leads peer.Kind) {
	c := peer.New(p, guarded())
	s := &settled{p: p, c: c, broker: c.Node(4)}
	s.login = withLogin(p, s.broker)
	g := s.start(leads)
	for _, n := range firstOfEachKind(c.Nodes[:3]) {
		p.Event(c, g, peer.Event{Name: "tools at a controller of " + short(n.Kind), Happens: func(peer.View) { s.atController(n) }})
	}
	p.Event(c, g, peer.Event{Name: "logins and tokens", Happens: func(peer.View) { s.tokens() }})
	p.End(c, g)
}

// atController has tools ask a controller, and not a broker.
func (s *settled) atController(n *peer.Node) {
	s.p.Helper()
	f := func(script, args, says string) {
		s.p.Helper()
		out := s.check(s.c.Tool(script, append([]string{"--bootstrap-controller", n.ControllerAddr()}, strings.Fields(args)...)...))
		if !strings.Contains(squeezed(out), squeezed(says)) {
			s.p.Errorf("%s %s at %s does not say %q:\n%s", script, args, n, says, out)
		}
	}
	topic := fmt.Sprintf("of-%d", n.ID)
	f("kafka-acls", "--add --allow-principal User:carol --operation Read --topic "+topic, "operation=READ")
	f("kafka-acls", "--list --topic "+topic, "principal=User:carol")
	itest.Eventually(s.p, func() error { // until the broker has it
		if out := s.do("kafka-acls", "--list --topic "+topic); !strings.Contains(out, "User:carol") {
			return fmt.Errorf("the broker does not know the rule: %s", out)
		}
		return nil
	})
	f("kafka-acls", "--remove --force --topic "+topic, "")
	f("kafka-metadata-quorum", "describe --status", "LeaderEpoch:")
	f("kafka-metadata-quorum", "describe --replication", "Leader")
	f("kafka-features", "describe", "metadata.version")
	f("kafka-configs", "--alter --entity-type brokers --entity-name 4 --add-config log.retention.ms=66000000", "Completed updating")
	itest.Eventually(s.p, func() error { // asked for brokers, a controller knows controllers only
		if out := s.do("kafka-configs", "--describe --entity-type brokers --entity-name 4"); !strings.Contains(out, "log.retention.ms=66000000") {
			return fmt.Errorf("the broker does not know the setting: %s", out)
		}
		return nil
	})
	f("kafka-configs", "--alter --entity-type brokers --entity-name 4 --delete-config log.retention.ms", "Completed updating")
	out, err := s.c.Tool("kafka-cluster", "cluster-id", "--bootstrap-controller", n.ControllerAddr())
	if !strings.Contains(s.check(out, err), "Cluster ID: "+clusterID) {
		s.p.Errorf("kafka-cluster at %s: %s", n, out)
	}
}

// tokens has a user log in, do what the rules allow, and get, show, renew and end a
// token, which another one logs in with.
func (s *settled) tokens() {
	s.p.Helper()
	s.do("kafka-configs", "--alter --entity-type users --entity-name alice --add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]")
	s.do("kafka-acls", "--add --allow-principal User:alice --operation Create --operation Describe --topic mine")
	s.as("alice", "secret", "kafka-topics", "--create --topic mine --partitions 1")
	if out, _ := s.c.Tool("kafka-topics", "--bootstrap-server", s.login, "--command-config", s.credentials("alice", "secret", ""), "--create", "--topic", "other"); !strings.Contains(out, "TopicAuthorizationException") {
		s.p.Errorf("alice may create what she may not: %s", out)
	}
	out := s.as("alice", "secret", "kafka-delegation-tokens", "--create --max-life-time-period -1 --renewer-principal User:bob")
	token := regexp.MustCompile(`(?m)^(\S{22})\s+([A-Za-z0-9+/]{86}==)`).FindStringSubmatch(out)
	if token == nil {
		s.p.Fatalf("alice gets no token: %s", out)
	}
	if out := s.as("alice", "secret", "kafka-delegation-tokens", "--describe --owner-principal User:alice"); !strings.Contains(out, token[1]) {
		s.p.Errorf("the token of alice is not shown: %s", out)
	}
	with := s.credentials(token[1], token[2], " tokenauth=true")
	if out := s.check(s.c.Tool("kafka-topics", "--bootstrap-server", s.login, "--command-config", with, "--list")); !strings.Contains(out, "mine") {
		s.p.Errorf("who has the token of alice does not see her topic: %s", out)
	}
	s.as("alice", "secret", "kafka-delegation-tokens", "--renew --renew-time-period 3600000 --hmac "+token[2])
	s.as("alice", "secret", "kafka-delegation-tokens", "--expire --expiry-time-period -1 --hmac "+token[2])
	if out := s.as("alice", "secret", "kafka-delegation-tokens", "--describe --owner-principal User:alice"); strings.Contains(out, token[1]) {
		s.p.Errorf("a token that was ended is shown: %s", out)
	}
	s.do("kafka-acls", "--remove --force --topic mine")
}
