package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// recounted is Hosted for all brokers, by looking at every partition.
func recounted(img *Image) map[kafka.NodeID]Hosted {
	all := map[kafka.NodeID]Hosted{}
	add := func(id kafka.NodeID, h Hosted) {
		sum := all[id]
		sum.add(h)
		all[id] = sum
	}
	for _, p := range img.Partitions() {
		for n, id := range p.Replicas {
			h := Hosted{Replicas: 1}
			if Unplaced(p.Dirs[n]) {
				h.Unplaced = 1
			}
			if p.Leader == kafka.NoNode {
				h.Leaderless = 1
			}
			add(id, h)
		}
		for _, id := range p.ISR {
			add(id, Hosted{InSync: 1})
		}
		for _, id := range p.ELR {
			add(id, Hosted{Eligible: 1})
		}
		if p.Leader != kafka.NoNode {
			add(p.Leader, Hosted{Leads: 1})
		}
	}
	return all
}

func counted(img *Image) map[kafka.NodeID]Hosted {
	all := map[kafka.NodeID]Hosted{}
	for id, h := range img.hosted.All() {
		all[id] = h
	}
	return all
}

// What brokers have is counted along, however an image came about.
func TestCountsFollowThePartitions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		img, recs := drawImage(rt)
		if diff := cmp.Diff(recounted(img), counted(img)); diff != "" {
			rt.Errorf("record by record: %s", diff)
		}
		at := rapid.IntRange(0, len(recs)).Draw(rt, "cut")
		whole := after(t, after(t, Empty(), recs[:at]...), recs[at:]...)
		if diff := cmp.Diff(recounted(img), counted(whole)); diff != "" {
			rt.Errorf("in two batches: %s", diff)
		}
		loader := NewLoader(img.Provenance())
		if err := loader.Add(records(rt, img)...); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(recounted(img), counted(loader.Done())); diff != "" {
			rt.Errorf("from a snapshot: %s", diff)
		}
	})
}

// "Equal to an existing name after mapping '.' to '_'."
func TestTopicsThatAreAlikeInMetrics(t *testing.T) {
	img := after(t, Empty(), topic("a.b", 1), topic("a_c", 2), topic("plain", 3), topic("gone.by", 4), removal(4))
	f := func(name, want string) {
		t.Helper()
		if got, found := img.Alike(name); got != want || found != (want != "") {
			t.Errorf("%q: %q %v, want %q", name, got, found, want)
		}
	}
	f("a_b", "a.b")
	f("a.b", "") // itself
	f("a.c", "a_c")
	f("a.d", "")
	f("ab", "")
	f("plain", "")
	f("gone_by", "")
	// Old software let both in: each is the other's.
	img = after(t, img, topic("a_b", 5))
	f("a_b", "a.b")
	f("a.b", "a_b")
	img = after(t, img, removal(1))
	f("a.b", "a_b")
}

func removal(topic int) *metarec.RemoveTopicRecord {
	return &metarec.RemoveTopicRecord{TopicId: id(topic)}
}
