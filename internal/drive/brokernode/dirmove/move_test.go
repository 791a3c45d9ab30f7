package dirmove_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

func newBroker(t *testing.T) (*broker, *vfs.Mem) {
	t.Helper()
	disk := formatted()
	b, err := start(t, disk, metadata(t, ids[0]))
	must(t, err)
	t.Cleanup(func() { b.close() })
	return b, disk
}

func (b *broker) fill(from, to int) (all []string) {
	b.t.Helper()
	for i := from; i < to; i++ {
		must(b.t, b.append(fmt.Sprint("v", i)))
		all = append(all, fmt.Sprintf("%d=v%d", i, i))
	}
	return all
}

func (b *broker) holds(want []string) {
	b.t.Helper()
	if got := b.read(); !slices.Equal(got, want) {
		b.t.Fatalf("holds %v\nwant  %v", got, want)
	}
}

// The order of KIP-858: level, told, committed, switched.
func TestAReplicaMoves(t *testing.T) {
	b, disk := newBroker(t)
	want := b.fill(0, 30)
	must(t, b.parts.MoveReplica(t0, ids[1], false))
	if got := folders(t, disk); got != "/d1/t-0 /d2/t-0-future" {
		t.Fatal(got)
	}
	if s := b.part().Status(); s.Future == nil || s.Future.Dir != ids[1] || s.Future.End != 0 || s.Dir != ids[0] {
		t.Fatalf("%+v", s)
	}
	if _, told := b.wants(); told {
		t.Fatal("told before the copy is level")
	}
	next, err := b.step(1 << 20)
	for ; next == partitions.MoveOn; next, err = b.step(1 << 20) {
		must(t, err)
	}
	if dir, told := b.wants(); !told || dir != ids[1] || next != partitions.MoveWait {
		t.Fatalf("the controller is told of %v (%v), next %d", dir, told, next)
	}
	want = append(want, b.fill(30, 33)...)
	_, err = b.step(1 << 20)
	must(t, err)
	if got := folders(t, disk); got != "/d1/t-0 /d2/t-0-future" {
		t.Fatal("switched before the controller has answered: ", got)
	}
	b.take()
	want = append(want, b.fill(33, 36)...)
	b.finish()
	if got := folders(t, disk); got != "/d1/t-0-delete /d2/t-0" {
		t.Fatal(got)
	}
	if s := b.part().Status(); s.Future != nil || s.Dir != ids[1] || s.LogEnd != 36 || s.HighWatermark != 36 {
		t.Fatalf("%+v", s)
	}
	want = append(want, b.fill(36, 40)...)
	b.holds(want)
	if dir, told := b.wants(); told {
		t.Fatalf("the controller is told of %s after the move", dir)
	}
}

func TestNamingTheOwnDirectoryEndsAMove(t *testing.T) {
	b, disk := newBroker(t)
	want := b.fill(0, 5)
	must(t, b.parts.MoveReplica(t0, ids[0], true)) // nothing happens, cordoned or not
	must(t, b.parts.MoveReplica(t0, ids[1], false))
	for _, err := b.step(1 << 20); ; _, err = b.step(1 << 20) {
		must(t, err)
		if b.take() {
			break // metadata names the target
		}
	}
	must(t, b.parts.MoveReplica(t0, ids[0], false))
	if dir, told := b.wants(); !told || dir != ids[0] {
		t.Fatalf("assigned to %v, want back to the source", dir)
	}
	if got := folders(t, disk); got != "/d1/t-0 /d2/t-0-delete" {
		t.Fatal(got)
	}
	b.finish()
	b.holds(want)
	must(t, b.parts.MoveReplica(t0, ids[1], false))
	must(t, b.parts.MoveReplica(t0, ids[1], false)) // it goes there already
	must(t, b.parts.MoveReplica(t0, ids[2], false)) // another target
	b.finish()
	if got := settled(t, disk); got != "/d3/t-0" {
		t.Fatal(got)
	}
	b.holds(want)
}

func TestWhatCannotBeMoved(t *testing.T) {
	b, _ := newBroker(t)
	f := func(name string, partition kafka.PartitionID, to kafka.DirID, cordoned bool, want kerr.Code) {
		t.Helper()
		if got := kerr.Of(b.parts.MoveReplica(kafka.TopicPartition{Topic: name, Partition: partition}, to, cordoned)); got != want {
			t.Errorf("%s-%d: %v, want %v", name, partition, got, want)
		}
	}
	f(strings.Repeat("x", 249), 0, ids[1], false, kerr.InvalidTopicException)
	f("t", 0, kafka.DirID{9}, false, kerr.KafkaStorageError)
	f("t", 0, ids[1], true, kerr.InvalidReplicaAssignment)
	f("t", 7, ids[1], false, kerr.UnknownTopicOrPartition)
	b.apply(testbed.Partition(topic, 1, testbed.Other))
	f("t", 1, ids[2], false, kerr.ReplicaNotAvailable)
	change := testbed.Elect(topic, 1, testbed.Other)
	change.Replicas = []int32{int32(testbed.Other), int32(testbed.Self)}
	change.Directories = []kafka.DirID{{1}, kafka.DirUnassigned}
	b.apply(change)
	p, err := b.parts.Named(kafka.TopicPartition{Topic: "t", Partition: 1})
	must(t, err)
	if got := p.Status().Dir; got != ids[2] {
		t.Errorf("made in %s, want where it was wished", got)
	}
	b.dirs.Fail(roots[2], errors.New("gone"))
	f("t", 0, ids[1], false, kerr.KafkaStorageError) // a copy may lie in the one that failed
	f("t", 0, ids[2], false, kerr.KafkaStorageError)
	f("t", 0, ids[0], false, kerr.None)
}

func TestTheCopyIsCutAndTrimmedLikeTheOriginal(t *testing.T) {
	b, disk := newBroker(t)
	want := b.fill(0, 20)
	must(t, b.parts.MoveReplica(t0, ids[1], false))
	_, err := b.step(300)
	must(t, err)
	_, err = b.part().DeleteBefore(7)
	must(t, err)
	for s := b.part().Status(); s.Future.End < 10; s = b.part().Status() {
		_, err := b.step(300)
		must(t, err)
	}
	low, err := b.part().LowWatermark()
	must(t, err)
	if low != 7 {
		t.Errorf("low watermark %d", low)
	}
	// The broker follows, and its leader's log diverges at 9.
	follow := testbed.Elect(topic, 0, testbed.Other)
	follow.Replicas, follow.Isr = []int32{1, 2}, []int32{2}
	follow.Directories = []kafka.DirID{ids[0], {1}}
	b.apply(follow)
	f := b.part().Follower()
	at, ok := f.Stands()
	if !ok {
		t.Fatal("does not follow")
	}
	_, err = f.Take(at, partitions.FromLeader{Diverging: &partitions.Divergence{Epoch: 0, End: 9}})
	must(t, err)
	b.finish()
	if got := settled(t, disk); got != "/d2/t-0" {
		t.Fatal(got)
	}
	if s := b.part().Status(); s.LogStart != 7 || s.LogEnd != 9 {
		t.Errorf("[%d, %d), want [7, 9)", s.LogStart, s.LogEnd)
	}
	lead := testbed.Elect(topic, 0, testbed.Self)
	b.apply(lead)
	b.holds(want[7:9])
}

func TestADirectoryFailsDuringAMove(t *testing.T) {
	for _, failing := range []int{0, 1} {
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprint(roots[failing], committed), func(t *testing.T) {
				b, disk := newBroker(t)
				want := b.fill(0, 5)
				must(t, b.parts.MoveReplica(t0, ids[1], false))
				for told := false; !told; _, told = b.wants() {
					_, err := b.step(1 << 20)
					must(t, err)
				}
				if committed {
					b.take()
				}
				b.parts.DirFailed(ids[failing])
				b.dirs.Fail(roots[failing], errors.New("gone"))
				if dir, told := b.wants(); !told || dir != ids[0] {
					t.Fatalf("assigned to %v, want back to the source", dir)
				}
				b.take()
				if next, _ := b.step(1 << 20); next != partitions.MoveOver {
					t.Errorf("next step %d", next)
				}
				if failing == 1 {
					want = append(want, b.fill(5, 7)...)
					b.holds(want)
				}
				b.close()
				again, err := start(t, disk, b.img)
				must(t, err)
				t.Cleanup(again.close)
				again.finish()
				again.holds(want)
				if got := settled(t, disk); got != "/d2/t-0" {
					t.Fatal(got) // the move went on
				}
			})
		}
	}
}

// A future replica whose source is gone is the replica, in the directory that
// metadata names (KAFKA-16082).
func TestWithoutItsSourceTheFutureReplicaIsPromoted(t *testing.T) {
	b, disk := newBroker(t)
	want := b.fill(0, 5)
	must(t, b.parts.MoveReplica(t0, ids[1], false))
	for !b.take() {
		_, err := b.step(1 << 20)
		must(t, err)
	}
	b.close()
	must(t, disk.RemoveAll("/d1/t-0"))
	again, err := start(t, disk, b.img)
	must(t, err)
	t.Cleanup(again.close)
	if got := folders(t, disk); got != "/d2/t-0" {
		t.Fatal(got)
	}
	again.holds(want)
}

// A copy that metadata does not name is set aside, and where it names none of two,
// neither is used and the controller is told.
func TestTwoPlainFolders(t *testing.T) {
	double := func(named kafka.DirID) (*broker, *vfs.Mem, []string) {
		b, disk := newBroker(t)
		want := b.fill(0, 5)
		must(t, b.parts.MoveReplica(t0, ids[1], false))
		_, err := b.step(1 << 20)
		must(t, err)
		b.close()
		entries, err := disk.ReadDir("/d2")
		must(t, err)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), "-future") {
				must(t, disk.Rename("/d2/"+e.Name(), "/d2/t-0"))
			}
		}
		img, _, err := image.Apply(b.img, []metarec.Message{assignment(named)})
		must(t, err)
		again, err := start(t, disk, img)
		must(t, err)
		t.Cleanup(again.close)
		return again, disk, want
	}
	for i, want := range []string{"/d1/t-0 /d2/t-0-stray", "/d1/t-0-stray /d2/t-0"} {
		b, disk, records := double(ids[i])
		if got := folders(t, disk); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		b.holds(records)
	}
	b, disk, _ := double(ids[2])
	if got := folders(t, disk); got != "/d1/t-0 /d2/t-0" {
		t.Error(got)
	}
	if dir, _ := b.wants(); dir != kafka.DirLost || !b.part().Status().Offline {
		t.Errorf("assigned to %v", dir)
	}
}
