package node

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// changes are what a node counts of the metadata that passes by.
type changes struct {
	Claims       metrics.Count `name:"kafka_controller_kafkacontroller_newactivecontrollerscount" help:"Leaders of the quorum that this node has seen come."`
	Errors       metrics.Count `name:"kafka_controller_kafkacontroller_metadataerrorcount" help:"Faults in metadata. Alert above 0: the node stops at the first."`
	Unclean      metrics.Count `name:"kafka_controller_controllerstats_uncleanleaderelections_total" help:"Leaders elected from outside ISR and ELR: records may be lost."`
	FromEligible metrics.Count `name:"kafka_controller_controllerstats_electionfromeligibleleaderreplicas_total" help:"Leaders elected from the eligible leader replicas (KIP-966)."`
}

// publish counts elections that did not take a member of the ISR.
func (c *changes) publish(delta image.Delta, img *image.Image) {
	for _, id := range delta.Partitions {
		_, now, ok := img.PartitionByID(id)
		_, before, known := delta.Before.PartitionByID(id)
		if !ok || !known || now.Leader == kafka.NoNode || now.Leader == before.Leader || slices.Contains(before.ISR, now.Leader) {
			continue
		}
		switch {
		case slices.Contains(before.ELR, now.Leader):
			c.FromEligible.Add(1)
		case now.Recovery == image.Recovering:
			c.Unclean.Add(1)
		}
	}
}

// outlook is what somebody who looks at a node can see of the cluster.
type outlook struct {
	metadata   *metadata
	controller *controllerRole // nil: not this role
}

// cluster is the cluster as it is seen at one moment.
type cluster struct {
	img       *image.Image
	active    bool // the node is the active controller
	committed kafka.Offset
	leader    kafka.NodeID // of the quorum
	kraft     int16        // kraft.version
	static    bool         // controller.quorum.voters is set
	offline   int          // partitions without a leader
	astray    int          // partitions not led by the preferred replica
	lag       time.Duration
}

func (o outlook) cluster() cluster {
	q := o.metadata.quorum.View()
	c := cluster{img: o.metadata.view.Image(), committed: q.HighWatermark - 1, leader: q.Leader, kraft: q.Level}
	c.static = len(o.metadata.cfg.List("controller.quorum.voters")) > 0
	c.active = o.controller != nil && o.controller.node.Active()
	if at := c.img.Provenance().TimestampMs; !c.active && at > 0 {
		c.lag = max(time.Since(time.UnixMilli(at)), 0)
	}
	return c
}

// ignoredHelp is about static voters beside those in the log (KIP-853).
const ignoredHelp = "1 while controller.quorum.voters is set and has no effect, as the metadata log holds the voters."

func (c cluster) ignoresStatic() float64 { return number(c.static && c.kraft > 0) }

// counted is the cluster with what takes a walk over all partitions.
func (o outlook) counted() cluster {
	c := o.cluster()
	for _, p := range c.img.Partitions() {
		if p.Leader == kafka.NoNode {
			c.offline++
		}
		if len(p.Replicas) > 0 && p.Leader != p.Replicas[0] {
			c.astray++
		}
	}
	return c
}

// brokers counts registrations.
func (c cluster) brokers(is func(*image.Broker) bool) (n float64) {
	for _, b := range c.img.Brokers().All() {
		if is(b) {
			n++
		}
	}
	return n
}

func one(name, help string, value func(cluster) float64) metrics.Reading[cluster] {
	return metrics.Reading[cluster]{Name: name, Help: help, One: value}
}

// applied are the three figures that controllers and brokers have of how far
// they have read, under different names.
func applied(offset, timestamp, lag string) []metrics.Reading[cluster] {
	return []metrics.Reading[cluster]{
		one(offset, "Offset of the last metadata record that this node has applied.", func(c cluster) float64 { return float64(c.img.Provenance().Offset) }),
		one(timestamp, "When the last metadata record that this node has applied was written, in milliseconds since 1970.", func(c cluster) float64 { return float64(c.img.Provenance().TimestampMs) }),
		one(lag, "Milliseconds since the last metadata record that this node has applied was written; 0 on the active controller.", func(c cluster) float64 { return float64(c.lag.Milliseconds()) }),
	}
}

// registerController shows the cluster under the names of Kafka's
// KafkaController. A controller that stands by has the same figures, from what
// is committed.
func (o outlook) registerController(r *metrics.Registry) {
	const prefix = "kafka_controller_kafkacontroller_"
	r.Register(&o.metadata.watched.changes)
	metrics.Watch(r, func() *ctrlnode.Node { return o.controller.node }, metrics.Reading[*ctrlnode.Node]{
		Name: "ottla_controller_brokers_fenced_by_proof_total", Kind: metrics.Counter,
		Help: "Brokers that were fenced before their session ended because their process was gone.",
		One:  func(n *ctrlnode.Node) float64 { return float64(n.FencedByProof()) },
	}, metrics.Reading[*ctrlnode.Node]{
		Name: prefix + "timedoutbrokerheartbeatcount", Kind: metrics.Counter,
		Help: "Heartbeats of brokers that were not answered in time. Above 0: the controller is overloaded, or its disk hangs.",
		One:  func(n *ctrlnode.Node) float64 { return float64(n.HeartbeatsTimedOut()) },
	}, metrics.Reading[*ctrlnode.Node]{
		Name: prefix + "timesincelastheartbeatreceivedms", Labels: "broker",
		Help: "Milliseconds since the active controller has heard of a broker, at most broker.session.timeout.ms.",
		Each: func(n *ctrlnode.Node, report metrics.Report) {
			for id, ago := range n.Contacts() {
				report(float64(ago.Milliseconds()), strconv.Itoa(int(id)))
			}
		},
	})
	metrics.Watch(r, o.counted, append(applied(prefix+"lastappliedrecordoffset", prefix+"lastappliedrecordtimestamp", prefix+"lastappliedrecordlagms"),
		one(prefix+"activecontrollercount", "1 on the active controller. The sum over all must be 1.", func(c cluster) float64 { return number(c.active) }),
		one(prefix+"lastcommittedrecordoffset", "Offset of the last committed metadata record that this node knows of.", func(c cluster) float64 { return float64(c.committed) }),
		one(prefix+"globaltopiccount", "Topics of the cluster.", func(c cluster) float64 { return float64(c.img.Topics().Len()) }),
		one(prefix+"globalpartitioncount", "Partitions of the cluster.", func(c cluster) float64 { return float64(c.img.PartitionCount()) }),
		one(prefix+"offlinepartitionscount", "Partitions without a leader. Alert above 0.", func(c cluster) float64 { return float64(c.offline) }),
		one(prefix+"preferredreplicaimbalancecount", "Partitions that are not led by their first replica.", func(c cluster) float64 { return float64(c.astray) }),
		one(prefix+"ignoredstaticvoters", ignoredHelp, cluster.ignoresStatic),
		one(prefix+"activebrokercount", "Brokers that are registered and not fenced.", func(c cluster) float64 {
			return c.brokers(func(b *image.Broker) bool { return !b.Fenced })
		}),
		one(prefix+"fencedbrokercount", "Brokers that are registered and fenced.", func(c cluster) float64 {
			return c.brokers(func(b *image.Broker) bool { return b.Fenced })
		}),
		one(prefix+"controlledshutdownbrokercount", "Brokers that are leaving.", func(c cluster) float64 {
			return c.brokers(func(b *image.Broker) bool { return b.ShuttingDown })
		}),
		metrics.Reading[cluster]{
			Name: prefix + "brokerregistrationstate", Labels: "broker", Help: "10 fenced, 20 leaving, 30 active.",
			Each: func(c cluster, report metrics.Report) {
				for id, b := range c.img.Brokers().All() {
					report(registrationState(b), strconv.Itoa(int(id)))
				}
			},
		},
	)...)
}

func registrationState(b *image.Broker) float64 {
	switch {
	case b.Fenced:
		return 10
	case b.ShuttingDown:
		return 20
	}
	return 30
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// registerMetadata shows what every node knows of the metadata, under the names
// of Kafka's MetadataLoader, node-metrics and broker-metadata-metrics.
func (o outlook) registerMetadata(r *metrics.Registry) {
	const prefix = "kafka_server_broker_metadata_metrics_last_applied_record_"
	metrics.Watch(r, o.cluster, append(applied(prefix+"offset", prefix+"timestamp", prefix+"lag_ms"),
		one("kafka_server_broker_metadata_metrics_ignored_static_voters", ignoredHelp, cluster.ignoresStatic),
		one("kafka_server_metadataloader_currentcontrollerid", "Id of the active controller; -1: not known.", func(c cluster) float64 { return float64(c.leader) }),
		one("kafka_server_metadataloader_currentmetadataversion", "Level of metadata.version.", func(c cluster) float64 { return float64(c.img.Level()) }),
		metrics.Reading[cluster]{
			Name: "kafka_server_metadataloader_finalizedlevel", Labels: "featureName", Help: "Level that a feature is finalized at.",
			Each: func(c cluster, report metrics.Report) {
				report(float64(c.kraft), camel(image.KRaftVersion))
				for name, level := range c.img.Features().All() {
					report(float64(level), camel(name))
				}
			},
		},
		supportedLevel("maximum", func(r image.VersionRange) int16 { return r.Max }),
		supportedLevel("minimum", func(r image.VersionRange) int16 { return r.Min }),
	)...)
}

func supportedLevel(which string, of func(image.VersionRange) int16) metrics.Reading[cluster] {
	return metrics.Reading[cluster]{
		Name: "kafka_server_node_metrics_" + which + "_supported_level", Labels: "feature_name",
		Help: "The " + which + " level of a feature that this node serves.",
		Each: func(_ cluster, report metrics.Report) {
			for _, r := range image.Served() {
				report(float64(of(r)), strings.ReplaceAll(r.Name, ".", "-"))
			}
		},
	}
}

// camel writes the name of a feature as Kafka's metrics do: metadataVersion.
func camel(feature string) string {
	words := strings.Split(feature, ".")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
