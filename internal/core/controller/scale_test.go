package controller

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// large is a cluster of 30 brokers with 100,000 partitions on 27 of them, three
// replicas each: 10,000 topics of ten. Brokers 28, 29 and 30 have nothing; the
// last has two directories and is fenced.
func large(b *testing.B) *cluster {
	b.Helper()
	c := newCluster(b)
	for n := 1; n <= 27; n++ {
		c.brokers(n)
	}
	for t := 0; t < 10_000; t += 100 {
		want := TopicsToCreate{}
		for n := range 100 {
			want.Topics = append(want.Topics, auto(fmt.Sprintf("topic_%d", t+n), 10, 3))
		}
		do(c, CreateTopics(c.img, c.soft, want))
	}
	c.brokers(28, 29)
	do(c, RegisterBroker(c.img, c.soft, c.now, registration(30, 2)))
	return c
}

// Nothing that happens all the time may cost more because there is much.

func BenchmarkHeartbeatAt100000Partitions(b *testing.B) {
	c := large(b)
	f := func(name string, broker int, change func(*Beat)) {
		b.Run(name, func(b *testing.B) {
			at, _ := c.img.Broker(kafka.NodeID(broker))
			want := Beat{Broker: at.ID, Epoch: at.Epoch, MetadataOffset: c.img.NextOffset()}
			change(&want)
			b.ReportAllocs()
			for b.Loop() {
				if d := Heartbeat(c.img, c.soft, c.now, want); d.Err != nil {
					b.Fatal(d.Err)
				}
			}
		})
	}
	f("unfenced", 1, func(*Beat) {})
	f("leaves and leads nothing", 28, func(want *Beat) { want.WantShutDown = true })
	f("fenced with two directories", 30, func(*Beat) {})
	f("wants to be fenced and has nothing", 29, func(want *Beat) { want.WantFence = true })
}

func BenchmarkFenceOneOf27At100000Partitions(b *testing.B) {
	c := large(b)
	at, _ := c.img.Broker(1)
	b.ReportAllocs()
	for b.Loop() {
		if d := Heartbeat(c.img, c.soft, c.now, Beat{Broker: 1, Epoch: at.Epoch, WantFence: true}); len(d.Records) < 10_000 {
			b.Fatal(len(d.Records), d.Err)
		}
	}
}

func BenchmarkRegisterAt100000Partitions(b *testing.B) {
	c := large(b)
	c.now += kafka.Instant(c.soft.SessionTimeout)
	f := func(name string, broker int) {
		b.Run(name, func(b *testing.B) {
			want := registration(broker, 1)
			want.Incarnation = uid(777)
			b.ReportAllocs()
			for b.Loop() {
				if d := RegisterBroker(c.img, c.soft, c.now, want); d.Err != nil {
					b.Fatal(d.Err)
				}
			}
		})
	}
	f("one of 27", 1)
	f("without replicas", 28)
}

func BenchmarkSmallChangesAt100000Partitions(b *testing.B) {
	c := large(b)
	f := func(name string, decide func() (records int, err error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, err := decide(); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
	f("CreateTopics", func() (int, error) {
		d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{auto("new_topic", 1, 3)}})
		return len(d.Records), d.Err
	})
	value := "v"
	alter := ConfigsToAlter{Resources: []ResourceChange{{
		Resource: image.TopicOf("topic_5000"), Changes: []ConfigChange{{Op: SetConfig, Key: "size", Value: &value}},
	}}}
	f("IncrementalAlterConfigs", func() (int, error) {
		d := IncrementalAlterConfigs(c.img, c.soft, alter)
		return len(d.Records), d.Err
	})
	t, _ := c.img.TopicNamed("topic_5000")
	p, _ := t.Partitions.Get(0)
	leader, _ := c.img.Broker(p.Leader)
	shrink := ISRsToAlter{Broker: p.Leader, Epoch: leader.Epoch, Partitions: []NewISR{{
		Partition:   kafka.TopicIDPartition{Topic: t.ID},
		LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch,
		ISR: []Member{{Broker: p.Leader, Epoch: kafka.NoBrokerEpoch}},
	}}}
	f("AlterPartition", func() (int, error) {
		d := AlterPartition(c.img, c.soft, shrink)
		return len(d.Records), d.Err
	})
}

// One CreateTopics of 900 topics with ten partitions each.
func BenchmarkCreateTopics900x10(b *testing.B) {
	c := newCluster(b)
	c.brokers(1, 2, 3)
	want := TopicsToCreate{}
	for n := range 900 {
		want.Topics = append(want.Topics, auto(fmt.Sprintf("t%d", n), 10, 1))
	}
	b.ReportAllocs()
	for b.Loop() {
		if d := CreateTopics(c.img, c.soft, want); len(d.Records) != 9900 {
			b.Fatal(len(d.Records), d.Err)
		}
	}
}
