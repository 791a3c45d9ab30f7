package group

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
)

// A member id is the instance id or the client id, and a random UUID, version 4.
func TestMemberID(t *testing.T) {
	b := newBench(t)
	form := regexp.MustCompile(`^app-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 100 {
		id := newMemberID(b.shard.desk.rng, "app", "")
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%q is no new member id", id)
		}
		seen[id] = true
	}
	if id := newMemberID(b.shard.desk.rng, "app", "pod-1"); id[:6] != "pod-1-" {
		t.Errorf("the id of a static member is %q", id)
	}
}

func subscription(topics ...string) []byte {
	b := []byte{0, 1, 0, 0, 0, byte(len(topics))}
	for _, t := range topics {
		b = append(append(b, 0, byte(len(t))), t...)
	}
	return append(b, 0xff, 0xff, 0xff, 0xff) // no user data
}

// Only a well-formed subscription tells what a consumer reads.
func TestSubscribedTopics(t *testing.T) {
	f := func(metadata []byte, want ...string) {
		t.Helper()
		got := map[string]struct{}{}
		if ok := subscribedTopics(metadata, got); ok != (want != nil) {
			t.Fatalf("%x is a subscription: %v", metadata, ok)
		}
		for _, w := range want {
			if _, ok := got[w]; !ok {
				t.Errorf("%x: %s is missing", metadata, w)
			}
		}
	}
	f(subscription("a", "bc"), "a", "bc")
	f(subscription(), []string{}...)
	f(nil)
	f([]byte("x"))
	f(subscription("abc")[:9])                    // cut in a name
	f([]byte{0xff, 0xff, 0, 0, 0, 0})             // a negative version
	f([]byte{0, 1, 0x7f, 0xff, 0xff, 0xff, 0, 0}) // more topics than bytes
}

func FuzzSubscribedTopics(f *testing.F) {
	f.Add(subscription("a", "bc"))
	f.Add([]byte{0, 1, 0, 0, 0, 2, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := map[string]struct{}{}
		subscribedTopics(b, got)
		for topic := range got {
			if len(topic) > len(b) {
				t.Fatalf("topic of %d bytes out of %d", len(topic), len(b))
			}
		}
	})
}

// ask steps a request and wants it answered at once.
func (b *bench) ask(r Request, want kerr.Code) {
	b.t.Helper()
	n := len(b.answered)
	b.step(r)
	if len(b.answered) == n || b.answered[len(b.answered)-1] != r {
		b.t.Fatalf("%T was not answered", r)
	}
	if got := CallOf(r).Err; got != want {
		b.t.Fatalf("%T: %v, want %v", r, got, want)
	}
}

// offset gives what a fetch shows.
func (b *bench) offset(group, topic string) kafka.Offset {
	f := &FetchOffsets{Call: Call{Group: group}, Offsets: []FetchOffset{{TopicPartition: kafka.TopicPartition{Topic: topic}}}}
	b.ask(f, kerr.None)
	return f.Offsets[0].Offset
}

func commit(group string, m Member, topics ...string) *CommitOffsets {
	c := &CommitOffsets{Call: Call{Group: group}, Member: m, UnknownGroup: kerr.GroupIdNotFound, Retention: -1}
	for _, t := range topics {
		c.Offsets = append(c.Offsets, CommitOffset{TopicPartition: kafka.TopicPartition{Topic: t}, Offset: 1, LeaderEpoch: -1})
	}
	return c
}

var outside = Member{Generation: -1}

// stable makes a group of one member of the given type, with a session of half
// an hour.
func (b *bench) stable(group, protocolType string, metadata []byte) Member {
	j := &Join{
		Call: Call{Group: group}, SessionTimeout: 30 * time.Minute, RebalanceTimeout: time.Minute, ProtocolType: protocolType,
		Protocols: []Protocol{{Name: "p", Metadata: metadata}},
	}
	b.step(j)
	b.advance(3 * time.Second)
	m := Member{MemberID: j.Reply.MemberID, Generation: j.Reply.Generation}
	b.ask(&Sync{Call: Call{Group: group}, Member: m, Assignments: []Assignment{{MemberID: m.MemberID, Bytes: []byte("A")}}}, kerr.None)
	return m
}

// pass lets d pass while the member's heart beats.
func (b *bench) pass(group string, m Member, d time.Duration) {
	for ; d > 0; d -= 20 * time.Minute {
		b.advance(min(d, 20*time.Minute))
		b.ask(&Heartbeat{Call: Call{Group: group}, Member: m}, kerr.None)
	}
}

const week = 7 * 24 * time.Hour

// A simple consumer's offset expires a retention after its commit, and its
// group with the last one.
func TestExpirySimple(t *testing.T) {
	b := newBench(t)
	b.ask(commit("g", outside, "t"), kerr.None)
	b.advance(week - time.Hour)
	b.ask(commit("g", outside, "u"), kerr.None)
	b.advance(2 * time.Hour)
	if b.offset("g", "t") != -1 || b.offset("g", "u") != 1 {
		t.Errorf("offsets are %d and %d, want the older one gone", b.offset("g", "t"), b.offset("g", "u"))
	}
	b.advance(week)
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.GroupIdNotFound)
}

// Offsets of a group without members expire a retention after it became empty,
// however old their commit is.
func TestExpiryEmptyGroup(t *testing.T) {
	b := newBench(t)
	m := b.stable("g", "consumer", subscription("t"))
	b.ask(commit("g", m, "t"), kerr.None)
	b.pass("g", m, 8*24*time.Hour)
	if b.offset("g", "t") != 1 {
		t.Fatal("the offset of a subscribed topic expired")
	}
	b.ask(&Leave{Call: Call{Group: "g"}, Members: []LeavingMember{{MemberID: m.MemberID}}}, kerr.None)
	b.advance(week - time.Hour)
	b.reload() // the time is in the record
	b.advance(30 * time.Minute)
	if b.offset("g", "t") != 1 {
		t.Fatal("the offset expired before the retention was over")
	}
	b.advance(time.Hour)
	if b.offset("g", "t") != -1 {
		t.Fatal("the offset is still there")
	}
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.GroupIdNotFound)
	b.reload()
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.GroupIdNotFound)
}

// While a consumer group is stable, offsets of topics that nobody in it reads
// expire; those of a group of another type never do.
func TestExpiryUnsubscribed(t *testing.T) {
	b := newBench(t)
	m := b.stable("g", "consumer", subscription("t"))
	x := b.stable("x", "connect", subscription("t"))
	b.ask(commit("g", m, "t", "old"), kerr.None)
	b.ask(commit("x", x, "t", "old"), kerr.None)
	for range 8 * 24 * 3 {
		b.advance(20 * time.Minute)
		b.ask(&Heartbeat{Call: Call{Group: "g"}, Member: m}, kerr.None)
		b.ask(&Heartbeat{Call: Call{Group: "x"}, Member: x}, kerr.None)
	}
	for _, c := range []struct {
		group, topic string
		want         kafka.Offset
	}{{"g", "t", 1}, {"g", "old", -1}, {"x", "t", 1}, {"x", "old", 1}} {
		if got := b.offset(c.group, c.topic); got != c.want {
			t.Errorf("%s has offset %d for %s, want %d", c.group, got, c.topic, c.want)
		}
	}
}

// An expiry that the client asked for goes before the retention, and is kept in
// version 1 of the record.
func TestExpiryAskedFor(t *testing.T) {
	b := newBench(t)
	c := commit("g", outside, "t")
	c.Retention = time.Hour
	b.ask(c, kerr.None)
	if got := b.log[0].value[1]; got != 1 {
		t.Errorf("the record has version %d, want 1", got)
	}
	b.reload()
	b.advance(59 * time.Minute)
	if b.offset("g", "t") != 1 {
		t.Error("it expired too early")
	}
	b.advance(12 * time.Minute)
	if b.offset("g", "t") != -1 {
		t.Error("it is still there")
	}
}

// A group that never wrote anything goes without a tombstone.
func TestExpiryOfNothing(t *testing.T) {
	b := newBench(t)
	b.ask(&Join{Call: Call{Group: "g"}, SessionTimeout: 10 * time.Second, ProtocolType: "consumer", Protocols: []Protocol{{Name: "p"}}, NeedsID: true}, kerr.MemberIdRequired)
	b.advance(20 * time.Minute)
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.GroupIdNotFound)
	if len(b.log) != 0 || b.deadline != kafka.Never {
		t.Errorf("%d records, deadline %d: want nothing left", len(b.log), b.deadline)
	}
}

// Metadata is measured in UTF-16 units; what is too long fails alone.
func TestOffsetMetadataTooLarge(t *testing.T) {
	b := newBench(t)
	b.cfg.OffsetMetadataMax = 4
	b.reload()
	c := commit("g", outside, "a", "b", "c")
	c.Offsets[0].Metadata, c.Offsets[1].Metadata, c.Offsets[2].Metadata = "ääää", "\U0001f600\U0001f600x", "abcde"
	b.ask(c, kerr.None)
	for i, want := range []kerr.Code{kerr.None, kerr.OffsetMetadataTooLarge, kerr.OffsetMetadataTooLarge} {
		if c.Offsets[i].Err != want {
			t.Errorf("metadata %q: %v, want %v", c.Offsets[i].Metadata, c.Offsets[i].Err, want)
		}
	}
	if b.offset("g", "a") != 1 || b.offset("g", "b") != -1 {
		t.Error("exactly the first one should be committed")
	}
}

// Topics that a member reads keep their offsets; a group of a type that cannot
// be read has to be empty.
func TestDeleteOffsets(t *testing.T) {
	b := newBench(t)
	m := b.stable("g", "consumer", subscription("t"))
	b.ask(commit("g", m, "t", "u"), kerr.None)
	d := &DeleteOffsets{Call: Call{Group: "g"}, Offsets: []DeleteOffset{
		{TopicPartition: kafka.TopicPartition{Topic: "t"}}, {TopicPartition: kafka.TopicPartition{Topic: "u"}},
	}}
	b.ask(d, kerr.None)
	if d.Offsets[0].Err != kerr.GroupSubscribedToTopic || d.Offsets[1].Err != kerr.None || b.offset("g", "u") != -1 {
		t.Errorf("%v", d.Offsets)
	}
	b.stable("x", "connect", nil)
	b.ask(&DeleteOffsets{Call: Call{Group: "x"}, Offsets: d.Offsets}, kerr.NonEmptyGroup)
}

// A group with more offsets than fit into one unit is deleted in several, and
// is answered after the last.
func TestDeleteLargeGroup(t *testing.T) {
	b := newBench(t)
	c := commit("g", outside)
	for i := range 2*maxTombstones + 1 {
		c.Offsets = append(c.Offsets, CommitOffset{TopicPartition: kafka.TopicPartition{Topic: "t", Partition: kafka.PartitionID(i)}})
	}
	b.ask(c, kerr.None)
	before := b.last
	b.ask(&Delete{Call{Group: "g"}}, kerr.None)
	if b.last != before+3 {
		t.Errorf("%d units, want 3", b.last-before)
	}
	b.reload()
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.GroupIdNotFound)
}

// A group that is being deleted refuses with a code that clients retry, and is
// back when its tombstones are lost.
func TestDeadGroup(t *testing.T) {
	b := newBench(t)
	b.ask(commit("g", outside, "t"), kerr.None)
	b.holding = true
	del := &Delete{Call{Group: "g"}}
	b.step(del)
	b.ask(commit("g", outside, "t"), kerr.CoordinatorNotAvailable)
	b.ask(&Join{Call: Call{Group: "g"}, SessionTimeout: 10 * time.Second, ProtocolType: "consumer", Protocols: []Protocol{{Name: "p"}}}, kerr.CoordinatorNotAvailable)
	b.ask(&Delete{Call{Group: "g"}}, kerr.GroupIdNotFound)
	b.fail(kerr.NotEnoughReplicas)
	if del.Err != kerr.CoordinatorNotAvailable {
		t.Errorf("delete: %v", del.Err)
	}
	b.holding = false
	if b.offset("g", "t") != 1 {
		t.Error("the offset is gone although its tombstone is lost")
	}
	b.ask(commit("g", outside, "t"), kerr.None)
}

// Errors of the append are told in words that clients of groups know.
func TestAppendError(t *testing.T) {
	f := func(from error, want kerr.Code) {
		t.Helper()
		if got := appendError(from); got != want {
			t.Errorf("%v becomes %v, want %v", from, got, want)
		}
	}
	f(kerr.UnknownTopicOrPartition, kerr.CoordinatorNotAvailable)
	f(kerr.NotEnoughReplicas, kerr.CoordinatorNotAvailable)
	f(kerr.NotEnoughReplicasAfterAppend, kerr.CoordinatorNotAvailable)
	f(kerr.RequestTimedOut, kerr.CoordinatorNotAvailable)
	f(kerr.NotLeaderOrFollower, kerr.NotCoordinator)
	f(kerr.KafkaStorageError, kerr.NotCoordinator)
	f(kerr.MessageTooLarge, kerr.UnknownServerError)
	f(kerr.RecordListTooLarge, kerr.UnknownServerError)
	f(kerr.InvalidFetchSize, kerr.UnknownServerError)
	f(kerr.Errorf(kerr.NotEnoughReplicas, "1 of 2"), kerr.CoordinatorNotAvailable)
	f(kerr.FencedLeaderEpoch, kerr.FencedLeaderEpoch)
	f(fmt.Errorf("disk"), kerr.UnknownServerError)
}

// A loaded group that is larger than group.max.size has to rebalance.
func TestLoadedGroupOverCapacity(t *testing.T) {
	b := newBench(t)
	m := b.stable("g", "consumer", nil)
	b.step(&Join{Call: Call{Group: "g"}, SessionTimeout: time.Minute, RebalanceTimeout: time.Minute, ProtocolType: "consumer", Protocols: []Protocol{{Name: "p"}}})
	b.step(&Join{Call: Call{Group: "g"}, MemberID: m.MemberID, SessionTimeout: time.Minute, RebalanceTimeout: time.Minute, ProtocolType: "consumer", Protocols: []Protocol{{Name: "p"}}})
	m.Generation = 2
	b.ask(&Sync{Call: Call{Group: "g"}, Member: m}, kerr.None)
	b.cfg.MaxSize = 1
	b.reload()
	b.ask(&Heartbeat{Call: Call{Group: "g"}, Member: m}, kerr.RebalanceInProgress)
}

// Offsets of a transaction count when its marker comes; until then a stable
// fetch is told to wait.
func TestReplayTransactions(t *testing.T) {
	key, _ := metarec.AppendCoordinatorKey(nil, &metarec.OffsetCommitKey{Group: "g", Topic: "t"})
	value := func(offset int64) []byte {
		v, _ := metarec.AppendCoordinatorValue(nil, &metarec.OffsetCommitValue{Offset: offset, ExpireTimestamp: -1}, 3)
		return v
	}
	b := newBench(t)
	replay := func(producer kafka.ProducerID, offset int64) {
		t.Helper()
		if err := b.shard.Replay(producer, key, value(offset)); err != nil {
			t.Fatal(err)
		}
	}
	stable := func() kerr.Code {
		f := &FetchOffsets{Call: Call{Group: "g"}, All: true, Stable: true}
		b.ask(f, kerr.None)
		return f.Offsets[0].Err
	}
	replay(kafka.NoProducer, 1)
	replay(7, 2)
	replay(8, 3)
	if b.offset("g", "t") != 1 || stable() != kerr.UnstableOffsetCommit {
		t.Error("an open transaction shows")
	}
	b.shard.ReplayMarker(8, false)
	if b.offset("g", "t") != 1 || stable() != kerr.UnstableOffsetCommit {
		t.Error("an aborted transaction shows")
	}
	b.shard.ReplayMarker(7, true)
	if b.offset("g", "t") != 2 || stable() != kerr.None {
		t.Error("a committed transaction does not show")
	}
}

// The id of a group of another kind is not given to a classic one: Kafka could
// not load such a log.
func TestForeignGroups(t *testing.T) {
	b := newBench(t)
	key, _ := metarec.AppendCoordinatorKey(nil, &metarec.ConsumerGroupMetadataKey{GroupId: "g"})
	value, _ := metarec.AppendCoordinatorValue(nil, &metarec.ConsumerGroupMetadataValue{Epoch: 3}, 0)
	if err := b.shard.Replay(kafka.NoProducer, key, value); err != nil {
		t.Fatal(err)
	}
	b.ask(commit("g", outside, "t"), kerr.None)
	b.ask(&Join{Call: Call{Group: "g"}, SessionTimeout: 10 * time.Second, ProtocolType: "consumer", Protocols: []Protocol{{Name: "p"}}}, kerr.InconsistentGroupProtocol)
	b.ask(&Heartbeat{Call: Call{Group: "g"}}, kerr.UnknownMemberId)
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.GroupIdNotFound)
	b.ask(&Delete{Call{Group: "g"}}, kerr.GroupIdNotFound)
	l := &List{}
	b.ask(l, kerr.None)
	if len(l.Groups) != 1 || l.Groups[0].Type != Consumer {
		t.Errorf("list: %v", l.Groups)
	}
	if err := b.shard.Replay(kafka.NoProducer, key, nil); err != nil {
		t.Fatal(err)
	}
	b.ask(&Describe{Call: Call{Group: "g"}}, kerr.None)
}

// Records of a kind that is not known are left alone (KIP-915).
func TestReplayUnknownType(t *testing.T) {
	b := newBench(t)
	if err := b.shard.Replay(kafka.NoProducer, []byte{0x7f, 0, 1, 2}, []byte{0, 0}); err != nil {
		t.Error(err)
	}
	if err := b.shard.Replay(kafka.NoProducer, []byte{0}, nil); err == nil {
		t.Error("half a type was read")
	}
}

// Strings that would not fit into a record are refused when they come.
func TestLongStrings(t *testing.T) {
	long := string(make([]byte, maxString+1))
	b := newBench(t)
	join := func(change func(*Join)) *Join {
		j := &Join{Call: Call{Group: "g"}, SessionTimeout: 10 * time.Second, ProtocolType: "c", Protocols: []Protocol{{Name: "p"}}}
		change(j)
		return j
	}
	b.ask(join(func(j *Join) { j.Group = long }), kerr.InvalidGroupId)
	b.ask(join(func(j *Join) { j.ClientID = long }), kerr.InvalidRequest)
	b.ask(join(func(j *Join) { j.InstanceID = long }), kerr.InvalidRequest)
	b.ask(join(func(j *Join) { j.ProtocolType = long }), kerr.InvalidRequest)
	b.ask(join(func(j *Join) { j.Protocols[0].Name = long }), kerr.InvalidRequest)
	b.ask(commit(long, outside, "t"), kerr.InvalidGroupId)
	c := commit("g", outside, long, "t")
	c.Offsets[1].Metadata = long
	b.ask(c, kerr.None)
	if c.Offsets[0].Err != kerr.UnknownTopicOrPartition || c.Offsets[1].Err != kerr.OffsetMetadataTooLarge {
		t.Errorf("%v, %v", c.Offsets[0].Err, c.Offsets[1].Err)
	}
}

// Whatever a log holds, it is read or refused, and what was read can be used.
func FuzzReplay(f *testing.F) {
	b := newBench(f)
	m := b.stable("g", "consumer", subscription("t"))
	b.ask(commit("g", m, "t"), kerr.None)
	for _, r := range b.log {
		f.Add(r.key, r.value)
		f.Add(r.key, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		b := newBench(t)
		if b.shard.Replay(kafka.NoProducer, key, value) != nil {
			return
		}
		b.step(Loaded{})
		b.advance(week)
		b.step(&List{})
		for _, id := range b.shard.groups.ids() {
			b.step(&Describe{Call: Call{Group: id}})
			b.step(&Delete{Call{Group: id}})
		}
	})
}
