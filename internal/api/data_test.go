package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

func (r *dataRig) listed(time int64, version int16, topic string, partitions ...int32) []kmsg.ListOffsetsResponseTopicPartition {
	r.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	in := kmsg.NewListOffsetsRequestTopic()
	in.Topic = topic
	for _, n := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = n, time
		in.Partitions = append(in.Partitions, p)
	}
	req.Topics = append(req.Topics, in)
	route := route(1, 11, listOffsets{r.Manager}.serve)
	return readBack(r.t, do[*kmsg.ListOffsetsResponse](r, route, req, version)).Topics[0].Partitions
}

// Special timestamps are known from a version on; what is older or unknown is
// UNSUPPORTED_VERSION, nothing found is -1 without an error.
func TestListOffsets(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	w := batch.NewBuilder(batch.Options{})
	for _, ts := range []int64{2, 4, 6, 8} {
		w.Add(ts, nil, nil)
	}
	r.append("t", 0, w.Build(nil))
	f := func(time int64, version int16, want string) {
		t.Helper()
		got := r.listed(time, version, "t", 0)[0]
		if s := fmt.Sprintf("%v %d %d", kerr.Code(got.ErrorCode), got.Offset, got.Timestamp); s != want {
			t.Errorf("time %d version %d: %s, want %s", time, version, s, want)
		}
	}
	for v := int16(1); v <= 11; v++ {
		f(5, v, "NONE 2 6")
		f(9, v, "NONE -1 -1")
		f(-1, v, "NONE 4 -1")
		f(-2, v, "NONE 0 -1")
		f(-7, v, "UNSUPPORTED_VERSION -1 -1")
	}
	f(-3, 6, "UNSUPPORTED_VERSION -1 -1")
	f(-3, 7, "NONE 3 8")
	f(-4, 7, "UNSUPPORTED_VERSION -1 -1")
	f(-4, 8, "NONE 0 -1")
	f(-5, 8, "UNSUPPORTED_VERSION -1 -1")
	f(-5, 9, "NONE -1 -1")
	f(-6, 10, "UNSUPPORTED_VERSION -1 -1")
	f(-6, 11, "NONE 0 -1")
	for _, p := range r.listed(-1, 11, "t", 0, 0) {
		codeIs(t, "a partition named twice", p.ErrorCode, kerr.InvalidRequest)
	}
	codeIs(t, "unknown", r.listed(-1, 11, "u", 0)[0].ErrorCode, kerr.UnknownTopicOrPartition)
}

func TestListOffsetsNamesTheEpoch(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{}, "a"))
	if got := r.listed(1, 4, "t", 0)[0]; got.LeaderEpoch != 0 || got.Offset != 0 {
		t.Errorf("%+v", got)
	}
	if got := r.listed(5000, 4, "t", 0)[0]; got.LeaderEpoch != -1 {
		t.Errorf("nothing found: %+v", got)
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{}, "a", "b"))
	f := func(topic string, current, asked int32, want string) {
		t.Helper()
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		in := kmsg.NewOffsetForLeaderEpochRequestTopic()
		in.Topic = topic
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = current, asked
		in.Partitions = append(in.Partitions, p)
		req.Topics = append(req.Topics, in)
		for v := int16(2); v <= 4; v++ {
			route := route(2, 4, offsetForLeaderEpoch{r.Manager}.serve)
			got := readBack(t, do[*kmsg.OffsetForLeaderEpochResponse](r, route, req, v)).Topics[0].Partitions[0]
			if s := fmt.Sprintf("%v %d %d", kerr.Code(got.ErrorCode), got.LeaderEpoch, got.EndOffset); s != want {
				t.Errorf("version %d, epoch %d in %d: %s, want %s", v, asked, current, s, want)
			}
		}
	}
	f("t", -1, 0, "NONE 0 2")
	f("t", -1, 1, "NONE -1 -1")
	f("t", 1, 0, "UNKNOWN_LEADER_EPOCH -1 -1")
	f("u", -1, 0, "UNKNOWN_TOPIC_OR_PARTITION -1 -1")
}

func (r *dataRig) deleted(topic string, offset int64, timeoutMillis int32) kmsg.DeleteRecordsResponseTopicPartition {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = timeoutMillis
	in := kmsg.NewDeleteRecordsRequestTopic()
	in.Topic = topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = offset
	in.Partitions = append(in.Partitions, p)
	req.Topics = append(req.Topics, in)
	route := later(0, 2, deleteRecords{r.Manager, r.Timers}.serve)
	return readBack(r.t, do[*kmsg.DeleteRecordsResponse](r, route, req, 2)).Topics[0].Partitions[0]
}

func TestDeleteRecords(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	r.Topic("compacted", 1, "cleanup.policy", "compact")
	r.Topic(kafka.ConsumerOffsetsTopic, 1)
	r.append("t", 0, lines(batch.Options{}, "a", "b", "c"))
	f := func(topic string, offset int64, want kerr.Code, low int64) {
		t.Helper()
		got := r.deleted(topic, offset, 10_000)
		codeIs(t, fmt.Sprintf("%s before %d", topic, offset), got.ErrorCode, want)
		if got.LowWatermark != low {
			t.Errorf("%s before %d: low watermark %d", topic, offset, got.LowWatermark)
		}
	}
	f("t", 4, kerr.OffsetOutOfRange, -1)
	f("t", 2, kerr.None, 2)
	f("t", -1, kerr.None, 3)
	f("u", 0, kerr.UnknownTopicOrPartition, -1)
	f("compacted", 0, kerr.PolicyViolation, -1)
	f(kafka.ConsumerOffsetsTopic, 0, kerr.InvalidTopicException, -1)
}

// The answer waits until the followers have deleted too.
func TestDeleteRecordsWaitsForFollowers(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	part := testbed.Partition(id, 0, testbed.Self, testbed.Other)
	part.Isr = []int32{int32(testbed.Self)}
	r.Apply(part)
	r.Publish()
	r.append("t", 0, lines(batch.Options{}, "a", "b", "c"))
	codeIs(t, "no follower has told its start", r.deleted("t", 1, 1).ErrorCode, kerr.RequestTimedOut)
}

func TestDescribeLogDirs(t *testing.T) {
	r := newDataRig(t)
	r.Topic("b", 2)
	r.Topic("a", 1)
	r.append("a", 0, lines(batch.Options{}, "value"))
	dirs := dirList{
		{Path: "/data/disk0", ID: testbed.DirID(0), Total: 100, Usable: 40},
		{Path: "/data/lost", ID: testbed.DirID(9), Offline: true, Total: 100, Usable: 40, Why: "it is broken"},
	}
	route := route(1, 5, describeLogDirs{r.Manager, dirs}.serve)
	describe := func(req *kmsg.DescribeLogDirsRequest, version int16) *kmsg.DescribeLogDirsResponse {
		return readBack(t, do[*kmsg.DescribeLogDirsResponse](r, route, req, version))
	}
	for v := int16(1); v <= 5; v++ {
		got := describe(kmsg.NewPtrDescribeLogDirsRequest(), v).Dirs
		if len(got) != 2 || got[0].Dir != "/data/disk0" || got[0].ErrorCode != 0 || len(got[0].Topics) != 2 {
			t.Fatalf("version %d: %+v", v, got)
		}
		if p := got[0].Topics[0].Partitions[0]; got[0].Topics[0].Topic != "a" || p.Size == 0 || p.OffsetLag != 0 || p.IsFuture {
			t.Errorf("version %d: %+v", v, got[0].Topics[0])
		}
		if v >= 4 && (got[0].TotalBytes != 100 || got[0].UsableBytes != 40 || got[1].TotalBytes != -1) {
			t.Errorf("version %d: %+v", v, got)
		}
		codeIs(t, "offline", got[1].ErrorCode, kerr.KafkaStorageError)
		tags := map[uint32]string{}
		got[1].UnknownTags.Each(func(tag uint32, value []byte) { tags[tag] = string(value) })
		id := testbed.DirID(9)
		if v >= 2 && (tags[DirIDTag] != string(id[:]) || tags[DirWhyTag] != "it is broken" || len(tags) != 2) {
			t.Errorf("version %d: %v", v, tags)
		}
	}
	one := kmsg.NewPtrDescribeLogDirsRequest()
	one.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "b", Partitions: []int32{1, 7}}, {Topic: "gone", Partitions: []int32{0}}}
	if got := describe(one, 4).Dirs[0].Topics; len(got) != 1 || len(got[0].Partitions) != 1 || got[0].Partitions[0].Partition != 1 {
		t.Errorf("%+v", got)
	}
}

type dirList []DirState

func (d dirList) DirStates() []DirState { return d }

func TestDescribeProducers(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{Producer: &batch.Producer{ID: 5, Epoch: 2, Sequence: 0}}, "a", "b"))
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0, 3}}}
	got := readBack(t, do[*kmsg.DescribeProducersResponse](r, route(0, 0, describeProducers{r.Manager}.serve), req, 0)).Topics[0].Partitions
	if len(got[0].ActiveProducers) != 1 {
		t.Fatalf("%+v", got)
	}
	if p := got[0].ActiveProducers[0]; p.ProducerID != 5 || p.ProducerEpoch != 2 || p.LastSequence != 1 || p.CurrentTxnStartOffset != -1 || p.CoordinatorEpoch != -1 {
		t.Errorf("%+v", p)
	}
	codeIs(t, "unknown partition", got[1].ErrorCode, kerr.UnknownTopicOrPartition)
}

// blocks hands out blocks of two ids, as often as it is told to.
type blocks struct {
	mu    sync.Mutex
	left  int
	asked int
	gate  chan struct{} // an allocation waits for it, if set
}

func (b *blocks) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if b.gate != nil {
		<-b.gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.left == 0 {
		return nil, errors.New("no controller")
	}
	b.left--
	resp := kmsg.NewPtrAllocateProducerIDsResponse()
	resp.ProducerIDStart, resp.ProducerIDLen = int64(1000*b.asked), 2
	return resp, nil
}

func TestProducerIDsComeInBlocks(t *testing.T) {
	source := &blocks{left: 2}
	ids := NewProducerIDs(source, 1, func() kafka.BrokerEpoch { return 7 })
	defer ids.Close()
	f := func(want kafka.ProducerID, code kerr.Code) {
		t.Helper()
		done := make(chan struct{})
		ids.next(func(id kafka.ProducerID, err error) {
			if id != want || kerr.Of(err) != code {
				t.Errorf("%d, %v; want %d, %v", id, err, want, code)
			}
			close(done)
		})
		<-done
	}
	f(1000, kerr.None)
	f(1001, kerr.None)
	f(2000, kerr.None)
	f(2001, kerr.None)
	f(-1, kerr.CoordinatorLoadInProgress)
	source.mu.Lock()
	source.left = 1
	source.mu.Unlock()
	f(4000, kerr.None)
}

// Whoever asks while a block is on its way waits for it; nobody gets an id twice.
func TestProducerIDsAreDistinct(t *testing.T) {
	source := &blocks{left: 1000, gate: make(chan struct{})}
	ids := NewProducerIDs(source, 1, func() kafka.BrokerEpoch { return 7 })
	defer ids.Close()
	var mu sync.Mutex
	seen := map[kafka.ProducerID]bool{}
	var all sync.WaitGroup
	for range 100 {
		all.Add(1)
		ids.next(func(id kafka.ProducerID, err error) {
			defer all.Done()
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[id] {
				t.Errorf("id %d, %v", id, err)
			}
			seen[id] = true
		})
	}
	close(source.gate)
	all.Wait()
	if source.asked != 50 {
		t.Errorf("%d blocks for 100 ids", source.asked)
	}
}

func TestInitProducerID(t *testing.T) {
	r := newDataRig(t)
	ids := NewProducerIDs(&blocks{left: 9}, 1, func() kafka.BrokerEpoch { return 7 })
	defer ids.Close()
	route := later(0, 5, initProducerID{ids}.serve)
	ask := func(version int16, txn *string, id int64, epoch int16, want kerr.Code) {
		t.Helper()
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = txn, id, epoch
		got := readBack(t, do[*kmsg.InitProducerIDResponse](r, route, req, version))
		codeIs(t, fmt.Sprintf("version %d", version), got.ErrorCode, want)
		if ok := got.ProducerID >= 1000 && got.ProducerEpoch == 0; ok != (want == kerr.None) {
			t.Errorf("version %d: %+v", version, got)
		}
	}
	f := func(version int16, txn *string, want kerr.Code) {
		t.Helper()
		ask(version, txn, 5, 3, want)
	}
	for v := int16(3); v <= 5; v++ {
		ask(v, nil, -1, -1, kerr.None)
		ask(v, nil, 5, -1, kerr.InvalidRequest) // half of what a producer had
		ask(v, nil, -1, 3, kerr.InvalidRequest)
	}
	for v := int16(0); v <= 5; v++ {
		f(v, nil, kerr.None)
		f(v, ptr("txn"), kerr.UnsupportedVersion)
		f(v, ptr(""), kerr.InvalidRequest)
	}
}
