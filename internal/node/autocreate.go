package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// maxCreating bounds the topics that are being created on sight at one time;
// further names wait for their client's next attempt.
const maxCreating = 100

// creationTimeout bounds one attempt to create topics on sight.
const creationTimeout = 10 * time.Second

// asker sends one of the broker's own requests to the active controller.
type asker interface {
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// creator creates the topics that clients ask Metadata for, in the background.
// It asks the controller once at a time for a name.
type creator struct {
	ask asker
	// offsets creates __consumer_offsets, which has settings of its own.
	offsets func()
	log     *slog.Logger

	ctx  context.Context // ends with close
	stop context.CancelFunc

	mu       sync.Mutex
	creating map[string]bool
	work     sync.WaitGroup
}

func newCreator(ask asker, offsets func(), log *slog.Logger) *creator {
	c := &creator{ask: ask, offsets: offsets, log: log, creating: map[string]bool{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// MakeTopics begins to create what is not being created yet. Illegal names are
// left out: their answer has said so.
func (c *creator) MakeTopics(names []string) {
	var wanted []string
	c.mu.Lock()
	for _, name := range names {
		if name == kafka.ConsumerOffsetsTopic {
			c.offsets()
			continue
		}
		if kafka.IsInternal(name) {
			continue // their coordinators are not served
		}
		if !c.creating[name] && len(c.creating) < maxCreating && kafka.CheckTopicName(name) == nil {
			c.creating[name] = true
			wanted = append(wanted, name)
		}
	}
	c.mu.Unlock()
	if len(wanted) > 0 {
		c.work.Go(func() { c.create(wanted) })
	}
}

// close gives up what is being created and waits for its end. MakeTopics may not
// be called any more.
func (c *creator) close() {
	c.stop()
	c.work.Wait()
}

func (c *creator) create(names []string) {
	defer func() {
		c.mu.Lock()
		for _, name := range names {
			delete(c.creating, name)
		}
		c.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(c.ctx, creationTimeout)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = req.MaxVersion()
	req.TimeoutMillis = int32(creationTimeout.Milliseconds())
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1 // the cluster's defaults
		req.Topics = append(req.Topics, t)
	}
	got, err := c.ask.Do(ctx, req)
	if err != nil {
		if c.ctx.Err() == nil {
			c.log.Warn("topics not created", "topics", names, "err", err)
		}
		return
	}
	resp, ok := got.(*kmsg.CreateTopicsResponse)
	if !ok {
		return
	}
	for _, t := range resp.Topics {
		switch code := kerr.Code(t.ErrorCode); code {
		case kerr.None:
			c.log.Info("topic created on sight", "topic", t.Topic)
		case kerr.TopicAlreadyExists:
		default:
			c.log.Warn("topic not created", "topic", t.Topic, "err", code, "why", text(t.ErrorMessage))
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
