package ctrlnode

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// instant is a log that takes everything and loses nothing; the benchmark
// commits.
type instant struct{ end kafka.Offset }

func (l *instant) Append(_ kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	l.end += kafka.Offset(len(framed))
	return l.end, nil
}
func (l *instant) LogEnd() kafka.Offset { return l.end }
func (l *instant) Resign(kafka.Epoch)   {}
func (l *instant) Heir() bool           { return true }

func (l *instant) Bereaved(kafka.Epoch) (kafka.NodeID, bool) { return kafka.NoNode, false }

func (l *instant) RaiseLevel(context.Context, kafka.Epoch, int16, bool) error {
	return nil
}

// active is a controller with some topics and one broker.
func active(b testing.TB, topics int) (*Node, *instant) {
	b.Helper()
	l := &instant{}
	n := New(Config{
		Self: 1, Quorum: l, Bootstrap: controller.Bootstrap(image.LatestLevel), Log: slog.New(slog.DiscardHandler),
		Fault: func(err error) { b.Error(err) },
		Settings: &controller.Settings{
			Node: 1, ClusterID: "c", SessionTimeout: time.Hour, DefaultPartitions: 1, DefaultReplication: 1, Keys: anyKeys{},
			Supported: []image.VersionRange{{Name: image.MetadataVersion, Min: int16(image.MinLevel), Max: int16(image.LatestLevel)}},
		},
	})
	b.Cleanup(n.Stop)
	n.Leader(1, 1, image.Empty())
	n.Applied(l.end) // who is alone waits for the log
	Submit(n, time.Hour, registerBroker(), func(_ controller.Registered, err error) {
		if err != nil {
			b.Fatal(err)
		}
	})
	n.Applied(l.end)
	Submit(n, time.Hour, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Beaten] {
		at, _ := img.Broker(7)
		return controller.Heartbeat(img, soft, now, controller.Beat{Broker: 7, Epoch: at.Epoch, MetadataOffset: img.NextOffset()})
	}, func(controller.Beaten, error) {})
	n.Applied(l.end)
	want := controller.TopicsToCreate{}
	for t := range topics {
		want.Topics = append(want.Topics, controller.NewTopic{Name: fmt.Sprint("t", t), Partitions: 1, Replication: 1})
	}
	Submit(n, time.Hour, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.CreatedTopic] {
		return controller.CreateTopics(img, soft, want)
	}, func(created []controller.CreatedTopic, err error) {
		if err != nil || created[0].Err != nil {
			b.Error(err, created[0].Err)
		}
	})
	n.Applied(l.end)
	return n, l
}

// alteration gives a function that changes the configuration of one of 64 topics,
// another one each time, and waits for the answer.
func alteration(tb testing.TB) func() {
	n, l := active(tb, 64)
	values := []string{"101:100,102:100,103:100", "104:100,105:100,106:100"}
	names := make([]image.Resource, 64)
	for i := range names {
		names[i] = image.TopicOf(fmt.Sprint("t", i))
	}
	i := 0
	return func() {
		want := controller.ConfigsToAlter{Resources: []controller.ResourceChange{{
			Resource: names[i%64],
			Changes:  []controller.ConfigChange{{Op: controller.SetConfig, Key: "leader.replication.throttled.replicas", Value: &values[i/64%2]}},
		}}}
		i++
		answered := 0
		Submit(n, time.Hour, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.AlteredResource] {
			return controller.IncrementalAlterConfigs(img, soft, want)
		}, func(altered []controller.AlteredResource, err error) {
			if err != nil || altered[0].Err != nil {
				tb.Error(err, altered[0].Err)
			}
			answered++
		})
		n.Applied(l.end)
		if answered != 1 {
			tb.Fatal("not answered")
		}
	}
}

// BenchmarkAlterOneTopic is what one change of a configuration costs the active
// controller besides the log and the network: decide, apply, encode, answer.
func BenchmarkAlterOneTopic(b *testing.B) {
	alter := alteration(b)
	b.ReportAllocs()
	for b.Loop() {
		alter()
	}
}

// Of what a change allocates only the record and the new paths of the image stay.
func TestAChangeAllocatesLittle(t *testing.T) {
	if got := testing.AllocsPerRun(1000, alteration(t)); got > 48 {
		t.Errorf("a change of one topic's configuration allocates %v times, want 48 at most", got)
	}
}
