package group

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// An entry stays while something is known or expected of its partition.
func TestSettle(t *testing.T) {
	f := func(stays bool, change func(*offset)) {
		t.Helper()
		var o offsets
		tp := kafka.TopicPartition{Topic: "t"}
		at := o.place(tp)
		change(at)
		o.settle(tp, at)
		if got := o[tp] == at; got != stays {
			t.Errorf("%+v stays: %v", at, got)
		}
	}
	f(false, func(*offset) {})
	f(true, func(o *offset) { o.set = true })
	f(true, func(o *offset) { o.inflight = 1 })
	f(true, func(o *offset) { o.txns = 1 })
	// Another entry has the place by now.
	var o offsets
	tp := kafka.TopicPartition{Topic: "t"}
	old := o.place(tp)
	delete(o, tp)
	o.place(tp).set = true
	o.settle(tp, old)
	if len(o) != 1 {
		t.Error("the old entry took the new one out")
	}
}

// All lists the committed ones in order, and with stable also what a transaction
// may still set; a read of nothing is no error.
func TestReadAll(t *testing.T) {
	var o offsets
	for _, tp := range []kafka.TopicPartition{{Topic: "b"}, {Topic: "a", Partition: 10}, {Topic: "a", Partition: 2}} {
		at := o.place(tp)
		at.offset, at.set = 7, true
	}
	o.place(kafka.TopicPartition{Topic: "c"}).txns = 1
	o.place(kafka.TopicPartition{Topic: "d"}).inflight = 1
	known := func(string) kafka.TopicID { return kafka.TopicID{} }
	got := o.all(true, known)
	if len(got) != 4 || got[0].Partition != 2 || got[1].Partition != 10 || got[2].Topic != "b" || got[3].Topic != "c" {
		t.Fatalf("%v", got)
	}
	if len(o.all(false, known)) != 3 {
		t.Errorf("%v", o.all(false, known))
	}
	for i := range got {
		o.read(&got[i], true, kafka.TopicID{})
	}
	if got[0].Offset != 7 || got[3].Err != kerr.UnstableOffsetCommit {
		t.Errorf("%v", got)
	}
	none := FetchOffset{Offset: 9}
	offsets(nil).read(&none, true, kafka.TopicID{})
	if none.Offset != kafka.NoOffset || none.Err != kerr.None {
		t.Errorf("%v", none)
	}
}

// An offset is of the topic that has the name now unless both say which topic
// they mean, and mean different ones.
func TestOfTopic(t *testing.T) {
	f := func(committed, now byte, want bool) {
		t.Helper()
		c := committedOffset{topic: kafka.TopicID{committed}}
		if got := c.of(kafka.TopicID{now}); got != want {
			t.Errorf("committed for %d, now %d: %v", committed, now, got)
		}
	}
	f(0, 0, true)
	f(0, 1, true)
	f(1, 0, true)
	f(1, 1, true)
	f(1, 2, false)
}
