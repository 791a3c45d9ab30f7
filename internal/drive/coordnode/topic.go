package coordnode

import (
	"context"
	"strconv"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is how __consumer_offsets is made when it is first needed.
type Topic struct {
	Partitions        int32 // offsets.topic.num.partitions
	ReplicationFactor int16 // offsets.topic.replication.factor
	SegmentBytes      int   // offsets.topic.segment.bytes
}

// Controller takes requests of this broker's own to the active controller.
type Controller interface {
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// makeTimeout bounds one attempt to create the topic.
const makeTimeout = 10 * time.Second

// MakeTopic has __consumer_offsets created in the background. While an attempt
// is under way another call does nothing; after one that failed, the next call
// tries again.
func (n *Groups) MakeTopic() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.making {
		return
	}
	n.making = true
	n.work.Add(1)
	go func() {
		defer n.work.Done()
		err := n.makeTopic()
		if err != nil && n.ctx.Err() == nil {
			n.cfg.Logger.Warn("topic of the group coordinator could not be created", "topic", kafka.ConsumerOffsetsTopic, "error", err)
		}
		n.mu.Lock()
		n.making = false
		n.mu.Unlock()
	}()
}

// makeTopic is one attempt. A topic that is there already is a success.
func (n *Groups) makeTopic() error {
	ctx, cancel := context.WithTimeout(n.ctx, makeTimeout)
	defer cancel()
	resp, err := n.cfg.Controller.Do(ctx, n.cfg.Topic.request())
	if err != nil {
		return err
	}
	created, ok := resp.(*kmsg.CreateTopicsResponse)
	if !ok || len(created.Topics) != 1 {
		return kerr.Errorf(kerr.UnknownServerError, "the controller sent %T", resp)
	}
	topic := created.Topics[0]
	code := kerr.Code(topic.ErrorCode)
	switch {
	case code == kerr.None || code == kerr.TopicAlreadyExists:
		return nil
	case topic.ErrorMessage != nil:
		return kerr.Errorf(code, "%s", *topic.ErrorMessage)
	}
	return code
}

// request asks for the topic with the configuration that Apache Kafka gives it.
func (t Topic) request() *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(makeTimeout / time.Millisecond)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = kafka.ConsumerOffsetsTopic
	topic.NumPartitions, topic.ReplicationFactor = t.Partitions, t.ReplicationFactor
	for _, kv := range [][2]string{
		{"cleanup.policy", "compact"},
		{"compression.type", "producer"},
		{"segment.bytes", strconv.Itoa(t.SegmentBytes)},
	} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = kv[0], &kv[1]
		topic.Configs = append(topic.Configs, c)
	}
	req.Topics = append(req.Topics, topic)
	return req
}
