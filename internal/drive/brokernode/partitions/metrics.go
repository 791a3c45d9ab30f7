package partitions

import (
	"strconv"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/replica"
)

// figures are what the manager counts; kafka.server:type=ReplicaManager.
type figures struct {
	ISRShrinks       metrics.Count `name:"kafka_server_replicamanager_isrshrinks_total" help:"Replicas that this broker, as leader, took out of an ISR."`
	ISRExpands       metrics.Count `name:"kafka_server_replicamanager_isrexpands_total" help:"Replicas that this broker, as leader, took back into an ISR."`
	ReassignmentIn   metrics.Count `name:"kafka_server_brokertopicmetrics_reassignmentbytesin_total" help:"Bytes of batches copied from leaders to replicas here that a reassignment adds."`
	ReassignmentOut  metrics.Count `name:"kafka_server_brokertopicmetrics_reassignmentbytesout_total" help:"Bytes of batches sent to followers that a reassignment adds."`
	ApplyErrors      metrics.Count `name:"kafka_server_broker_metadata_metrics_metadata_apply_error_count" help:"Replicas here that could not be made, removed or given their role as metadata says. Alert above 0."`
	FailedISRUpdates metrics.Count `name:"kafka_server_replicamanager_failedisrupdates_total" help:"Changes of an ISR that the controller refused."`
}

// answered counts what the controller says to a proposal of this broker. That
// metadata told of the new ISR before makes no difference; a change that the
// controller made by itself has no answer and does not count, as in Apache Kafka.
func (f *figures) answered(a replica.Proposed) {
	switch was, is := a.To.Was, len(a.To.ISR); {
	case a.Outcome != replica.Accepted:
		f.FailedISRUpdates.Add(1)
	case is < was:
		f.ISRShrinks.Add(1)
	case is > was:
		f.ISRExpands.Add(1)
	}
}

// seen is one replica as somebody who looks sees it.
type seen struct {
	labels [2]string // topic and partition
	at     Status
	part   *image.Partition // nil when metadata has just dropped it
	// needed is how many must be in the ISR, segments how many files the log
	// has, producers how many it remembers.
	needed, segments, producers int
	stable                      kafka.Offset
	// late: nothing was heard of the producer of the oldest open transaction for
	// longer than its coordinator lets any transaction be open.
	late bool
}

func (s *seen) leads() bool      { return s.part != nil && !s.at.Offline && s.at.Role == replica.Leading }
func (s *seen) lacking() bool    { return s.leads() && len(s.part.ISR) < s.replicas() }
func (s *seen) underMin() bool   { return s.leads() && len(s.part.ISR) < s.needed }
func (s *seen) atMin() bool      { return s.leads() && len(s.part.ISR) == s.needed }
func (s *seen) reassigned() bool { return s.leads() && len(s.part.Adding)+len(s.part.Removing) > 0 }
func (s *seen) offline() bool    { return s.at.Offline }

// replicas is how many a partition is to have: those that a reassignment is
// about to add do not count before it ends, as in Apache Kafka.
func (s *seen) replicas() int { return len(s.part.Replicas) - len(s.part.Adding) }

// look reads all replicas.
func (m *Manager) look() []seen {
	img, all, now := m.Image(), m.All(), time.Now()
	list := make([]seen, len(all))
	for i, p := range all {
		s := &list[i]
		s.labels = [2]string{p.Name.Topic, strconv.Itoa(int(p.Name.Partition))}
		s.at = p.Status()
		if _, part, ok := img.PartitionByID(p.ID); ok {
			s.part, s.needed = part, min(p.Policy().MinInsyncReplicas, len(part.Replicas))
		}
		if !p.enter() {
			continue
		}
		log := p.log
		p.mu.Unlock()
		if log != nil {
			s.segments, s.producers, s.stable = log.Segments(), log.ProducerCount(), log.LastStable(s.at.HighWatermark)
			s.late = m.isLate(log.OpenSince(), now)
		}
	}
	return list
}

// Register shows what there is to tell about the replicas of this broker, under
// the names of Kafka's ReplicaManager, BrokerTopicMetrics, Partition and Log.
func (m *Manager) Register(r *metrics.Registry) {
	r.Register(&m.figures)
	m.registerTraffic(r)
	metrics.Watch(r, m.look, append(append(sums(), flags()...), values()...)...)
}

func (m *Manager) registerTraffic(r *metrics.Registry) {
	var list []metrics.Reading[*traffics]
	for _, f := range trafficFamilies() {
		list = append(list, metrics.Reading[*traffics]{
			Name: "kafka_server_brokertopicmetrics_" + f.name + "_total", Kind: metrics.Counter, Labels: "topic",
			Help: f.help + " Without a topic: of all topics since the start.",
			Each: func(t *traffics, report metrics.Report) { t.report(f.of, report) },
		})
	}
	metrics.Watch(r, func() *traffics { return &m.traffic }, list...)
}

// sums are the figures of the broker as a whole.
func sums() []metrics.Reading[[]seen] {
	count := func(name, help string, is func(*seen) bool) metrics.Reading[[]seen] {
		return metrics.Reading[[]seen]{Name: "kafka_server_replicamanager_" + name, Help: help, One: func(list []seen) float64 {
			n := 0
			for i := range list {
				if is(&list[i]) {
					n++
				}
			}
			return float64(n)
		}}
	}
	return []metrics.Reading[[]seen]{
		count("partitioncount", "Replicas on this broker.", func(*seen) bool { return true }),
		count("leadercount", "Partitions that this broker leads.", (*seen).leads),
		count("underreplicatedpartitions", "Led partitions with fewer replicas in the ISR than they are to have. Alert above 0.", (*seen).lacking),
		count("underminisrpartitioncount", "Led partitions with an ISR below min.insync.replicas, which refuse acks=all. Alert above 0.", (*seen).underMin),
		count("atminisrpartitioncount", "Led partitions whose ISR is just large enough for acks=all.", (*seen).atMin),
		count("offlinereplicacount", "Replicas in a failed log directory. Alert above 0.", (*seen).offline),
		count("reassigningpartitions", "Led partitions whose replicas are being moved.", (*seen).reassigned),
		count("partitionswithlatetransactionscount", "Led partitions whose oldest transaction is open for 5 minutes more than transaction.max.timeout.ms without a word of its producer: its coordinator has forgotten it. Alert above 0.",
			func(s *seen) bool { return s.leads() && s.late }),
		{Name: "kafka_server_replicamanager_produceridcount", Help: "Idempotent producers that are remembered, once for each partition.",
			One: func(list []seen) float64 {
				n := 0
				for i := range list {
					n += list[i].producers
				}
				return float64(n)
			}},
	}
}

// flags are what may be wrong with a led partition.
func flags() []metrics.Reading[[]seen] {
	flag := func(name, help string, is func(*seen) bool) metrics.Reading[[]seen] {
		return each("kafka_cluster_partition_"+name, help, (*seen).leads, func(s *seen) float64 {
			if is(s) {
				return 1
			}
			return 0
		})
	}
	return []metrics.Reading[[]seen]{
		flag("underreplicated", "1 while a led partition has fewer replicas in the ISR than it is to have.", (*seen).lacking),
		flag("underminisr", "1 while the ISR of a led partition is below min.insync.replicas.", (*seen).underMin),
		flag("atminisr", "1 while the ISR of a led partition is just large enough.", (*seen).atMin),
	}
}

// values are the sizes and offsets of single partitions.
func values() []metrics.Reading[[]seen] {
	online := func(s *seen) bool { return !s.at.Offline }
	return []metrics.Reading[[]seen]{
		each("kafka_cluster_partition_insyncreplicascount", "Replicas in the ISR of a led partition.", (*seen).leads, func(s *seen) float64 { return float64(len(s.part.ISR)) }),
		each("kafka_cluster_partition_replicascount", "Replicas of a led partition, without those that a reassignment adds.", (*seen).leads, func(s *seen) float64 { return float64(s.replicas()) }),
		each("kafka_cluster_partition_laststableoffsetlag", "Records of a led partition behind an open transaction.", (*seen).leads, func(s *seen) float64 { return float64(s.at.HighWatermark - s.stable) }),
		each("kafka_log_log_size", "Bytes of a log.", online, func(s *seen) float64 { return float64(s.at.Size) }),
		each("kafka_log_log_numlogsegments", "Segments of a log.", online, func(s *seen) float64 { return float64(s.segments) }),
		each("kafka_log_log_logstartoffset", "First offset of a log.", online, func(s *seen) float64 { return float64(s.at.LogStart) }),
		each("kafka_log_log_logendoffset", "Offset after the last record of a log.", online, func(s *seen) float64 { return float64(s.at.LogEnd) }),
	}
}

// each makes a family with a value for every replica that it applies to.
func each(name, help string, applies func(*seen) bool, value func(*seen) float64) metrics.Reading[[]seen] {
	return metrics.Reading[[]seen]{Name: name, Help: help, Labels: "topic,partition", Each: func(list []seen, report metrics.Report) {
		for i := range list {
			if s := &list[i]; applies(s) {
				report(value(s), s.labels[:]...)
			}
		}
	}}
}
