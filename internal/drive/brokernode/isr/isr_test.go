package isr

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
)

// desk is a controller that a test scripts.
type desk struct {
	hold chan struct{} // each answer waits for one; nil: none does

	mu     sync.Mutex
	down   error
	refuse kerr.Code           // the whole request
	codes  map[int32]kerr.Code // by partition
	asked  [][]kmsg.AlterPartitionRequestTopicPartition
	got    map[int32]replica.Proposed
	count  int // of answers brought back
}

func (d *desk) Do(_ context.Context, r kmsg.Request) (kmsg.Response, error) {
	req := r.(*kmsg.AlterPartitionRequest)
	d.mu.Lock()
	var all []kmsg.AlterPartitionRequestTopicPartition
	for _, t := range req.Topics {
		all = append(all, t.Partitions...)
	}
	d.asked = append(d.asked, all)
	d.mu.Unlock()
	if d.hold != nil {
		<-d.hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down != nil {
		return nil, d.down
	}
	resp := kmsg.NewPtrAlterPartitionResponse()
	if resp.ErrorCode = int16(d.refuse); resp.ErrorCode != 0 {
		return resp, nil
	}
	for _, t := range req.Topics {
		rt := kmsg.NewAlterPartitionResponseTopic()
		rt.TopidID = t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewAlterPartitionResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.PartitionEpoch = p.Partition, int16(d.codes[p.Partition]), p.PartitionEpoch+1
			for _, m := range p.NewEpochISR {
				rp.ISR = append(rp.ISR, m.BrokerID)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (d *desk) answer(tp kafka.TopicIDPartition, a replica.Proposed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	d.got[int32(tp.Partition)] = a
}

// seen is what the desk was asked, and what it brought back, so far.
func (d *desk) seen() (asked [][]kmsg.AlterPartitionRequestTopicPartition, got map[int32]replica.Proposed, count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked), maps.Clone(d.got), d.count
}

func (d *desk) script(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func partition(n int) kafka.TopicIDPartition {
	return kafka.TopicIDPartition{Topic: kafka.TopicID{1}, Partition: kafka.PartitionID(n)}
}

func proposal(epoch int32) *replica.Proposal {
	return &replica.Proposal{LeaderEpoch: 3, Epoch: epoch, ISR: []replica.Member{{Node: 1, BrokerEpoch: 101}, {Node: 2, BrokerEpoch: 102}}}
}

// inBubble runs a proposer over a desk.
func inBubble(t *testing.T, d *desk, test func(*testing.T, *Proposer)) {
	synctest.Test(t, func(t *testing.T) {
		d.got = map[int32]replica.Proposed{}
		p := New(Config{
			Self: 1, Epoch: func() kafka.BrokerEpoch { return 101 }, Controller: d, Answer: d.answer, Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(context.Background())
		var work sync.WaitGroup
		work.Go(func() { p.Run(ctx) })
		test(t, p)
		cancel()
		work.Wait()
	})
}

// Rule: one request is under way; what is wished for meanwhile goes into the next.
func TestOneRequestAtATime(t *testing.T) {
	d := &desk{}
	inBubble(t, d, func(t *testing.T, p *Proposer) {
		d.hold = make(chan struct{})
		first := proposal(5)
		p.Propose(partition(0), first)
		synctest.Wait()
		for n := range 9 {
			p.Propose(partition(n+1), proposal(1))
		}
		synctest.Wait()
		if asked, _, _ := d.seen(); len(asked) != 1 || len(asked[0]) != 1 {
			t.Fatalf("asked %+v", asked)
		}
		close(d.hold)
		synctest.Wait()
		asked, all, count := d.seen()
		if len(asked) != 2 || len(asked[1]) != 9 || count != 10 {
			t.Errorf("%d requests and %d answers", len(asked), count)
		}
		if got := all[0]; got.To != first || got.Outcome != replica.Accepted || got.Epoch != 6 || len(got.ISR) != 2 || got.ISR[1] != 2 {
			t.Errorf("%+v", got)
		}
		if one := asked[0][0]; one.LeaderEpoch != 3 || one.PartitionEpoch != 5 || one.NewEpochISR[1].BrokerEpoch != 102 {
			t.Errorf("asked %+v", one)
		}
	})
}

// Rule: a request that fails as a whole is sent again after 50 ms, until it does
// not.
func TestAFailedRequestIsSentAgain(t *testing.T) {
	d := &desk{}
	inBubble(t, d, func(t *testing.T, p *Proposer) {
		d.script(func() { d.refuse = kerr.StaleBrokerEpoch })
		p.Propose(partition(0), proposal(1))
		time.Sleep(220 * time.Millisecond)
		d.script(func() { d.refuse, d.down = kerr.None, errors.New("no controller") })
		time.Sleep(200 * time.Millisecond)
		d.script(func() { d.down = nil })
		if asked, _, count := d.seen(); len(asked) != 9 || count != 0 {
			t.Errorf("%d requests and %d answers", len(asked), count)
		}
		time.Sleep(time.Minute)
		if asked, _, count := d.seen(); len(asked) != 10 || count != 1 {
			t.Errorf("in the end %d requests and %d answers", len(asked), count)
		}
	})
}

// Rule: what the error of a partition means to its leader (KIP-497, KIP-841).
func TestErrorsOfAPartition(t *testing.T) {
	f := func(code kerr.Code, want replica.Outcome, settled bool) {
		t.Helper()
		d := &desk{codes: map[int32]kerr.Code{0: code}}
		inBubble(t, d, func(t *testing.T, p *Proposer) {
			wish := proposal(1)
			p.Propose(partition(0), wish)
			p.Propose(partition(1), proposal(1))
			time.Sleep(time.Second)
			_, all, count := d.seen()
			got, ok := all[0]
			if ok != settled || ok && (got.Outcome != want || got.To != wish) {
				t.Errorf("%v: settled %v, %+v", code, ok, got)
			}
			if _, other := all[1]; !other || count > 2 {
				t.Errorf("%v: %d answers", code, count)
			}
		})
	}
	f(kerr.None, replica.Accepted, true)
	f(kerr.OperationNotAttempted, replica.Declined, true)
	f(kerr.IneligibleReplica, replica.Declined, true)
	f(kerr.UnknownTopicOrPartition, replica.Superseded, true)
	f(kerr.UnknownTopicId, replica.Superseded, true)
	f(kerr.FencedLeaderEpoch, replica.Superseded, true)
	f(kerr.InvalidUpdateVersion, replica.Superseded, true)
	f(kerr.InvalidRequest, replica.Superseded, true)
	f(kerr.NewLeaderElected, replica.Superseded, true)
	f(kerr.NotController, 0, false) // the controller knows less than we do (KAFKA-14154)
	f(kerr.RequestTimedOut, 0, false)
}

// Rule: a proposal that takes the place of one under way is sent after it, and
// each answer names its own.
func TestANewerProposalIsSentToo(t *testing.T) {
	d := &desk{}
	inBubble(t, d, func(t *testing.T, p *Proposer) {
		d.hold = make(chan struct{})
		p.Propose(partition(0), proposal(1))
		synctest.Wait()
		newer := proposal(2)
		p.Propose(partition(0), newer)
		close(d.hold)
		synctest.Wait()
		if asked, got, count := d.seen(); len(asked) != 2 || count != 2 || got[0].To != newer {
			t.Errorf("%d requests, %d answers, the last %+v", len(asked), count, got[0])
		}
	})
}
