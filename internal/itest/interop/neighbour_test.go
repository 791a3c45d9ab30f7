package interop

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// security are the lines of a node whose authorizer knows one super user, which is who
// comes in over a plaintext listener, and that has delegation tokens.
const security = `authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
delegation.token.secret.key=sesame
`

// saslPort is where clients log in to the Java broker.
const saslPort = 9094

// withLogin gives a Java broker a listener on which clients log in with SCRAM.
func withLogin(t testing.TB, n *peer.Node) (addr string) {
	t.Helper()
	addr = fmt.Sprintf("%s:%d", n.Host.IP, saslPort)
	f, err := os.OpenFile(n.File(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, `listeners=PLAINTEXT://%s,SASL_PLAINTEXT://%s
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-256
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
`, n.Addr(), addr); err != nil {
		t.Fatal(err)
	}
	return addr
}

// "A Java broker must not notice whose controller it talks to": what Kafka's tools ask a
// broker of Apache Kafka's for reaches our controller in an Envelope, and is decided
// there for who asked.
func TestAJavaBrokerOnOurController(t *testing.T) {
	c := peer.New(t, peer.Layout{More: security, Nodes: []peer.Spec{
		{Kind: peer.Ottla, Roles: peer.Controller}, {Kind: peer.Kafka, Roles: peer.Broker},
	}})
	broker := c.Node(2)
	login := withLogin(t, broker)
	c.Start()
	c.CreateTopic("theirs", 1, 1, nil)
	f := func(script, args string, more []string, says ...string) string {
		t.Helper()
		all := append([]string{"--bootstrap-server", broker.Addr()}, strings.Fields(args)...)
		out, err := c.Tool(script, append(all, more...)...)
		if err != nil {
			t.Errorf("%s %s: %v\n%s", script, args, err, out)
		}
		saysAll(t, script, out, says)
		return out
	}
	f("kafka-reassign-partitions", "--list", nil, "No partition reassignments found")
	f("kafka-configs", "--alter --entity-type users --entity-name alice --add-config", []string{"SCRAM-SHA-256=[iterations=4096,password=secret]"}, "Completed updating")
	f("kafka-configs", "--alter --entity-type users --entity-name alice --add-config producer_byte_rate=1048576,controller_mutation_rate=100", nil, "Completed updating")
	f("kafka-configs", "--describe --entity-type users --entity-name alice", nil, "producer_byte_rate=1048576", "controller_mutation_rate=100", "SCRAM-SHA-256=iterations=4096")
	f("kafka-configs", "--alter --entity-type groups --entity-name g --add-config consumer.session.timeout.ms=46000", nil, "Completed updating")
	f("kafka-configs", "--describe --entity-type groups --entity-name g", nil, "consumer.session.timeout.ms=46000")
	f("kafka-acls", "--add --allow-principal User:alice --operation Create --operation Describe --topic mine", nil, "Adding ACLs", "principal=User:alice, host=*, operation=CREATE, permissionType=ALLOW")

	as := itest.WriteFile(t, "alice.properties", `security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";
`)
	alice := func(script string, args ...string) (string, error) {
		return c.Tool(script, append([]string{"--bootstrap-server", login, "--command-config", as}, args...)...)
	}
	if out, err := alice("kafka-topics", "--create", "--topic", "mine", "--partitions", "1"); err != nil {
		t.Errorf("alice cannot create her topic: %v\n%s", err, out)
	}
	if out, _ := alice("kafka-topics", "--create", "--topic", "other", "--partitions", "1"); !strings.Contains(out, "TopicAuthorizationException") {
		t.Errorf("alice creates another topic: %s", out)
	}
	out, err := alice("kafka-delegation-tokens", "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
	if err != nil {
		t.Fatalf("alice gets no token: %v\n%s", err, out)
	}
	hmac := regexp.MustCompile(`[A-Za-z0-9+/]{86}==`).FindString(out)
	if hmac == "" {
		t.Fatalf("no HMAC in %s", out)
	}
	for _, args := range [][]string{{"--renew", "--renew-time-period", "3600000", "--hmac", hmac}, {"--expire", "--expiry-time-period", "-1", "--hmac", hmac}} {
		if out, err := alice("kafka-delegation-tokens", args...); err != nil || strings.Contains(out, "Exception") {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
	c.Stop()
	c.QuietJava()
}

// saysAll wants texts in what a tool printed.
func saysAll(t *testing.T, script, out string, texts []string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(squeezed(out), squeezed(text)) {
			t.Errorf("%s does not say %q:\n%s", script, text, out)
		}
	}
}
