package api

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
)

// throttledRig leads t-0, which lists its throttled leaders, with a follower that is
// in the ISR or not. One record is there.
type throttledRig struct {
	*dataRig
	quotas *throttle.Quotas
	topic  kafka.TopicID
}

func newThrottledRig(t *testing.T, listed string, inSync bool) *throttledRig {
	t.Helper()
	quotas := throttle.New(testbed.Self, 11, time.Second)
	r := &throttledRig{quotas: quotas, dataRig: newDataRigWith(t, func(b *testbed.Bed) { b.Then = quotas.Publish })}
	r.fetch.quota = quotas.Leader()
	r.topic = r.AddTopic("t", "leader.replication.throttled.replicas", listed)
	p := testbed.Partition(r.topic, 0, testbed.Self, testbed.Other)
	if !inSync {
		p.Isr = []int32{int32(testbed.Self)}
	}
	r.Apply(p)
	r.Publish()
	r.append("t", 0, lines(batch.Options{}, "a"))
	return r
}

// asked is a fetch of t-0 from its beginning.
func (r *throttledRig) asked(follower kafka.NodeID, wait int32) *kmsg.FetchRequest {
	topic := from("t", r.topic, 0, 0)
	topic.Partitions[0].LastFetchedEpoch, topic.Partitions[0].HighWatermark = -1, 0
	req := fetchRequest(topic)
	req.MaxWaitMillis, req.ReplicaState.ID, req.ReplicaState.Epoch = wait, int32(follower), 100+int64(follower)
	if follower == kafka.NoNode {
		req.ReplicaState.Epoch = -1
	}
	return req
}

func records(resp *kmsg.FetchResponse) (bytes int) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			bytes += len(p.RecordBatches)
		}
	}
	return bytes
}

// Rules of KIP-73 for leaders, by name: the quota is 1000 bytes a second.
func TestRulesOfThrottledLeaders(t *testing.T) {
	const within, beyond = 1000, 1001
	f := func(rule, listed string, inSync bool, follower kafka.NodeID, used int, given bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newThrottledRig(t, listed, inSync)
			r.quotas.Bound(throttle.Rates{Leader: 1000, Follower: throttle.Unlimited})
			r.quotas.Leader().Record(used)
			p := r.fetched(r.asked(follower, 0), 18).Topics[0].Partitions[0]
			if got := len(p.RecordBatches) > 0; got != given || p.ErrorCode != 0 || p.HighWatermark < 0 {
				t.Errorf("%s: records %v, error %d, high watermark %d", rule, got, p.ErrorCode, p.HighWatermark)
			}
		})
	}
	f("a follower outside the ISR gets nothing while the quota is used up", "0:1", false, testbed.Other, beyond, false)
	f("a star throttles every partition", "*", false, testbed.Other, beyond, false)
	f("as much as the bound is not beyond it", "0:1", false, testbed.Other, within, true)
	f("a follower in the ISR is never held back", "0:1", true, testbed.Other, beyond, true)
	f("the leader's list counts by the leader's id", "0:2", false, testbed.Other, beyond, true)
	f("other partitions are not held back", "1:1", false, testbed.Other, beyond, true)
	f("without a list nothing is held back", "", false, testbed.Other, beyond, true)
	f("consumers are never held back", "*", false, kafka.NoNode, beyond, true)
}

// Rule: a fetch that is held back waits as if there were nothing, whatever high
// watermark the leader has, and gets what there is when its time is up and the quota
// is free again.
func TestAHeldFetchLooksAgainWhenItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newThrottledRig(t, "*", false)
		r.quotas.Bound(throttle.Rates{Leader: 1000, Follower: throttle.Unlimited})
		r.quotas.Leader().Record(1_000_000)
		ask := func() (bytes int, took time.Duration) {
			began := time.Now()
			_, answers := r.startFetch(r.asked(testbed.Other, 500), 18)
			synctest.Wait()
			r.append("t", 0, lines(batch.Options{}, "b")) // moves the high watermark
			bytes = records(<-answers)
			return bytes, time.Since(began)
		}
		if bytes, took := ask(); bytes > 0 || took != 500*time.Millisecond {
			t.Errorf("held back: %d bytes after %v", bytes, took)
		}
		time.Sleep(10_900 * time.Millisecond) // the burst, with what was counted beside it, is forgotten in 100 ms
		if bytes, took := ask(); bytes == 0 || took != 500*time.Millisecond {
			t.Errorf("free again: %d bytes after %v", bytes, took)
		}
	})
}

// Rule: whatever followers get of a throttled partition counts, in sync or not; what
// is not throttled, and what consumers get, does not.
func TestWhatCountsForTheLeadersQuota(t *testing.T) {
	f := func(rule, listed string, inSync bool, follower kafka.NodeID, counts bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newThrottledRig(t, listed, inSync)
			bytes := records(r.fetched(r.asked(follower, 0), 18))
			want := 0.0
			if counts {
				want = float64(answerFrame + partitionFrame + bytes)
			}
			if got := r.quotas.Leader().Rate(); got != want {
				t.Errorf("%s: %v of %d bytes", rule, got, bytes)
			}
		})
	}
	f("a replica outside the ISR", "0:1", false, testbed.Other, true)
	f("a replica in the ISR", "0:1", true, testbed.Other, true)
	f("nothing is throttled", "", false, testbed.Other, false)
	f("a consumer", "*", true, kafka.NoNode, false)
	r := newThrottledRig(t, "1:1", false)
	if r.fetched(r.asked(testbed.Other, 0), 18); r.quotas.Leader().Rate() != answerFrame {
		t.Errorf("another partition is throttled: %v, want the frame alone", r.quotas.Leader().Rate())
	}
}

// Rule: what is counted for the frame of an answer and of a partition is about what
// they take on the wire.
func TestTheFramesOfAnswers(t *testing.T) {
	r := newThrottledRig(t, "", true)
	size := func(topics ...kmsg.FetchRequestTopic) int {
		resp := r.fetched(fetchRequest(topics...), 18)
		return len(resp.AppendTo(nil)) + 4 - records(resp)
	}
	if got := size(); got != answerFrame {
		t.Errorf("the frame of an answer takes %d bytes, not %d", got, answerFrame)
	}
	if got := size(from("t", r.topic, 0, 0)) - answerFrame; got < partitionFrame-4 || got > partitionFrame+4 {
		t.Errorf("the frame of a partition takes %d bytes, not %d", got, partitionFrame)
	}
}
