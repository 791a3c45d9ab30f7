package ctrlnode

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// heldBroker is broker 7, of ours, with two directories and two replicas.
type heldBroker struct {
	q     *quorumOfOne
	epoch kafka.BrokerEpoch
	topic kafka.TopicID
}

func newHeldBroker(q *quorumOfOne) *heldBroker {
	b := &heldBroker{q: q, topic: kafka.TopicID{5}}
	Submit(q.node, time.Hour, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Registered] {
		return controller.RegisterBroker(img, soft, now, controller.Registration{
			Broker: 7, ClusterID: "c", Incarnation: kafka.UUID{1}, Dirs: b.dirs(),
			Endpoints: []image.Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 1}},
			Features: []image.VersionRange{
				{Name: image.MetadataVersion, Min: int16(image.MinLevel), Max: int16(image.LatestLevel)}, {Name: image.DirsFeature, Max: 1},
			},
		})
	}, func(r controller.Registered, _ error) { b.epoch = r.Epoch })
	q.commit()
	submit(q.node, func(kafka.Instant, *image.Image, *controller.Soft) controller.Decision[struct{}] {
		records := []controller.Versioned{{Message: &metarec.TopicRecord{Name: "t", TopicId: b.topic}}}
		for n := range 2 {
			p := metarec.NewPartitionRecord()
			p.TopicId, p.PartitionId, p.Leader, p.LeaderEpoch, p.PartitionEpoch = b.topic, int32(n), -1, 0, 0
			p.Replicas, p.Directories = []int32{7}, []kafka.DirID{kafka.DirUnassigned}
			records = append(records, controller.Versioned{Message: p, Version: 2})
		}
		return controller.Decision[struct{}]{Records: records}
	}, func(struct{}, error) {})
	q.commit()
	return b
}

func (b *heldBroker) dirs() []kafka.DirID { return []kafka.DirID{{9, 15: 200}, {9, 15: 201}} }

// assign tells where both replicas are.
func (b *heldBroker) assign() <-chan error {
	done := make(chan error, 1)
	want := controller.DirsToAssign{Broker: 7, Epoch: b.epoch}
	for n, dir := range b.dirs() {
		want.Assignments = append(want.Assignments, controller.DirAssignment{Partition: kafka.TopicIDPartition{Topic: b.topic, Partition: kafka.PartitionID(n)}, Dir: dir})
	}
	Submit(b.q.node, time.Hour, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]error] {
		return controller.AssignReplicasToDirs(img, soft, want)
	}, func(_ []error, err error) { done <- err })
	return done
}

// heard is the answer to a heartbeat.
type heard struct {
	fenced bool
	err    error
}

// beat asks to be unfenced.
func (b *heldBroker) beat() <-chan heard {
	done := make(chan heard, 1)
	SubmitRepeatable(b.q.node, time.Hour, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Beaten] {
		return controller.Heartbeat(img, soft, now, controller.Beat{Broker: 7, Epoch: b.epoch, MetadataOffset: img.NextOffset() - 1})
	}, func(r controller.Beaten, err error) { done <- heard{r.Fenced, err} })
	return done
}

// S9: the broker is fenced until all assignments are learnt by the active controller
// and persisted. One that is in the log and not committed may be lost with its
// controller, so nobody hears of it before, neither by its own answer nor by being
// unfenced.
func TestKIP858_S9(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		b := newHeldBroker(q)
		fencedNow := func(when string, want bool) {
			t.Helper()
			if got, _ := q.img.Broker(7); got == nil || got.Fenced != want {
				t.Fatalf("%s: %+v, want fenced %v", when, got, want)
			}
		}
		first := b.beat()
		q.commit()
		if got := <-first; !got.fenced || got.err != nil {
			t.Errorf("before the assignments: %+v", got)
		}

		assigned, beaten := b.assign(), b.beat()
		synctest.Wait()
		if len(assigned)+len(beaten) != 0 {
			t.Error("answered before the commit")
		}
		fencedNow("appended, not committed", true)
		q.mu.Lock() // the other voters never had it
		q.pending, q.end = nil, q.img.NextOffset()
		q.mu.Unlock()
		q.node.Leader(2, 2, q.img)
		if err := <-assigned; kerr.Of(err) == kerr.None {
			t.Error("told of an assignment that is lost")
		}
		if got := <-beaten; got.err == nil {
			t.Errorf("told by the lost controller: %+v", got)
		}
		q.lead(3)
		again := b.beat()
		q.commit()
		if got := <-again; !got.fenced || got.err != nil {
			t.Errorf("at the next controller, which has no assignments: %+v", got)
		}

		assigned, beaten = b.assign(), b.beat()
		synctest.Wait()
		if len(assigned)+len(beaten) != 0 {
			t.Error("answered before the commit")
		}
		q.commit()
		if err := <-assigned; err != nil {
			t.Error(err)
		}
		if got := <-beaten; got.fenced || got.err != nil {
			t.Errorf("after the commit: %+v", got)
		}
		fencedNow("after the commit", false)
		names := q.written()
		last := len(names) - 1 - slices.Index(reversed(names), "BrokerRegistrationChangeRecord")
		if change := slices.Index(names, "PartitionChangeRecord"); change < 0 || change > last {
			t.Errorf("unfenced at record %d, assigned at %d: %v", last, change, names)
		}
	})
}

func reversed(names []string) []string {
	names = slices.Clone(names)
	slices.Reverse(names)
	return names
}
