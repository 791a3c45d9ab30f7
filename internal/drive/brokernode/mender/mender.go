// Package mender gets from other brokers what a damaged place in a log of this one
// held. What is damaged, and whether what comes fits, is found out in edge/storage.
package mender

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// Asker sends a request to another broker and waits for the answer; *transport.Pool
// is one.
type Asker interface {
	Do(ctx context.Context, addr string, req kmsg.Request) (kmsg.Response, error)
}

// Config is what a Mender is made of.
type Config struct {
	Self     kafka.NodeID
	Listener string              // where other brokers are reached
	Image    func() *image.Image // tells who has a replica
	Peers    Asker
	Timeout  time.Duration // of a request (request.timeout.ms)
}

// Mender fetches from other replicas.
type Mender struct{ cfg Config }

// New makes a mender.
func New(c Config) *Mender { return &Mender{c} }

// Bounds of one answer and of all that is asked for one place. A segment may have to
// be fetched whole, and be 2 GiB at most.
const (
	answerBytes = 1 << 20
	placeBytes  = 256 << 20
)

// Reads with this replica id are answered by followers as by leaders.
const anyReplica = -2

// The first version of Fetch that names topics by their ids.
const topicIDs = 13

// Fetch gives whole batches of a partition that follow each other from an offset on,
// or from the batch that holds it, up to another one. It asks those that are in sync,
// the leader first: where one has no good batch the next one is asked for it.
func (m *Mender) Fetch(ctx context.Context, tp kafka.TopicPartition, from, to kafka.Offset) ([]byte, error) {
	img := m.cfg.Image()
	t, ok := img.TopicNamed(tp.Topic)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	p, ok := t.Partitions.Get(tp.Partition)
	if !ok {
		return nil, kerr.UnknownTopicOrPartition
	}
	f := fetching{Mender: m, id: kafka.TopicIDPartition{Topic: t.ID, Partition: tp.Partition}, at: from, to: to}
	var failures []error
	for _, node := range others(p, m.cfg.Self) {
		err := f.from(ctx, node)
		if err == nil {
			return f.all, nil
		}
		failures = append(failures, fmt.Errorf("broker %d: %w", node, err))
	}
	if len(failures) == 0 {
		return nil, errors.New("no other replica is in sync")
	}
	return nil, errors.Join(failures...)
}

// others are whom to ask about a partition: the leader, then the rest of the ISR.
func others(p *image.Partition, self kafka.NodeID) (nodes []kafka.NodeID) {
	if p.Leader != kafka.NoNode && p.Leader != self {
		nodes = append(nodes, p.Leader)
	}
	for _, node := range p.ISR {
		if node != self && node != p.Leader {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// fetching is how far the batches of a place have been fetched.
type fetching struct {
	*Mender
	id     kafka.TopicIDPartition
	at, to kafka.Offset
	all    []byte
}

// from fetches what is missing from one broker, as far as that one has good batches.
func (f *fetching) from(ctx context.Context, node kafka.NodeID) error {
	addr, ok := f.address(node)
	if !ok {
		return errors.New("its address is not known")
	}
	for f.at < f.to {
		got, err := f.ask(ctx, addr, f.id, f.at)
		if err != nil {
			return err
		}
		if err := f.take(got); err != nil {
			return err
		}
	}
	return nil
}

// take takes the batches of an answer, up to the first that is damaged, or that lies
// behind: then there are no more, as what is missing was compacted away.
func (f *fetching) take(got []byte) error {
	before := f.at
	for h, b := range batch.All(got) {
		switch {
		case h.End() <= f.at:
			continue
		case h.BaseOffset >= f.to:
			f.at = f.to
			return nil
		case !batch.CheckCRC(b):
			return fmt.Errorf("its batch at %d is damaged, too", h.BaseOffset)
		case len(f.all)+len(b) > placeBytes:
			return fmt.Errorf("more than %d bytes would have to be fetched for one place", placeBytes)
		}
		f.all, f.at = append(f.all, b...), h.End()
	}
	if f.at == before {
		return fmt.Errorf("it has nothing from %d on", f.at)
	}
	return nil
}

func (m *Mender) ask(ctx context.Context, addr string, id kafka.TopicIDPartition, from kafka.Offset) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.ReplicaState.ID = anyReplica, anyReplica
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 0, 0, answerBytes, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.CurrentLeaderEpoch, p.PartitionMaxBytes = int32(id.Partition), int64(from), -1, answerBytes
	t := kmsg.NewFetchRequestTopic()
	t.TopicID, t.Partitions = id.Topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	got, err := m.cfg.Peers.Do(ctx, addr, req)
	if err != nil {
		return nil, err
	}
	resp, ok := got.(*kmsg.FetchResponse)
	switch {
	case !ok:
		return nil, errors.New("it answered with something else")
	case resp.Version < topicIDs:
		return nil, kerr.UnsupportedVersion
	case kerr.Code(resp.ErrorCode) != kerr.None:
		return nil, kerr.Code(resp.ErrorCode)
	case len(resp.Topics) != 1 || resp.Topics[0].TopicID != id.Topic || len(resp.Topics[0].Partitions) != 1:
		return nil, errors.New("it answered about something else")
	}
	answer := &resp.Topics[0].Partitions[0]
	if code := kerr.Code(answer.ErrorCode); code != kerr.None {
		return nil, code
	}
	return answer.RecordBatches, nil
}

// address is where a broker is reached right now.
func (m *Mender) address(node kafka.NodeID) (string, bool) {
	b, ok := m.cfg.Image().Broker(node)
	if !ok {
		return "", false
	}
	for _, e := range b.Endpoints {
		if e.Name == m.cfg.Listener {
			return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), true
		}
	}
	return "", false
}
