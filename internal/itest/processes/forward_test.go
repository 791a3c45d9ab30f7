package processes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/ottla/ottla/internal/itest"
)

// stormClients create topics at the same time, each on a connection of its own.
const stormClients = 40

// storm creates topics through one broker, one after the other in each client,
// and keeps what was answered.
type storm struct {
	stop   chan struct{}
	ended  sync.WaitGroup
	mu     sync.Mutex
	named  int
	state  []creation // the newest request of each client
	acked  []string
	failed []string // messages of answers with REQUEST_TIMED_OUT
}

// creation is one request of a client.
type creation struct {
	sent     int // how many the client has sent so far
	answered int // how many of them were answered
}

func startStorm(t *testing.T, addr string, clients int) *storm {
	t.Helper()
	s := &storm{stop: make(chan struct{}), state: make([]creation, clients)}
	for i := range clients {
		c := transport.NewClient(addr, transport.ClientConfig{ClientID: fmt.Sprint("storm-", i), RequestTimeout: 2 * itest.Stuck})
		s.ended.Go(func() {
			defer c.Close()
			for {
				select {
				case <-s.stop:
					return
				default:
				}
				if err := s.create(c, i); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	return s
}

// create asks for one topic and waits for the answer, whatever it is.
func (s *storm) create(c *transport.Client, client int) error {
	s.mu.Lock()
	s.named++
	name := fmt.Sprint("storm-", s.named)
	s.state[client].sent++
	s.mu.Unlock()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(2 * itest.Stuck / time.Millisecond)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	req.Topics = append(req.Topics, topic)
	resp, err := c.Do(context.Background(), req)
	if err != nil {
		return err
	}
	got := resp.(*kmsg.CreateTopicsResponse).Topics[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[client].answered++
	switch code := kerr.Code(got.ErrorCode); code {
	case kerr.None:
		s.acked = append(s.acked, name)
	case kerr.RequestTimedOut:
		s.failed = append(s.failed, *got.ErrorMessage)
	default:
		return fmt.Errorf("%s: %v", name, code)
	}
	return nil
}

// stormStall is far above what an election and a creation take, and well below
// the 30 seconds for which Apache Kafka's broker waits for a controller that hangs.
const stormStall = 20 * time.Second

// each waits until a condition holds for every client.
func (s *storm) each(t *testing.T, what string, holds func(before, now creation) bool) {
	t.Helper()
	s.mu.Lock()
	before := slices.Clone(s.state)
	s.mu.Unlock()
	itest.Within(t, stormStall, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, now := range s.state {
			if !holds(before[i], now) {
				return fmt.Errorf("client %d: %s; sent %d, answered %d", i, what, now.sent, now.answered)
			}
		}
		return nil
	})
}

// "When a controller of a higher epoch is known ... all others are answered at
// once with REQUEST_TIMED_OUT": clients that create topics through a broker do not
// wait for a controller that hangs until their own time is over, and go on with
// the next one while it still hangs.
func TestB8AStormOfCreatesOutlivesAControllerThatHangs(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	hung := c.Active(t)
	through := c.Nodes[hung.ID%len(c.Nodes)]
	s := startStorm(t, through.Addr, stormClients)
	s.each(t, "no topic yet", func(before, now creation) bool { return now.answered > before.answered+5 })
	hung.Pause()
	s.each(t, "waits for the controller that hangs", func(before, now creation) bool { return now.answered >= before.sent })
	s.each(t, "no topic from the next controller", func(before, now creation) bool { return now.answered > before.answered+5 })
	hung.Continue()
	s.each(t, "no topic after the old one is back", func(before, now creation) bool { return now.answered > before.answered+5 })
	close(s.stop)
	s.ended.Wait()
	moved := 0
	for _, why := range s.failed {
		if !strings.Contains(why, "outcome unknown, the controller moved") {
			t.Errorf("answered: %s", why)
		}
		moved++
	}
	if moved == 0 || moved > stormClients {
		t.Errorf("%d of %d clients were told that the controller moved", moved, stormClients)
	}
	t.Logf("%d topics, %d of unknown outcome", len(s.acked), moved)
	seesAll(t, through.Addr, s.acked)
}

// seesAll waits until a broker shows topics that the controller has acknowledged:
// a broker learns of them a moment after that.
func seesAll(t *testing.T, addr string, names []string) {
	t.Helper()
	admin := kadm.NewClient(client(t, addr))
	itest.Eventually(t, func() error {
		topics, err := admin.ListTopics(patience(t))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !topics.Has(name) {
				return fmt.Errorf("topic %s was acknowledged and is gone", name)
			}
		}
		return nil
	})
}
