package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// told describes the partitions of an answer.
func told(resp *kmsg.FetchResponse) string {
	var list []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			s := fmt.Sprintf("%s%d", t.Topic, p.Partition)
			if p.ErrorCode != 0 {
				s += " " + kerr.Code(p.ErrorCode).String()
			} else {
				s += fmt.Sprintf(" hw=%d", p.HighWatermark)
			}
			if len(p.RecordBatches) > 0 {
				s += " data"
			}
			list = append(list, s)
		}
	}
	return strings.Join(list, ", ")
}

// What we encode by hand is what kmsg reads, and writes again, in every version.
func TestFetchEveryVersion(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 2)
	r.append("t", 0, lines(batch.Options{}, "a"), lines(batch.Options{Codec: batch.Zstd}, "b", "c"))
	for v := int16(4); v <= 18; v++ {
		resp := r.fetched(fetchRequest(from("t", id, 0, 0, 1, 0, 2, 0)), v)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 3 {
			t.Fatalf("version %d: %+v", v, resp)
		}
		got := resp.Topics[0]
		if v < 13 && got.Topic != "t" || v >= 13 && got.TopicID != id {
			t.Errorf("version %d: topic %q %x", v, got.Topic, got.TopicID)
		}
		p := got.Partitions[0]
		if fmt.Sprint(values(t, p.RecordBatches)) != "[a b c]" || p.HighWatermark != 3 || p.LastStableOffset != 3 {
			t.Errorf("version %d: %+v", v, p)
		}
		if v >= 11 && p.PreferredReadReplica != -1 || p.AbortedTransactions != nil {
			t.Errorf("version %d: %+v", v, p)
		}
		codeIs(t, "partition 1", got.Partitions[1].ErrorCode, kerr.None)
		codeIs(t, "partition 2", got.Partitions[2].ErrorCode, kerr.UnknownTopicOrPartition)
	}
}

func TestFetchErrors(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{}, "a"))
	f := func(rule string, topic kmsg.FetchRequestTopic, version int16, want kerr.Code) {
		t.Helper()
		p := r.fetched(fetchRequest(topic), version).Topics[0].Partitions[0]
		codeIs(t, rule, p.ErrorCode, want)
		if want != kerr.None && (p.HighWatermark != -1 || p.LogStartOffset != -1 || len(p.RecordBatches) > 0) {
			t.Errorf("%s: %+v", rule, p)
		}
	}
	f("beyond the end", from("t", id, 0, 2), 12, kerr.OffsetOutOfRange)
	f("before the start", from("t", id, 0, -1), 12, kerr.OffsetOutOfRange)
	f("at the end", from("t", id, 0, 1), 12, kerr.None)
	f("unknown topic", from("u", id, 0, 0), 12, kerr.UnknownTopicOrPartition)
	f("unknown id", from("t", kafka.TopicID{7}, 0, 0), 13, kerr.UnknownTopicId)
	stale := from("t", id, 0, 0)
	stale.Partitions[0].CurrentLeaderEpoch = 1
	f("newer epoch than ours", stale, 12, kerr.UnknownLeaderEpoch)
	f("versions without epochs", stale, 8, kerr.None)
}

// KIP-74: the first partition with data gives a whole batch, however small the
// limits are; what follows obeys them.
func TestFetchLimits(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 3)
	large := lines(batch.Options{}, strings.Repeat("x", 5000))
	for n := 1; n <= 2; n++ {
		r.append("t", n, append([]byte(nil), large...), append([]byte(nil), large...))
	}
	f := func(rule string, maxBytes, partitionMax int32, sizes ...int) {
		t.Helper()
		req := fetchRequest(from("t", id, 0, 0, 1, 0, 2, 0))
		req.MaxBytes = maxBytes
		for i := range req.Topics[0].Partitions {
			req.Topics[0].Partitions[i].PartitionMaxBytes = partitionMax
		}
		var got []int
		for _, p := range r.fetched(req, 12).Topics[0].Partitions {
			got = append(got, len(p.RecordBatches))
		}
		if fmt.Sprint(got) != fmt.Sprint(sizes) {
			t.Errorf("%s: %v, want %v", rule, got, sizes)
		}
	}
	n := len(large)
	f("no limit", 1<<20, 1<<20, 0, 2*n, 2*n)
	f("one byte", 1, 1, 0, n, 0)
	f("zero bytes", 0, 0, 0, n, 0)
	f("limit of a partition", 1<<20, int32(n), 0, n, n)
	f("limit of the request", int32(3*n), 1<<20, 0, 2*n, n)
	f("negative", -5, -5, 0, n, 0)
}

// A parked fetch is answered by the append that brings enough.
func TestFetchWaitsForEnough(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 2)
	one := lines(batch.Options{}, "value")
	req := fetchRequest(from("t", id, 0, 0, 1, 0))
	req.MaxWaitMillis, req.MinBytes = 600_000, int32(2*len(one))
	_, answers := r.startFetch(req, 12)
	r.append("t", 1, append([]byte(nil), one...))
	if len(answers) > 0 {
		t.Fatal("answered before there was enough")
	}
	r.append("t", 0, append([]byte(nil), one...))
	if got := told(<-answers); got != "t0 hw=1 data, t1 hw=1 data" {
		t.Error(got)
	}
}

func TestFetchAnswersWhenTheTimeIsUp(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	one := lines(batch.Options{}, "value")
	r.append("t", 0, one)
	req := fetchRequest(from("t", id, 0, 0))
	req.MaxWaitMillis, req.MinBytes = 1, 1<<20
	if got := told(r.fetched(req, 12)); got != "t0 hw=1 data" {
		t.Errorf("%s: what there is must come, even if it is not enough", got)
	}
}

// A fetch does not sleep through the loss of what it waits for.
func TestFetchIsWokenByElections(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	r.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	r.Publish()
	req := fetchRequest(from("t", id, 0, 0))
	req.MaxWaitMillis = 600_000
	_, answers := r.startFetch(req, 16)
	r.Apply(testbed.Elect(id, 0, testbed.Other))
	r.Publish()
	resp := <-answers
	p := resp.Topics[0].Partitions[0]
	codeIs(t, "no leader any more", p.ErrorCode, kerr.NotLeaderOrFollower)
	if p.CurrentLeader.LeaderID != 2 || p.CurrentLeader.LeaderEpoch != 1 || len(resp.Brokers) != 1 || resp.Brokers[0].Port != 9092 {
		t.Errorf("%+v, brokers %+v", p.CurrentLeader, resp.Brokers)
	}
}

func TestFetchOfADeadConnectionLeavesNothingBehind(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	req := fetchRequest(from("t", id, 0, 0))
	req.MaxWaitMillis = 600_000
	in := r.request(req, 12)
	ctx, cancel := contextOf(in)
	in.Ctx = ctx
	answered := make(chan struct{})
	r.fetch.serve(in, r.swallow(answered))
	cancel()
	<-answered
	if n := r.Timers.Len(); n != 0 {
		t.Errorf("%d deadlines are left", n)
	}
}

// A follower is told of a high watermark that it does not know, at once
// (KIP-1166), and where its log parts from ours (KIP-595).
func TestFetchOfFollowers(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	r.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	r.Publish()
	part := r.Find("t", 0)
	if _, err := part.Append(lines(batch.Options{}, "a"), false); err != nil {
		t.Fatal(err)
	}
	ask := func(offset int, lastEpoch int32, hw int64, wait int32) *kmsg.FetchResponse {
		topic := from("t", id, 0, offset)
		topic.Partitions[0].LastFetchedEpoch, topic.Partitions[0].HighWatermark = lastEpoch, hw
		req := fetchRequest(topic)
		req.MaxWaitMillis, req.ReplicaState.ID, req.ReplicaState.Epoch = wait, int32(testbed.Other), 102
		return r.fetched(req, 18)
	}
	if got := values(t, ask(0, -1, 0, 600_000).Topics[0].Partitions[0].RecordBatches); len(got) != 1 {
		t.Errorf("the follower got %v", got)
	}
	if p := ask(1, 0, 0, 600_000).Topics[0].Partitions[0]; p.HighWatermark != 1 || len(p.RecordBatches) != 0 {
		t.Errorf("%+v", p)
	}
	p := ask(1, 5, 1, 600_000).Topics[0].Partitions[0]
	if p.DivergingEpoch.Epoch != -1 {
		t.Errorf("an epoch nobody knows: %+v", p.DivergingEpoch)
	}
	codeIs(t, "an epoch nobody knows", p.ErrorCode, kerr.OffsetOutOfRange)
	if _, err := part.Read(partitions.Consumer, partitions.Want{CurrentEpoch: -1, LastEpoch: -1}); err != nil {
		t.Error(err)
	}
	stranger := fetchRequest(from("t", id, 0, 0))
	stranger.ReplicaID = 9
	codeIs(t, "no replica", r.fetched(stranger, 12).Topics[0].Partitions[0].ErrorCode, kerr.NotLeaderOrFollower)
}

// Large answers leave as ranges of the log file, small ones as bytes.
func TestFetchBySendfile(t *testing.T) {
	r := newDataRigOn(t, vfs.OS{}, t.TempDir())
	id := r.Topic("t", 1)
	for range 10 {
		r.append("t", 0, lines(batch.Options{}, strings.Repeat("x", 10_000)))
	}
	in := r.request(fetchRequest(from("t", id, 0, 0)), 12)
	r.fetch.serve(in, func(body partsOf, release func()) {
		defer release()
		if len(body) != 3 || body[1].File == nil || body[1].Len < 100_000 {
			t.Errorf("%d parts", len(body))
		}
		resp := r.decode(body, 12)
		if got := values(t, resp.Topics[0].Partitions[0].RecordBatches); len(got) != 10 {
			t.Errorf("%d records", len(got))
		}
	})
	small := fetchRequest(from("t", id, 0, 9))
	r.fetch.serve(r.request(small, 12), func(body partsOf, release func()) {
		defer release()
		if len(body) != 1 {
			t.Errorf("%d parts for one small batch", len(body))
		}
	})
}

// What is being sent survives the deletion of its topic.
func TestFetchPinsWhatItSends(t *testing.T) {
	r := newDataRigOn(t, vfs.OS{}, t.TempDir())
	id := r.Topic("t", 1)
	for range 10 {
		r.append("t", 0, lines(batch.Options{}, strings.Repeat("x", 10_000)))
	}
	r.fetch.serve(r.request(fetchRequest(from("t", id, 0, 0)), 12), func(body partsOf, release func()) {
		defer release()
		r.Apply(&metarec.RemoveTopicRecord{TopicId: id})
		r.Publish()
		if got := values(t, r.decode(body, 12).Topics[0].Partitions[0].RecordBatches); len(got) != 10 {
			t.Errorf("%d records", len(got))
		}
	})
}

func TestFetchReadCommitted(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{}, "plain"))
	r.append("t", 0, lines(batch.Options{Transactional: true, Producer: &batch.Producer{ID: 5}}, "undecided"))
	req := fetchRequest(from("t", id, 0, 0))
	if got := values(t, r.fetched(req, 12).Topics[0].Partitions[0].RecordBatches); fmt.Sprint(got) != "[plain undecided]" {
		t.Errorf("read_uncommitted sees %v", got)
	}
	req.IsolationLevel = readCommitted
	p := r.fetched(req, 12).Topics[0].Partitions[0]
	if got := values(t, p.RecordBatches); fmt.Sprint(got) != "[plain]" || p.LastStableOffset != 1 || p.HighWatermark != 2 || p.AbortedTransactions == nil {
		t.Errorf("read_committed sees %v, %+v", got, p)
	}
	r.append("t", 0, marker(5, batch.Abort))
	p = r.fetched(req, 12).Topics[0].Partitions[0]
	if len(p.AbortedTransactions) != 1 || p.AbortedTransactions[0].ProducerID != 5 || p.AbortedTransactions[0].FirstOffset != 1 || p.LastStableOffset != 3 {
		t.Errorf("after the abort: %+v", p)
	}
}

// marker ends the transaction of a producer.
func marker(producer kafka.ProducerID, kind batch.ControlType) []byte {
	w := batch.NewBuilder(batch.Options{Transactional: true, Control: true, Producer: &batch.Producer{ID: producer, Sequence: -1}})
	w.AddControl(1000, kind, []byte{0, 0, 0, 0, 0, 1})
	return w.Build(nil)
}
