// Command metricsdoc writes docs/reference/metrics.md from what a node
// registers:
//
//	go run ./internal/gen/metricsdoc docs/reference/metrics.md
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/node"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: metricsdoc FILE")
		os.Exit(1)
	}
	if err := os.WriteFile(os.Args[1], []byte(page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const intro = `# Metrics

<!-- Written by internal/gen/metricsdoc from what internal/node registers. Do not edit. -->

` + "`ottla.metrics.listener=host:port`" + ` (or ` + "`ottla dev --metrics host:port`" + `) opens an HTTP listener with ` + "`/metrics`" + ` in
Prometheus' text format and ` + "`/ready`" + `, which answers 200 while clients are served and 503 with the reason before and after.
Both are there from the first moment of a start. Without the key nothing listens and requests are not timed.

Names, labels and units are those that the JMX exporter's usual rules make of Apache Kafka's metrics, so dashboards and alerts
for Kafka work. A family with the label ` + "`topic`" + ` in brackets also has a value without labels, the sum over all topics, as Kafka
has. A *summary* has gauges with the label ` + "`quantile`" + ` (0.50, 0.75, 0.95, 0.98, 0.99, 0.999) over the last minute or two, and
counters with ` + "`_count`" + ` and ` + "`_sum`" + ` behind the name. Names that begin with ` + "`ottla_`" + ` have no like in Kafka. The Go runtime
(` + "`go_`" + `) and the process (` + "`process_resident_memory_bytes`, `process_open_fds`, `process_cpu_seconds_total`" + `) are there too.

What Kafka has and a node has not: pools of network and handler threads and queues between them (a connection has a goroutine
of its own), counts of dead threads (a goroutine that fails ends the process), rates (Prometheus computes them from counters) but
for ` + "`minfetchrate`" + ` and those of replication quotas, and everything about features that this release does not serve.

A node shows what its roles have. Metrics of topics and partitions exist while this broker has a replica of them.

`

// page is the whole page.
func page() string {
	families := node.MetricFamilies()
	slices.SortFunc(families, func(a, b metrics.Family) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| Name | Kind | Labels | Meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range families {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, labels(f), f.Help)
	}
	return b.String()
}

func labels(f metrics.Family) string {
	text := strings.Join(f.Labels, ", ")
	if strings.HasPrefix(f.Name, "kafka_server_brokertopicmetrics_") {
		return "(" + text + ")"
	}
	return text
}
