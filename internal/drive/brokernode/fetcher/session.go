package fetcher

import (
	"math"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// session is our side of a fetch session (KIP-227). Its zero value asks for a new
// one.
type session struct {
	id int32
	// epoch is that of the next request; 0 asks for a new session, and ends the
	// one that id names.
	epoch int32
	// declined: the leader has kept none when it was asked last.
	declined bool
}

// full tells whether the next request has to list all partitions.
func (s *session) full() bool { return s.epoch == 0 }

// asked goes on to the epoch of the next request, which may follow before this one
// is answered. After one that lists everything there is none before its answer.
func (s *session) asked() {
	switch s.epoch {
	case 0:
	case math.MaxInt32:
		s.epoch = 1
	default:
		s.epoch++
	}
}

// answered takes the id out of a good answer; 0 where the leader keeps no session.
func (s *session) answered(id int32) {
	switch {
	case id == 0:
		*s = session{declined: true}
	case s.full():
		*s = session{id: id, epoch: 1}
	}
}

// broken begins anew after a request whose fate is not known.
func (s *session) broken() { s.epoch = 0 }

// lost begins anew after the leader has said that it has no such session.
func (s *session) lost() { *s = session{} }

// topics groups partitions by topic for a request.
type topics[T any] struct {
	at   map[kafka.TopicID]int
	list []T
}

// of is the entry of a topic, made when there is none.
func (t *topics[T]) of(id kafka.TopicID, fresh func() T) *T {
	if t.at == nil {
		t.at = map[kafka.TopicID]int{}
	}
	i, ok := t.at[id]
	if !ok {
		i = len(t.list)
		t.at[id] = i
		t.list = append(t.list, fresh())
	}
	return &t.list[i]
}

// asking collects what a request says about partitions.
type asking struct {
	fetch  topics[kmsg.FetchRequestTopic]
	forget topics[kmsg.FetchRequestForgottenTopic]
}

func (a *asking) add(id kafka.TopicIDPartition, m *member, maxBytes int32) {
	t := a.fetch.of(id.Topic, func() kmsg.FetchRequestTopic {
		t := kmsg.NewFetchRequestTopic()
		t.TopicID, t.Topic = id.Topic, m.part.Name.Topic
		return t
	})
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch = int32(id.Partition), int32(m.sent.Epoch)
	p.FetchOffset, p.LastFetchedEpoch = int64(m.sent.End), int32(m.sent.LastEpoch)
	p.LogStartOffset, p.PartitionMaxBytes = int64(m.sent.LogStart), maxBytes
	p.HighWatermark = int64(m.sent.HighWatermark)
	t.Partitions = append(t.Partitions, p)
}

func (a *asking) drop(id kafka.TopicIDPartition, name string) {
	t := a.forget.of(id.Topic, func() kmsg.FetchRequestForgottenTopic {
		t := kmsg.NewFetchRequestForgottenTopic()
		t.TopicID, t.Topic = id.Topic, name
		return t
	})
	t.Partitions = append(t.Partitions, int32(id.Partition))
}

func hostPort(e image.Endpoint) string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }
