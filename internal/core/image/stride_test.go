package image

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// A replay that takes strides comes to the image and the delta of one that applies
// the records.
func TestStridesAreWhatTheirRecordsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, _ := drawImage(t)
		worked := before
		plain, short := NewReplay(before), NewReplay(before)
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			base := worked.NextOffset()
			var recs []metarec.Message
			img := worked
			for range rapid.IntRange(1, 5).Draw(t, "records") {
				if rec := (world{t, img}).record(); rec != nil {
					recs = append(recs, rec)
					img, _, _ = Apply(img, []metarec.Message{rec})
				}
			}
			if len(recs) == 0 {
				continue
			}
			s, err := Step(worked, recs)
			if err != nil {
				t.Fatal(err)
			}
			worked = s.Image()
			if err := plain.Add(base, recs); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "known") {
				if !short.Take(worked.NextOffset(), s) {
					t.Fatal("the stride was not taken")
				}
			} else if err := short.Add(base, recs); err != nil {
				t.Fatal(err)
			}
		}
		want, wantDelta := plain.Done()
		got, gotDelta := short.Done()
		if !got.Equal(want) || got.Provenance() != want.Provenance() {
			t.Fatalf("at %+v differs from %+v: %+v", got.Provenance(), want.Provenance(), Between(want, got))
		}
		same(t, "created", wantDelta.Created, gotDelta.Created)
		same(t, "partitions", wantDelta.Partitions, gotDelta.Partitions)
		same(t, "brokers", wantDelta.Brokers, gotDelta.Brokers)
		same(t, "configs", wantDelta.Configs, gotDelta.Configs)
		if len(gotDelta.Deleted) != len(wantDelta.Deleted) || gotDelta.Before != before {
			t.Fatalf("%d topics deleted, want %d", len(gotDelta.Deleted), len(wantDelta.Deleted))
		}
	})
}

func same[T comparable](t *rapid.T, what string, want, got []T) {
	subset(t, what, want, got)
	subset(t, what, got, want)
}

// What a metadata transaction hides cannot come in by a stride.
func TestStridesOfATransactionAreNotTaken(t *testing.T) {
	begin, end := metarec.NewBeginTransactionRecord(), metarec.NewEndTransactionRecord()
	f := func(before *Image, takes bool, recs ...metarec.Message) {
		t.Helper()
		s, err := Step(before, recs)
		if err != nil {
			t.Fatal(err)
		}
		r := NewReplay(before)
		if got := r.Take(before.NextOffset()+kafka.Offset(len(recs)), s); got != takes {
			t.Errorf("taken: %v, want %v", got, takes)
		}
	}
	open := after(t, Empty(), begin, topic("a", 1))
	f(Empty(), true, topic("a", 1))
	f(Empty(), true, begin, topic("a", 1), end)
	f(Empty(), false, begin, topic("a", 1))
	f(open, false, topic("b", 2))
	f(open, false, end)
	if NewReplay(Empty()).Take(0) {
		t.Error("nothing was taken")
	}
}
