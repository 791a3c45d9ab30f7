package figures

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/wire"
)

// peer is one connection that sends a request and waits for its answer. It has
// no patience of its own, as a client library has, that a figure would show.
type peer struct {
	c    net.Conn
	last int32 // correlation id
	buf  []byte
}

func dial(addr string, patience time.Duration) (*peer, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &peer{c: c}, c.SetDeadline(time.Now().Add(patience))
}

func (p *peer) close() { _ = p.c.Close() }

// ask sends req at the version it has been given, and reads the answer.
func (p *peer) ask(req kmsg.Request) (kmsg.Response, error) {
	p.last++
	h := wire.RequestHeader{Key: req.Key(), Version: req.GetVersion(), CorrelationID: p.last, ClientID: []byte("figures")}
	p.buf = req.AppendTo(wire.AppendRequestHeader(append(p.buf[:0], 0, 0, 0, 0), h))
	binary.BigEndian.PutUint32(p.buf, uint32(len(p.buf)-wire.FrameHead))
	if _, err := p.c.Write(p.buf); err != nil {
		return nil, err
	}
	var head [wire.FrameHead]byte
	if _, err := io.ReadFull(p.c, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, wire.Size(head))
	if _, err := io.ReadFull(p.c, frame); err != nil {
		return nil, err
	}
	id, rest, err := wire.ReadCorrelationID(frame)
	if err != nil || id != p.last {
		return nil, fmt.Errorf("answer %d to request %d: %v", id, p.last, err)
	}
	body, err := wire.SkipResponseHeader(rest, req.Key(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	return resp, resp.ReadFrom(body)
}

// produce appends a batch to partition 0 of a topic with acks=all. An answer
// with an error code is an error.
func (p *peer) produce(topic string, batch []byte) error {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9) // the last but few that names the topic
	req.Acks, req.TimeoutMillis = -1, 30_000
	t, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	part.Records = batch
	t.Topic, t.Partitions = topic, append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := p.ask(req)
	if err != nil {
		return err
	}
	got := resp.(*kmsg.ProduceResponse).Topics
	if len(got) != 1 || len(got[0].Partitions) != 1 {
		return fmt.Errorf("answer for %d topics", len(got))
	}
	if code := kerr.Code(got[0].Partitions[0].ErrorCode); code != kerr.None {
		return code
	}
	return nil
}

// create makes a topic of one partition.
func (p *peer) create(topic string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(5)
	req.TimeoutMillis = 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, t)
	resp, err := p.ask(req)
	if err != nil {
		return err
	}
	if code := kerr.Code(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); code != kerr.None {
		return code
	}
	return nil
}
