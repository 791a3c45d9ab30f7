package image

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// The statements of KIP-858 (docs/kip-858.md) that hold for whoever replays the
// metadata log. Directory 11 is the one that broker 1 had before.

func knowing(id int32) *metarec.RegisterControllerRecord {
	return &metarec.RegisterControllerRecord{ControllerId: id, Features: []metarec.RegisterControllerRecordControllerFeature{{Name: DirsFeature, MaxSupportedVersion: 1}}}
}

func ignorant(id int32) *metarec.RegisterControllerRecord {
	return &metarec.RegisterControllerRecord{ControllerId: id}
}

func in(dir kafka.DirID, p *metarec.PartitionRecord) *metarec.PartitionRecord {
	p.Directories = []kafka.DirID{dir}
	return p
}

// placed tells where the replicas of topic a are, and at which partition epochs.
func placed(img *Image) (out string) {
	a, _ := img.TopicNamed("a")
	for n, p := range a.Partitions.All() {
		out += fmt.Sprintf("%d:%d@%d ", n, p.Dirs[0][15], p.Epoch)
	}
	return out
}

// S5: a broker whose registration had exactly one directory, online, and that comes
// back with this one and others, has its replicas in the old one, by a logical
// update: those whose place nobody knows. Explicit ids stay.
func TestKIP858_S5(t *testing.T) {
	f := func(old, now []int, controllers []metarec.Message, want string) {
		t.Helper()
		img := after(t, Empty(), append([]metarec.Message{level(LatestLevel)}, controllers...)...)
		img = after(t, img, broker(1, 5, old...), topic("a", 1),
			partition(1, 0, 1), in(kafka.DirUnassigned, partition(1, 1, 1)), in(id(77), partition(1, 2, 1)), in(kafka.DirLost, partition(1, 3, 1)))
		img = after(t, img, broker(1, 9, now...))
		if got := placed(img); got != want {
			t.Errorf("%v to %v: %s, want %s", old, now, got, want)
		}
	}
	ours := []metarec.Message{knowing(1), knowing(2)}
	const ruled, kept = "0:11@0 1:11@0 2:77@0 3:2@0 ", "0:0@0 1:1@0 2:77@0 3:2@0 "
	f([]int{11}, []int{11, 12}, ours, ruled)
	f([]int{11}, []int{10, 11, 12}, ours, ruled)
	f([]int{11}, []int{11}, ours, kept)
	f([]int{11}, []int{12, 13}, ours, kept)         // the old one is not among them
	f([]int{11, 12}, []int{11, 12, 13}, ours, kept) // it had several before
	f(nil, []int{11, 12}, ours, kept)
	// The log says whether the rule applies: every registered controller knows it.
	f([]int{11}, []int{11, 12}, nil, kept)
	f([]int{11}, []int{11, 12}, []metarec.Message{knowing(1), ignorant(2)}, kept)
}

// S7: all that consume metadata come to the same, however the records reach them.
func TestKIP858_S7(t *testing.T) {
	log := []metarec.Message{
		level(LatestLevel), knowing(1), broker(1, 5, 11), broker(2, 6, 21), topic("a", 1), partition(1, 0, 1), partition(1, 1, 1, 2), partition(1, 2, 2),
		broker(1, 9, 11, 12), in(kafka.DirUnassigned, partition(1, 3, 1)),
	}
	const want = "0:11@0 1:11@0 2:0@0 3:1@0 "
	f := func(how string, img *Image, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if got := placed(img); got != want {
			t.Errorf("%s: %s, want %s", how, got, want)
		}
		if h := img.Hosted(1); h.Replicas != 3 || h.Unplaced != 1 {
			t.Errorf("%s: counted %+v", how, h)
		}
	}
	whole, _, err := Apply(Empty(), log)
	f("in one batch", whole, err)
	for cut := range len(log) {
		r := NewReplay(Empty())
		err := r.Add(0, log[:cut])
		if err == nil {
			err = r.Add(kafka.Offset(cut), log[cut:])
		}
		img, _ := r.Done()
		f(fmt.Sprintf("cut at %d", cut), img, err)
	}

	one, cache := Empty(), map[kafka.TopicIDPartition]kafka.DirID{} // a broker that follows deltas
	short, worked := NewReplay(Empty()), Empty()                    // an active controller's own
	for _, rec := range log {
		next, delta, err := Apply(one, []metarec.Message{rec})
		if err != nil {
			t.Fatal(err)
		}
		one = next
		for _, tp := range delta.Partitions {
			_, p, _ := one.PartitionByID(tp)
			cache[tp] = p.Dirs[0]
		}
		s, err := Step(worked, []metarec.Message{rec})
		if err != nil {
			t.Fatal(err)
		}
		worked = s.Image()
		if !short.Take(worked.NextOffset(), s) {
			t.Fatal("the stride was not taken")
		}
	}
	f("one by one", one, nil)
	own, _ := short.Done()
	f("as the active controller works it out", own, nil)
	for tp, dir := range cache {
		if _, p, _ := one.PartitionByID(tp); p.Dirs[0] != dir {
			t.Errorf("deltas did not tell that partition %d is in %v", tp.Partition, p.Dirs[0])
		}
	}

	within := slices.Concat(log[:1], []metarec.Message{&metarec.BeginTransactionRecord{}}, log[1:], []metarec.Message{&metarec.EndTransactionRecord{}})
	img, _, err := Apply(Empty(), within)
	f("in a metadata transaction", img, err)
}

// S8: whatever snapshot is made later names the exact directory in the record of
// each of the broker's partitions, and who loads it has the same.
func TestKIP858_S8(t *testing.T) {
	img := after(t, Empty(), level(LatestLevel), knowing(1), broker(1, 5, 11), broker(2, 6, 21), topic("a", 1), partition(1, 0, 1), partition(1, 1, 1, 2))
	img = after(t, img, broker(1, 9, 11, 12))
	f := func(when, want string) {
		t.Helper()
		var got string
		loader := NewLoader(img.Provenance())
		for _, rec := range records(t, img) {
			if p, ok := rec.(*metarec.PartitionRecord); ok {
				got += fmt.Sprintf("%d:%d@%d ", p.PartitionId, p.Directories[0][15], p.PartitionEpoch)
			}
			if err := loader.Add(rec); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		if loaded := loader.Done(); !loaded.Equal(img) {
			t.Errorf("%s: loaded, the image differs: %+v", when, Between(img, loaded))
		}
	}
	f("at once", "0:11@0 1:11@0 ")
	moved := change(1, 1)
	moved.Leader = 2
	img = after(t, img, moved)
	f("after a change that names no directory", "0:11@0 1:11@1 ")
	img = after(t, img, broker(1, 19, 12))
	f("without the old directory", "0:11@0 1:11@1 ")
}
