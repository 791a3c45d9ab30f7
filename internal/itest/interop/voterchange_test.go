package interop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// Kafka's tool takes a quorum of ours from three to five voters and back to three
// while a client creates topics. Only the removal of the leader costs an epoch, and a
// removed voter that runs on costs none (KIP-853). No creation fails but the one that
// was under way when the leader went, whose outcome nobody can tell; none waits for
// longer than an election may take; and all topics are there in the end.
func TestThreeVotersBecomeFiveAndThreeAgainUnderLoad(t *testing.T) {
	t.Parallel()
	broker := fmt.Sprintf("127.0.0.1:%d", itest.FreePort(t))
	first := startDynamic(t, 1, "broker,controller", "PLAINTEXT://"+broker+",", "", "--standalone")
	q := quorum{t: t, broker: broker, seed: first.controller, nodes: map[int]*dynamic{1: first}}
	for id := 2; id <= 5; id++ {
		q.nodes[id] = startDynamic(t, id, "controller", "", first.controller, "--no-initial-controllers")
	}
	q.add(2)
	q.add(3)
	load := createTopics(t, broker)
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
	done.checkAll(t, broker)
}

// oneElection is the sum of all timers that one election may consist of at the default
// settings: the leader's silence is noticed (fetch timeout), a candidate stands (twice
// the election timeout at most), and a message is given up (request timeout). What
// takes longer has waited for a second election, or for nothing.
const oneElection = 2*time.Second + 2*time.Second + 2*time.Second

// quorum is asked and changed by Kafka's tool, by way of a broker.
type quorum struct {
	t            *testing.T
	broker, seed string
	nodes        map[int]*dynamic
}

// add makes a voter of an observer, once it has caught up.
func (q quorum) add(id int) {
	q.t.Helper()
	itest.Eventually(q.t, func() error {
		out, err := itest.KafkaTool(q.t, "", "kafka-metadata-quorum", "--bootstrap-server", q.broker, "--command-config", q.nodes[id].file, "add-controller")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	q.awaitVoter(id, true)
}

func (q quorum) remove(id int) {
	q.t.Helper()
	itest.MustKafkaTool(q.t, "", "kafka-metadata-quorum", "--bootstrap-server", q.broker, "remove-controller",
		"--controller-id", strconv.Itoa(id), "--controller-directory-id", q.nodes[id].directory(q.t))
	q.awaitVoter(id, false)
}

// awaitVoter waits until a leader says that a node is, or is not, a voter.
func (q quorum) awaitVoter(id int, voter bool) {
	q.t.Helper()
	inSet := regexp.MustCompile(fmt.Sprintf(`(?m)^CurrentVoters:.*"id": %d,`, id))
	itest.Eventually(q.t, func() error {
		out, err := q.status()
		if err == nil && inSet.MatchString(out) != voter {
			err = fmt.Errorf("node %d is to be a voter: %v\n%s", id, voter, out)
		}
		return err
	})
}

func (q quorum) status() (string, error) {
	out, err := itest.Run("", exec.Command(itest.Bin(q.t), "metadata-quorum", "describe", "--status", "-b", q.broker))
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return out, err
}

func (q quorum) epoch() int  { q.t.Helper(); return q.number("LeaderEpoch") }
func (q quorum) leader() int { q.t.Helper(); return q.number("LeaderId") }

// number is what the status says beside a name, once somebody leads.
func (q quorum) number(name string) (n int) {
	q.t.Helper()
	pattern := regexp.MustCompile(`(?m)^` + name + `:\s*(\d+)`)
	itest.Eventually(q.t, func() error {
		out, err := q.status()
		if err != nil {
			return err
		}
		m := pattern.FindStringSubmatch(out)
		if m == nil {
			return fmt.Errorf("no %s in %s", name, out)
		}
		n, err = strconv.Atoi(m[1])
		return err
	})
	return n
}

// created is what became of the topics load-0, load-1, ...
type created struct {
	topics  int
	longest time.Duration
	// unknown counts answers that the outcome is not known.
	unknown int
}

// checkAll asks for every topic that the client was told is there.
func (c created) checkAll(t *testing.T, broker string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RetryTimeout(itest.Stuck))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	there, err := kadm.NewClient(cl).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.topics {
		if name := fmt.Sprintf("load-%d", i); !there.Has(name) {
			t.Errorf("topic %s was acknowledged and is not there", name)
		}
	}
}

// createTopics creates one topic after another until it is told to end. When the
// controller moves, the broker may say that the outcome is not known: then the client
// asks again, as any would, and may hear that the topic exists. Any other failure
// fails the test.
func createTopics(t *testing.T, broker string) (end func() created) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RetryTimeout(itest.Stuck))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var sum created
	var work sync.WaitGroup
	work.Go(func() {
		defer cl.Close()
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
