package peer

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// Kind is what runs a node: our binary, or a release of Apache Kafka.
type Kind string

// The kinds of the matrix.
const (
	Ottla   Kind = "ottla"
	Kafka   Kind = itest.KafkaVersion
	Kafka39 Kind = "3.9.2" // knows no pre-votes
	Kafka40 Kind = "4.0.2"
	Kafka41 Kind = "4.1.2"
	Kafka43 Kind = "4.3.1"
)

// Java tells whether the kind is a release of Apache Kafka.
func (k Kind) Java() bool { return k != Ottla }

// Release is the release of metadata.version that the kind brings along, as
// --release-version takes it.
func (k Kind) Release() string {
	if k == Ottla {
		k = Kafka
	}
	major, rest, _ := strings.Cut(string(k), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

func (k Kind) String() string {
	if k.Java() {
		return "Apache Kafka " + string(k)
	}
	return string(k)
}

// server is the command that runs a node.
func (k Kind) server(t testing.TB, file string) *exec.Cmd {
	t.Helper()
	if k.Java() {
		return itest.KafkaServer(t, string(k), file)
	}
	return exec.Command(itest.Bin(t), "server", file)
}

// storage is the command that formats folders and looks at them.
func (k Kind) storage(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	if k.Java() {
		return itest.KafkaToolOf(t, string(k), "kafka-storage", args...)
	}
	return exec.Command(itest.Bin(t), append([]string{"storage"}, args...)...)
}

// Tool runs one of Kafka's scripts, of the newest release, on the clients' host, and
// gives what it printed.
func (c *Cluster) Tool(script string, args ...string) (string, error) {
	c.t.Helper()
	return itest.Run("", c.clients.Inside(itest.KafkaToolOf(c.t, string(Kafka), script, args...)))
}

// Ottla runs a sub-command of our binary on the clients' host, and gives what it
// printed.
func (c *Cluster) Ottla(args ...string) (string, error) {
	c.t.Helper()
	return itest.Run("", c.clients.Inside(exec.Command(itest.Bin(c.t), args...)))
}

// unserved are features that a node of ours does not serve, with the release
// that finalizes each in a new cluster. Clusters are formatted without them.
var unserved = []struct{ name, since string }{
	{"group.version", "4.0"},
	{"transaction.version", "4.0"},
	{"share.version", "4.2"},
	{"streams.version", "4.2"},
}

// without are the flags of format by which a cluster begins without those of
// them that it would have at a release.
func without(release string) (flags []string) {
	for _, f := range unserved {
		if release >= f.since {
			flags = append(flags, "--feature", f.name+"=0")
		}
	}
	return flags
}
