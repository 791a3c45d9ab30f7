package interop

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// mixtureTools is row 7: Kafka's tools against clusters of both kinds.
func mixtureTools() []peer.Cell {
	apart := func(controller peer.Kind, brokers ...peer.Kind) peer.Layout {
		l := peer.Mix(peer.Broker, brokers...)
		l.Nodes = append([]peer.Spec{{Kind: controller, Roles: peer.Controller}}, l.Nodes...)
		return l
	}
	cell := func(name string, quick bool, l peer.Layout, leads peer.Kind) peer.Cell {
		return peer.Cell{Row: 7, Name: name, Quick: quick, Play: func(p *peer.Play) { tools(p, l, leads) }}
	}
	more := peer.Mix(peer.Combined, peer.Kafka, peer.Ottla, peer.Ottla)
	less := peer.Mix(peer.Combined, peer.Ottla, peer.Kafka, peer.Kafka)
	return []peer.Cell{
		cell("one Java node and two of ours led by ottla", false, more, peer.Ottla),
		cell("one Java node and two of ours led by Java", true, more, peer.Kafka),
		cell("two Java nodes and one of ours led by ottla", false, less, peer.Ottla),
		cell("two Java nodes and one of ours led by Java", false, less, peer.Kafka),
		cell("brokers of ours on a Java controller", false, apart(peer.Kafka, peer.Ottla, peer.Ottla), peer.Kafka),
		cell("brokers of both kinds on a controller of ours", false, apart(peer.Ottla, peer.Kafka, peer.Ottla), peer.Ottla),
	}
}

// use is one call of a tool, and what it has to print.
type use struct {
	tool, args, says string
}

// tools runs every tool at a broker of each kind. They cost no epoch.
func tools(p *peer.Play, l peer.Layout, leads peer.Kind) {
	c := peer.New(p, l)
	for _, n := range c.Of(leads) {
		n.Start()
	}
	c.Start()
	replicas := len(c.Addrs())
	c.CreateTopic("ledger", 6, int16(replicas), nil)
	c.InSync("ledger", replicas)
	g := c.Load("ledger")
	c.LedBy(leads)
	c.InSync("ledger", replicas)
	for i, n := range firstOfEachKind(brokersOf(c)) {
		p.Event(c, g, peer.Event{Name: "tools at a broker of " + short(n.Kind), Happens: func(peer.View) {
			all := uses(p, fmt.Sprintf("made-%d", i), c)
			if *every {
				all = append(all, moreUses(p, fmt.Sprintf("more-%d", i))...)
			}
			for _, u := range all {
				if err := u.run(c, n); err != nil {
					p.Error(err)
				}
			}
		}})
	}
	p.Event(c, g, peer.Event{Name: "dump-log of all nodes", Happens: func(peer.View) {
		for _, n := range c.Nodes {
			dumped(p, c, n)
		}
	}})
	p.End(c, g)
}

// brokersOf are the nodes that clients connect to.
func brokersOf(c *peer.Cluster) []*peer.Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *peer.Node) bool { return !n.Roles.Serves() })
}

// uses are calls of every tool. What they change is in a topic of their own.
func uses(p *peer.Play, topic string, c *peer.Cluster) []use {
	ids := brokersOf(c)
	first, last := ids[0].ID, ids[len(ids)-1].ID
	plan := itest.WriteFile(p, "plan.json", fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[%d,%d]}]}`, topic, last, first))
	return []use{
		{"kafka-topics", "--create --topic " + topic + " --partitions 2 --replication-factor 2", "Created topic"},
		{"kafka-topics", "--alter --topic " + topic + " --partitions 3", ""},
		{"kafka-topics", "--describe --topic " + topic, "PartitionCount: 3"},
		{"kafka-configs", "--alter --entity-type topics --entity-name " + topic + " --add-config retention.ms=77000", "Completed updating"},
		{"kafka-configs", "--describe --entity-type topics --entity-name " + topic, "retention.ms=77000"},
		{"kafka-configs", fmt.Sprintf("--describe --entity-type brokers --entity-name %d --all", first), "log.segment.bytes="},
		{"kafka-features", "describe", "metadata.version"},
		{"kafka-metadata-quorum", "describe --status", "LeaderEpoch:"},
		{"kafka-metadata-quorum", "describe --replication", "Leader"},
		{"kafka-reassign-partitions", "--execute --reassignment-json-file " + plan, "Successfully started partition reassignment"},
		{"kafka-reassign-partitions", "--verify --reassignment-json-file " + plan, "is completed"},
		{"kafka-reassign-partitions", "--list", "No partition reassignments found"},
		{"kafka-leader-election", "--election-type preferred --topic " + topic + " --partition 0", fmt.Sprintf("%s-0", topic)},
		{"kafka-log-dirs", "--describe --topic-list " + topic, `"partition":"` + topic + `-0"`},
		{"kafka-verifiable-producer", "--topic " + topic + " --max-messages 200 --acks -1", `"name":"tool_data","sent":200,"acked":200`},
		{"kafka-verifiable-consumer", "--topic " + topic + " --group-id of-" + topic + " --max-messages 200 --reset-policy earliest", `"name":"shutdown_complete"`},
		{"kafka-consumer-groups", "--describe --group of-" + topic, topic},
		{"kafka-get-offsets", "--topic " + topic, topic + ":0:"},
		{"kafka-topics", "--delete --topic " + topic, ""},
	}
}

// moreUses are calls of the tools that take long or that few know. What they change is in
// a topic of their own.
func moreUses(p *peer.Play, topic string) []use {
	upTo := itest.WriteFile(p, "offsets.json", fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"offset":-1}]}`, topic))
	return []use{
		{"kafka-topics", "--create --topic " + topic + " --partitions 1 --replication-factor 2", "Created topic"},
		{"kafka-producer-perf-test", "--topic " + topic + " --num-records 1000 --record-size 100 --throughput -1 --command-property acks=all", "1000 records sent"},
		{"kafka-transactions", "describe-producers --topic " + topic + " --partition 0", "ProducerId"},
		{"kafka-transactions", "list", "TransactionalId"},
		{"kafka-delete-records", "--offset-json-file " + upTo, "partition: " + topic + "-0 low_watermark: 1000"},
		{"kafka-client-metrics", "--alter --name " + topic + " --metrics org.apache.kafka.producer. --interval 5000", "Altered client metrics config"},
		{"kafka-client-metrics", "--describe --name " + topic, "interval.ms=5000"},
		{"kafka-client-metrics", "--delete --name " + topic, "Deleted client metrics config"},
		{"kafka-groups", "--list", "GROUP"},
		{"kafka-broker-api-versions", "", "Produce(0): "},
		{"kafka-cluster", "cluster-id", "Cluster ID: " + clusterID},
		{"kafka-cluster", "list-endpoints", "unfenced"},
		{"kafka-topics", "--delete --topic " + topic, ""},
	}
}

// run calls the tool until it says what it has to: some answer for a state that is
// reached soon.
func (u use) run(c *peer.Cluster, n *peer.Node) error {
	args := append([]string{"--bootstrap-server", n.Addr()}, strings.Fields(u.args)...)
	if u.tool == "kafka-cluster" { // its sub-commands have the option
		args = append(strings.Fields(u.args), "--bootstrap-server", n.Addr())
	}
	var out string
	var err error
	for range 3 {
		if out, err = c.Tool(u.tool, args...); err == nil && strings.Contains(squeezed(out), squeezed(u.says)) {
			return nil
		}
	}
	return fmt.Errorf("%s %s at %s does not say %q: %v\n%s", u.tool, u.args, n, u.says, err, out)
}

// squeezed is text without blanks and tabs: tools align columns.
func squeezed(s string) string { return strings.NewReplacer(" ", "", "\t", "").Replace(s) }

// dumped has Kafka's tool read the logs of a node that runs.
func dumped(p *peer.Play, c *peer.Cluster, n *peer.Node) {
	p.Helper()
	read := func(pattern string, flags ...string) {
		found, err := filepath.Glob(filepath.Join(n.Dirs[0], pattern))
		if err != nil || len(found) == 0 {
			p.Fatalf("%s has no %s: %v", n, pattern, err)
		}
		out, err := c.Tool("kafka-dump-log", append([]string{"--files", strings.Join(found, ",")}, flags...)...)
		for _, bad := range []string{"Exception", "Mismatch", "isvalid: false"} {
			if err != nil || strings.Contains(out, bad) {
				p.Errorf("dump-log of %s at %s: %v, %s in\n%.3000s", pattern, n, err, bad, out)
				return
			}
		}
	}
	if n.Roles.Serves() {
		read("ledger-*/*.log", "--deep-iteration")
	}
	read("__cluster_metadata-0/*.log", "--cluster-metadata-decoder")
}
