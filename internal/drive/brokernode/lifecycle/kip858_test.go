package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
)

// slowDesk answers an assignment when it is told to.
type slowDesk struct {
	*desk
	answer chan struct{}
}

func (d slowDesk) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if _, assigns := req.(*kmsg.AssignReplicasToDirsRequest); assigns {
		select {
		case <-d.answer:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return d.desk.Do(ctx, req)
}

// S3 of KIP-858 (docs/kip-858.md): the broker stays fenced by not asking to be
// unfenced until none of its replicas has a mismatching assignment. The number is
// the metric QueuedReplicaToDirAssignments; one under way counts until its answer.
func TestKIP858_S3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := slowDesk{&desk{}, make(chan struct{})}
		l, stop := start(d.desk, func(c *Config) { c.Controller = d })
		defer stop()
		for n := range 3 {
			l.Assign(kafka.TopicIDPartition{Topic: kafka.TopicID{9}, Partition: kafka.PartitionID(n)}, kafka.DirID{1})
		}
		l.Published(10)
		l.Ready()
		f := func(when string, queued int, fenced bool) {
			t.Helper()
			time.Sleep(3 * time.Second)
			hb := d.last()
			if hb == nil || hb.WantFence != fenced || l.QueuedAssignments() != queued || closed(l.Unfenced()) == fenced {
				t.Fatalf("%s: %d queued, %+v, want %d and fenced %v", when, l.QueuedAssignments(), hb, queued, fenced)
			}
		}
		f("under way", 3, true)
		l.Unassign(kafka.TopicIDPartition{Topic: kafka.TopicID{9}, Partition: 2})
		f("one replica has gone", 2, true)
		d.answer <- struct{}{}
		f("answered", 0, false)
		l.Assign(kafka.TopicIDPartition{Topic: kafka.TopicID{8}}, kafka.DirID{2})
		f("a replica that was made later", 1, false)
	})
}
