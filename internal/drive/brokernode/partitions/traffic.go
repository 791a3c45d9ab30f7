package partitions

import (
	"sync"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
)

// Traffic counts what the replicas of one topic here take and give.
type Traffic struct {
	messagesIn, bytesIn, bytesRejected metrics.Count
	bytesOut, replicationBytesOut      metrics.Count
	replicationBytesIn                 metrics.Count
	produces, failedProduces           metrics.Count
	fetches, failedFetches             metrics.Count
}

// appended counts a batch that went into a log.
func (t *Traffic) appended(records, bytes int) {
	t.messagesIn.Add(records)
	t.bytesIn.Add(bytes)
}

// Produced counts a client's attempt to append so many bytes, and how it ended.
func (t *Traffic) Produced(bytes int, err error) {
	t.produces.Add(1)
	if err == nil {
		return
	}
	switch code := kerr.Of(err); code {
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		t.bytesRejected.Add(bytes)
	default:
		if !routine(code) {
			t.failedProduces.Add(1)
		}
	}
}

// Fetched counts an answer with so many bytes of records to a reader.
func (t *Traffic) Fetched(r Reader, bytes int, err error) {
	t.fetches.Add(1)
	out := &t.bytesOut
	if r.isFollower() {
		out = &t.replicationBytesOut
	}
	out.Add(bytes)
	if err != nil && !routine(kerr.Of(err)) {
		t.failedFetches.Add(1)
	}
}

// Fetches is how many partitions were looked at for an answer to a reader.
func (t *Traffic) Fetches() float64 { return t.fetches.Value() }

// routine tells whether an error is no failure of this broker. As in Kafka those
// are left out of the counts of failed requests; the counts of errors by code
// hold all.
func routine(code kerr.Code) bool {
	switch code {
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicId, kerr.InconsistentTopicId, kerr.NotLeaderOrFollower,
		kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetOutOfRange, kerr.ReplicaNotAvailable,
		kerr.CorruptMessage, kerr.KafkaStorageError:
		return true
	}
	return false
}

// trafficFamily is one of the counts.
type trafficFamily struct {
	name, help string
	of         func(*Traffic) *metrics.Count
}

// trafficFamilies lists what is counted, in the order in which it is shown.
func trafficFamilies() []trafficFamily {
	return []trafficFamily{
		{"messagesin", "Records appended.", func(t *Traffic) *metrics.Count { return &t.messagesIn }},
		{"bytesin", "Bytes of batches appended.", func(t *Traffic) *metrics.Count { return &t.bytesIn }},
		{"bytesrejected", "Bytes of batches refused for their size.", func(t *Traffic) *metrics.Count { return &t.bytesRejected }},
		{"bytesout", "Bytes of batches sent to consumers.", func(t *Traffic) *metrics.Count { return &t.bytesOut }},
		{"replicationbytesin", "Bytes of batches copied from leaders.", func(t *Traffic) *metrics.Count { return &t.replicationBytesIn }},
		{"replicationbytesout", "Bytes of batches sent to followers.", func(t *Traffic) *metrics.Count { return &t.replicationBytesOut }},
		{"totalproducerequests", "Partitions that clients wanted to append to.", func(t *Traffic) *metrics.Count { return &t.produces }},
		{"failedproducerequests", "Partitions that could not be appended to, without the errors that belong to everyday life.", func(t *Traffic) *metrics.Count { return &t.failedProduces }},
		{"totalfetchrequests", "Partitions that fetches were answered for.", func(t *Traffic) *metrics.Count { return &t.fetches }},
		{"failedfetchrequests", "Partitions that could not be read, without the errors that belong to everyday life.", func(t *Traffic) *metrics.Count { return &t.failedFetches }},
	}
}

// traffics holds the traffic of each topic with a replica here, and the sum of
// those that had one, so that the broker's totals only grow.
type traffics struct {
	mu     sync.Mutex
	topics map[string]*topicTraffic
	past   Traffic
}

type topicTraffic struct {
	Traffic
	replicas int
}

// enter gives the traffic of a topic to one more replica.
func (a *traffics) enter(topic string) *Traffic {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.topics[topic]
	if t == nil {
		if a.topics == nil {
			a.topics = map[string]*topicTraffic{}
		}
		t = &topicTraffic{}
		a.topics[topic] = t
	}
	t.replicas++
	return &t.Traffic
}

// leave takes a replica away, and with the last one the topic.
func (a *traffics) leave(topic string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.topics[topic]
	if t.replicas--; t.replicas > 0 {
		return
	}
	delete(a.topics, topic)
	for _, f := range trafficFamilies() {
		f.of(&a.past).Add(int(f.of(&t.Traffic).Value()))
	}
}

// report tells the sum of one family over all topics, then each topic's own.
func (a *traffics) report(of func(*Traffic) *metrics.Count, report metrics.Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := of(&a.past).Value()
	for topic, t := range a.topics {
		v := of(&t.Traffic).Value()
		total += v
		report(v, topic)
	}
	report(total)
}
