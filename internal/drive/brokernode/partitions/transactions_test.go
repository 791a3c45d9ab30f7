package partitions_test

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/storage"
)

// transactional is a batch of producer 7 in a transaction.
func transactional(epoch int16, sequence int32) []byte {
	w := batch.NewBuilder(batch.Options{Transactional: true, Producer: &batch.Producer{ID: 7, Epoch: epoch, Sequence: sequence}})
	w.Add(1000, []byte("key"), []byte("value"))
	return w.Build(nil)
}

func TestWithoutVerificationATransactionBegins(t *testing.T) {
	b := newBed(t).Start()
	b.Topic("t", 1)
	p := b.Find("t", 0)
	if _, err := p.Append(transactional(0, 0), true); err != nil {
		t.Error(err)
	}
	b.Verify = true // it may be switched on at any time
	if _, err := p.Append(transactional(1, 0), true); kerr.Of(err) != kerr.InvalidTxnState {
		t.Errorf("nobody has asked: %v", err)
	}
	if _, err := p.Append(transactional(0, 1), true); err != nil {
		t.Errorf("of the open transaction: %v", err)
	}
}

// A marker is appended and replicated like a record with acks=-1. When it is
// committed, readers of committed records go on.
func TestAMarkerEndsTheTransaction(t *testing.T) {
	b := newBed(t)
	b.Verify = true
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	p := b.Start().Find("t", 0)
	guard, err := p.BeginTransaction(storage.Attempt{Producer: 7})
	if err != nil || guard == 0 {
		t.Fatalf("guard %d, %v", guard, err)
	}
	if _, err := p.AppendGuarded(transactional(0, 0), true, guard); err != nil {
		t.Fatal(err)
	}
	end := batch.EndTxn{Producer: 7, Commit: true, TimestampMs: 5}
	if _, err := p.EndTransaction(3, end, 0); kerr.Of(err) != kerr.UnknownLeaderEpoch {
		t.Errorf("in another epoch: %v", err)
	}
	got, err := p.EndTransaction(kafka.NoEpoch, end, 0)
	if err != nil || got.Base != 1 || got.End != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: kafka.NoBrokerEpoch}
	committed := partitions.Reader{Follower: kafka.NoNode, BrokerEpoch: kafka.NoBrokerEpoch, Committed: true}
	f := func(replicated kafka.Offset, done bool, records int) {
		t.Helper()
		if _, err := p.Read(follower, want(replicated)); err != nil {
			t.Fatal(err)
		}
		if is, err := p.Acked(got, true); is != done || err != nil {
			t.Errorf("replicated to %d: confirmed %v, %v", replicated, is, err)
		}
		if n := count(t, p, committed, 0); n != records {
			t.Errorf("replicated to %d: %d records are committed, want %d", replicated, n, records)
		}
	}
	f(1, false, 0) // the record has its followers, the marker has not
	f(2, true, 2)  // the marker is a record, too
}

func TestAMarkerNeedsEnoughReplicas(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t", "min.insync.replicas", "2")
	part := testbed.Partition(id, 0, testbed.Self, testbed.Other)
	part.Isr = []int32{int32(testbed.Self)}
	b.Apply(part)
	p := b.Start().Find("t", 0)
	if _, err := p.EndTransaction(kafka.NoEpoch, batch.EndTxn{Producer: 7}, 0); kerr.Of(err) != kerr.NotEnoughReplicas {
		t.Errorf("%v", err)
	}
	b.Apply(testbed.Elect(id, 0, testbed.Other))
	b.Publish()
	if _, err := p.EndTransaction(kafka.NoEpoch, batch.EndTxn{Producer: 7}, 0); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("%v", err)
	}
	if _, err := p.BeginTransaction(storage.Attempt{Producer: 7}); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("%v", err)
	}
}

// In a topic with LogAppendTime the marker says so too, as Apache Kafka's does.
func TestAMarkerHasTheTimestampTypeOfItsTopic(t *testing.T) {
	b := newBed(t).Start()
	b.Topic("t", 1, "message.timestamp.type", "LogAppendTime")
	p := b.Find("t", 0)
	if _, err := p.EndTransaction(kafka.NoEpoch, batch.EndTxn{Producer: 7, TimestampMs: 5}, 0); err != nil {
		t.Fatal(err)
	}
	d, err := p.Read(partitions.Consumer, want(0))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Records.Close()
	bytes, err := d.Records.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := batch.ParseHeader(bytes); err != nil || !h.LogAppendTime() || h.MaxTimestamp != 5 {
		t.Errorf("%+v, %v", h, err)
	}
}

// "PartitionsWithLateTransactionsCount": open for transaction.max.timeout.ms (15
// minutes) and 5 more without a word of the producer.
func TestLateTransactionsAreCounted(t *testing.T) {
	f := func(ago time.Duration, late bool) {
		t.Helper()
		b := newBed(t).Start()
		now := time.Now()
		since := int64(0)
		if ago > 0 {
			since = now.Add(-ago).UnixMilli()
		}
		if b.Manager.IsLate(since, now) != late {
			t.Errorf("after %v: late is not %v", ago, late)
		}
	}
	f(0, false)
	f(19*time.Minute+59*time.Second, false)
	f(20*time.Minute+time.Second, true)

	b := newBed(t).Start()
	b.Topic("t", 1)
	wants := scraped(t, b.Manager)
	if _, err := b.Find("t", 0).Append(transactional(0, 0), true); err != nil {
		t.Fatal(err)
	}
	wants("kafka_server_replicamanager_partitionswithlatetransactionscount", "0")
}
