package interop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// Kafka's tool takes a quorum of ours from three to five voters and back to three
// while a client creates topics. Only the removal of the leader costs an epoch, and a
// removed voter that runs on costs none (KIP-853). No creation fails but the one that
// was under way when the leader went, whose outcome nobody can tell; none waits for
// longer than an election may take; and all topics are there in the end.
func TestThreeVotersBecomeFiveAndThreeAgainUnderLoad(t *testing.T) {
	t.Parallel()
	q := quorum{oneVoter(t, 4), t}
	q.add(2)
	q.add(3)
	load := createTopics(t, q.Cluster)
	before := q.epoch()
	q.add(4)
	q.add(5)
	leader := q.leader()
	removed := 0
	for id := 5; removed < 1; id-- { // one that follows, and runs on
		if id != leader {
			q.remove(id)
			removed++
		}
	}
	if now := q.epoch(); now != before {
		t.Errorf("two additions and a removal took the quorum from epoch %d to %d", before, now)
	}
	q.remove(leader)
	if now := q.epoch(); now != before+1 || q.leader() == leader {
		t.Errorf("the removal of leader %d of epoch %d: now %d leads epoch %d", leader, before, q.leader(), now)
	}
	done := load()
	t.Logf("%d topics created, the slowest in %v, %d of unknown outcome", done.topics, done.longest.Round(time.Millisecond), done.unknown)
	now := q.epoch()
	if now != before+1 {
		t.Errorf("with the removed voters running on, epoch %d became %d", before+1, now)
	}
	elections := now - before
	if done.unknown > elections {
		t.Errorf("%d creations had an unknown outcome, in %d elections of one client that has one under way", done.unknown, elections)
	}
	if done.longest > oneElection {
		t.Errorf("a creation took %v; an election with all its timers takes %v", done.longest, oneElection)
	}
	done.checkAll(t, q.Cluster)
}

// oneElection is the sum of all timers that one election may consist of at the default
// settings: the leader's silence is noticed (fetch timeout), a candidate stands (twice
// the election timeout at most), and a message is given up (request timeout). What
// takes longer has waited for a second election, or for nothing.
const oneElection = 2*time.Second + 2*time.Second + 2*time.Second

// quorum is changed by Kafka's tool, by way of the broker.
type quorum struct {
	*peer.Cluster
	t *testing.T
}

// add makes a voter of an observer, once it has caught up.
func (q quorum) add(id int) {
	q.t.Helper()
	itest.Eventually(q.t, func() error {
		out, err := q.Tool("kafka-metadata-quorum", "--bootstrap-server", q.Node(1).Addr(), "--command-config", q.Node(id).File(), "add-controller")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	votes(q.t, q.Cluster, q.Node(id), true)
}

func (q quorum) remove(id int) {
	q.t.Helper()
	out, err := q.Tool("kafka-metadata-quorum", "--bootstrap-server", q.Node(1).Addr(), "remove-controller",
		"--controller-id", strconv.Itoa(id), "--controller-directory-id", q.Node(id).Directory())
	if err != nil {
		q.t.Fatalf("%v: %s", err, out)
	}
	votes(q.t, q.Cluster, q.Node(id), false)
}

func (q quorum) epoch() int  { q.t.Helper(); return q.Leader().Epoch }
func (q quorum) leader() int { q.t.Helper(); return q.Leader().Leader.ID }

// created is what became of the topics load-0, load-1, ...
type created struct {
	topics  int
	longest time.Duration
	// unknown counts answers that the outcome is not known.
	unknown int
}

// checkAll asks for every topic that the client was told is there. A controller has
// told it, and the broker that is asked may not have heard of the last one yet.
func (c created) checkAll(t *testing.T, in *peer.Cluster) {
	t.Helper()
	itest.Eventually(t, func() error {
		there, err := kadm.NewClient(in.Client()).ListTopics(t.Context())
		if err != nil {
			return err
		}
		for i := range c.topics {
			if name := fmt.Sprintf("load-%d", i); !there.Has(name) {
				return fmt.Errorf("topic %s was acknowledged and is not there", name)
			}
		}
		return nil
	})
}

// createTopics creates one topic after another until it is told to end. When the
// controller moves, the broker may say that the outcome is not known: then the client
// asks again, as any would, and may hear that the topic exists. Any other failure
// fails the test.
func createTopics(t *testing.T, in *peer.Cluster) (end func() created) {
	t.Helper()
	cl := in.Client()
	ctx, cancel := context.WithCancel(t.Context())
	var sum created
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			unknown, err := createTopic(cl, fmt.Sprintf("load-%d", sum.topics))
			if err != nil {
				t.Errorf("topic %d: %v", sum.topics, err)
				return
			}
			sum.unknown += unknown
			sum.longest = max(sum.longest, time.Since(began))
			sum.topics++
		}
	})
	end = sync.OnceValue(func() created {
		cancel()
		work.Wait()
		return sum
	})
	t.Cleanup(func() { end() })
	return end
}

// createTopic creates a topic. It asks again as often as the outcome is unknown, and
// tells how often that was.
func createTopic(cl *kgo.Client, name string) (unknown int, err error) {
	within, done := context.WithTimeout(context.Background(), itest.Stuck)
	defer done()
	for {
		_, err = kadm.NewClient(cl).CreateTopic(within, 1, 1, nil, name)
		switch {
		case errors.Is(err, kerr.RequestTimedOut) && within.Err() == nil:
			unknown++
		case unknown > 0 && errors.Is(err, kerr.TopicAlreadyExists):
			return unknown, nil
		default:
			return unknown, err
		}
	}
}
