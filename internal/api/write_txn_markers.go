package api

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
)

// TransactionEnder ends transactions in partitions of __consumer_offsets, whose
// coordinators have to know which offsets count.
type TransactionEnder interface {
	// EndTransaction calls done once, from any goroutine, when r is answered.
	EndTransaction(p kafka.PartitionID, r *group.EndTransaction, done func())
}

// writeTxnMarkers answers WriteTxnMarkers, with which transaction coordinators, and
// administrators whose transactions hang, end transactions in the partitions that
// this broker leads. Each partition is answered when all in-sync replicas have the
// marker.
type writeTxnMarkers struct {
	parts  *partitions.Manager
	timers *await.Timers
	groups TransactionEnder
	limit  time.Duration
}

func (h writeTxnMarkers) serve(c Context, req *kmsg.WriteTxnMarkersRequest, reply func(kmsg.Response)) {
	w := &markerWait{handler: h, reply: reply}
	w.appendAll(req)
	if w.try() {
		w.finish(await.Satisfied)
		return
	}
	w.Init(h.timers, w.try, w.finish)
	for _, m := range w.pending {
		m.watch.Parked = &w.Parked
		m.part.AwaitCommit(&m.watch)
	}
	w.Start(h.limit)
	c.Abandoned(w.Cancel)
}

// markerWait is one WriteTxnMarkers until its answer.
type markerWait struct {
	await.Parked
	handler writeTxnMarkers
	all     []*marking   // in the order of the request
	pending []*marking   // those that wait for their followers
	left    atomic.Int64 // answers that are still to come: those of groups, and of pending as one
	reply   func(kmsg.Response)
}

// marking is one marker in one partition.
type marking struct {
	producer kafka.ProducerID
	tp       kafka.TopicPartition
	code     kerr.Code

	watch    await.Watch
	part     *partitions.Partition
	appended partitions.Appended
	done     bool
}

func (w *markerWait) appendAll(req *kmsg.WriteTxnMarkersRequest) {
	w.left.Store(1)
	now := time.Now().UnixMilli()
	for i := range req.Markers {
		in := &req.Markers[i]
		end := batch.EndTxn{
			Producer: kafka.ProducerID(in.ProducerID), Epoch: in.ProducerEpoch, Commit: in.Committed,
			Coordinator: in.CoordinatorEpoch, TimestampMs: now,
		}
		for _, t := range in.Topics {
			for _, n := range t.Partitions {
				m := &marking{producer: end.Producer, tp: kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(n)}}
				w.all = append(w.all, m)
				w.append(m, end, int16(in.TransactionVersion))
			}
		}
	}
}

// append appends one marker. What is wrong with one partition is told of it alone.
func (w *markerWait) append(m *marking, end batch.EndTxn, version int16) {
	part, err := w.handler.parts.Named(m.tp)
	if err == nil && m.tp.Topic == kafka.ConsumerOffsetsTopic {
		w.tellGroups(m, end, version)
		return
	}
	if err == nil {
		m.part = part
		m.appended, err = part.EndTransaction(kafka.NoEpoch, end, version)
	}
	if err != nil {
		m.code = kerr.Of(err)
		return
	}
	w.pending = append(w.pending, m)
}

// tellGroups has the group coordinator write the marker.
func (w *markerWait) tellGroups(m *marking, end batch.EndTxn, version int16) {
	r := &group.EndTransaction{Producer: end.Producer, Epoch: end.Epoch, Coordinator: end.Coordinator, Commit: end.Commit, Version: version}
	w.left.Add(1)
	w.handler.groups.EndTransaction(m.tp.Partition, r, func() {
		m.code = asLeader(r.Err)
		w.answered()
	})
}

// asLeader says what a group coordinator answers in the words of a leader, as
// transaction coordinators know no others: they look for the leader again.
func asLeader(code kerr.Code) kerr.Code {
	switch code {
	case kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator:
		return kerr.NotLeaderOrFollower
	}
	return code
}

// try notes which markers all in-sync replicas have by now and tells whether all
// are.
func (w *markerWait) try() bool {
	all := true
	for _, m := range w.pending {
		if m.done {
			continue
		}
		done, err := m.part.Acked(m.appended, true)
		m.done, m.code = done, kerr.Of(err)
		all = all && done
	}
	return all
}

func (w *markerWait) finish(await.Outcome) {
	for _, m := range w.pending {
		if !m.done {
			m.code = kerr.RequestTimedOut
		}
		m.part.ForgetCommit(&m.watch)
	}
	w.answered()
}

// answered replies after the last answer.
func (w *markerWait) answered() {
	if w.left.Add(-1) == 0 {
		w.reply(w.response())
	}
}

// response has one entry for each producer: coordinators keep one for each.
func (w *markerWait) response() *kmsg.WriteTxnMarkersResponse {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	type topicOf struct {
		producer kafka.ProducerID
		topic    string
	}
	producers, topics := map[kafka.ProducerID]int{}, map[topicOf]int{}
	for _, m := range w.all {
		i, known := producers[m.producer]
		if !known {
			i = len(resp.Markers)
			producers[m.producer] = i
			resp.Markers = append(resp.Markers, kmsg.WriteTxnMarkersResponseMarker{ProducerID: int64(m.producer)})
		}
		out := &resp.Markers[i]
		j, known := topics[topicOf{m.producer, m.tp.Topic}]
		if !known {
			j = len(out.Topics)
			topics[topicOf{m.producer, m.tp.Topic}] = j
			out.Topics = append(out.Topics, kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: m.tp.Topic})
		}
		out.Topics[j].Partitions = append(out.Topics[j].Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{
			Partition: int32(m.tp.Partition), ErrorCode: int16(m.code),
		})
	}
	return resp
}
