package group

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// A topic counts once, however many groups and partitions have offsets of it; two
// topics that had one name are two.
func TestTopicsAreNamedOnceInOrder(t *testing.T) {
	s := New(Defaults())
	for i, c := range []struct {
		tp kafka.TopicPartition
		id byte
	}{{kafka.TopicPartition{Topic: "b"}, 2}, {kafka.TopicPartition{Topic: "a", Partition: 1}, 0}, {kafka.TopicPartition{Topic: "a", Partition: 2}, 0}, {kafka.TopicPartition{Topic: "b"}, 1}, {kafka.TopicPartition{Topic: "b"}, 1}} {
		o := s.groups.create(string(rune('g' + i))).offsets.place(c.tp)
		o.set, o.topic = true, kafka.TopicID{c.id}
	}
	want := []Topic{{Name: "a"}, {"b", kafka.TopicID{1}}, {"b", kafka.TopicID{2}}}
	if got := s.Topics(); !slices.Equal(got, want) {
		t.Errorf("topics %v", got)
	}
}

// Something looks for what has expired exactly while there are groups.
func TestScanIsSetWhileThereAreGroups(t *testing.T) {
	s := New(Defaults())
	d := &s.groups
	g := d.create("g")
	if d.scan.pos == 0 {
		t.Error("a first group has nobody look for what expires")
	}
	d.forget(g)
	s.desk.timers.run(kafka.Never - 1)
	if d.scan.pos != 0 {
		t.Error("the scan goes on without groups")
	}
}

// A group that is on its way out, or of another kind, is not shown.
func TestShown(t *testing.T) {
	s := New(Defaults())
	d := &s.groups
	dead := d.create("dead")
	dead.state = Dead
	d.create("both")
	d.note("both", Share, true)
	here := d.create("here")
	for id, want := range map[string]*classic{"dead": nil, "both": nil, "here": here, "none": nil} {
		if got := d.shown(id); got != want {
			t.Errorf("%s is shown as %v", id, got)
		}
	}
	d.note("both", Share, false)
	if d.shown("both") == nil {
		t.Error("a group of the other kind is gone, and still hides this one")
	}
}
