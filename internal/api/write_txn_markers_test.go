package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// ender is a group coordinator that is told of the ends of transactions.
type ender struct {
	told []string
	err  kerr.Code
}

func (e *ender) EndTransaction(p kafka.PartitionID, r *group.EndTransaction, done func()) {
	e.told = append(e.told, fmt.Sprintf("%d: %d.%d coordinator=%d version=%d commit=%v", p, r.Producer, r.Epoch, r.Coordinator, r.Version, r.Commit))
	r.Err = e.err
	done()
}

func (r *dataRig) markers(e *ender, limit time.Duration) Route {
	return later(1, 2, writeTxnMarkers{r.Manager, r.Timers, e, limit}.serve)
}

// mark is a marker of producer 7 in partitions of topic t.
func mark(epoch int16, commit bool, coordinator int32, partitions ...int32) kmsg.WriteTxnMarkersRequestMarker {
	return kmsg.WriteTxnMarkersRequestMarker{
		ProducerID: 7, ProducerEpoch: epoch, Committed: commit, CoordinatorEpoch: coordinator,
		Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: partitions}},
	}
}

func markersOf(list ...kmsg.WriteTxnMarkersRequestMarker) *kmsg.WriteTxnMarkersRequest {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Markers = list
	return req
}

// said is an answer in one line: "7 t 0=0 1=3; 8 t 0=0".
func said(t *testing.T, resp *kmsg.WriteTxnMarkersResponse) string {
	t.Helper()
	out := ""
	for i, m := range readBack(t, resp).Markers {
		if i > 0 {
			out += "; "
		}
		out += fmt.Sprint(m.ProducerID)
		for _, topic := range m.Topics {
			out += " " + topic.Topic
			for _, p := range topic.Partitions {
				out += fmt.Sprintf(" %d=%d", p.Partition, p.ErrorCode)
			}
		}
	}
	return out
}

// A transaction is written in two partitions, committed in one request and its
// records read; then another one is aborted.
func TestMarkersEndTransactions(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 2)
	e := &ender{}
	for _, version := range []int16{1, 2} {
		epoch := int16(version)
		r.codes(nil, inTransaction(id, epoch, 0, 0, 1), 9)
		got := do[*kmsg.WriteTxnMarkersResponse](r, r.markers(e, time.Minute), markersOf(mark(epoch, version == 1, 3, 0, 1)), version)
		if s := said(t, got); s != "7 t 0=0 1=0" {
			t.Errorf("version %d: %s", version, s)
		}
	}
	req := fetchRequest(from("t", id, 0, 0))
	req.IsolationLevel = 1
	p := r.fetched(req, 12).Topics[0].Partitions[0]
	if p.LastStableOffset != 4 || len(p.AbortedTransactions) != 1 || p.AbortedTransactions[0].FirstOffset != 2 {
		t.Errorf("last stable offset %d, aborted %+v", p.LastStableOffset, p.AbortedTransactions)
	}
}

// Errors are those of partitions, which do not disturb each other. A producer has
// one entry in the answer.
func TestMarkersAreRefusedOneByOne(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 2)
	e := &ender{}
	r.codes(nil, inTransaction(id, 5, 0, 0), 9)
	f := func(what, want string, version int16, list ...kmsg.WriteTxnMarkersRequestMarker) {
		t.Helper()
		got := do[*kmsg.WriteTxnMarkersResponse](r, r.markers(e, time.Minute), markersOf(list...), version)
		if s := said(t, got); s != want {
			t.Errorf("%s: %s, want %s", what, s, want)
		}
	}
	f("old epoch, and a partition that is not there", "7 t 0=47 1=0 9=3", 1, mark(4, true, 0, 0, 1, 9))
	f("the end", "7 t 0=0", 1, mark(5, true, 6, 0))
	f("old coordinator", "7 t 0=52", 1, mark(5, true, 5, 0))
	f("two markers of a producer", "7 t 0=0 1=0", 1, mark(5, true, 6, 0), mark(6, true, 6, 1))
	second := mark(6, true, 6, 1)
	second.TransactionVersion = 2
	f("once more, nothing began since", "7 t 1=0", 2, second)
	r.codes(nil, inTransaction(id, 6, 0, 1), 9)
	f("that of the transaction before", "7 t 1=47", 2, second)
	if len(e.told) > 0 {
		t.Errorf("the group coordinator was told %q", e.told)
	}
}

func TestMarkersOfOffsetsGoThroughTheirCoordinator(t *testing.T) {
	r := newDataRig(t)
	r.Topic(kafka.ConsumerOffsetsTopic, 2)
	r.Topic("t", 1)
	m := mark(1, true, 3, 0)
	m.TransactionVersion = 2
	m.Topics = append(m.Topics, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: kafka.ConsumerOffsetsTopic, Partitions: []int32{1}})
	f := func(answer, want kerr.Code) {
		t.Helper()
		e := &ender{err: answer}
		got := do[*kmsg.WriteTxnMarkersResponse](r, r.markers(e, time.Minute), markersOf(m), 2)
		if s := said(t, got); s != fmt.Sprintf("7 t 0=0 __consumer_offsets 1=%d", want) {
			t.Errorf("%v: %s", answer, s)
		}
		if fmt.Sprint(e.told) != "[1: 7.1 coordinator=3 version=2 commit=true]" {
			t.Errorf("told %q", e.told)
		}
	}
	f(kerr.None, kerr.None)
	f(kerr.InvalidProducerEpoch, kerr.InvalidProducerEpoch)
	// Transaction coordinators know the words of leaders only.
	f(kerr.NotCoordinator, kerr.NotLeaderOrFollower)
	f(kerr.CoordinatorLoadInProgress, kerr.NotLeaderOrFollower)
	f(kerr.CoordinatorNotAvailable, kerr.NotLeaderOrFollower)
}

// A marker is answered when all in-sync replicas have it, or when the time is up.
func TestMarkersWaitForFollowers(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	r.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	r.Publish()
	replies := r.begin(r.markers(nil, time.Minute), markersOf(mark(0, true, 0, 0)), 1)
	if len(replies) > 0 {
		t.Fatal("answered without the follower")
	}
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: kafka.NoBrokerEpoch}
	if _, err := r.Find("t", 0).Read(follower, partitions.Want{CurrentEpoch: kafka.NoEpoch, LastEpoch: kafka.NoEpoch, Offset: 1}); err != nil {
		t.Fatal(err)
	}
	m, _ := (<-replies).Message()
	m.SetVersion(1)
	if s := said(t, m.(*kmsg.WriteTxnMarkersResponse)); s != "7 t 0=0" {
		t.Errorf("the follower has it: %s", s)
	}
	late := do[*kmsg.WriteTxnMarkersResponse](r, r.markers(nil, time.Millisecond), markersOf(mark(0, true, 0, 0)), 1)
	if s := said(t, late); s != fmt.Sprintf("7 t 0=%d", kerr.RequestTimedOut) {
		t.Errorf("nobody has it in time: %s", s)
	}
}
