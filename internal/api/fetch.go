package api

import (
	"cmp"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/transport"
)

// readCommitted is the isolation level of consumers that skip what transactions
// have not committed.
const readCommitted int8 = 1

// fetch answers Fetch.
type fetch struct {
	parts    *partitions.Manager
	timers   *await.Timers
	sessions *fetchSessions
	maxBytes int // fetch.max.bytes
	metrics  *Metrics
}

func newFetch(d DataDeps) *fetch {
	h := &fetch{
		parts: d.Partitions, timers: d.Timers, sessions: &fetchSessions{Slots: d.SessionSlots}, maxBytes: d.FetchMaxBytes,
		metrics: cmp.Or(d.Metrics, &Metrics{}),
	}
	h.metrics.sessions.Store(h.sessions)
	return h
}

func (h *fetch) route() Route {
	return raw(1, 4, 18, func(r *transport.Request, reply func(transport.Reply)) {
		h.serve(r, func(body []transport.Part, release func()) { reply(transport.FromParts(body, release)) })
	})
}

// serve answers at once when there is enough, when something is wrong, or when
// the client does not want to wait. Else the fetch is parked on its partitions.
func (h *fetch) serve(r *transport.Request, send func(body []transport.Part, release func())) {
	req := r.Body.(*kmsg.FetchRequest)
	w := &fetchWait{
		handler: h, request: r, send: send, reader: readerOf(req),
		minBytes: int(req.MinBytes), maxBytes: max(min(int(req.MaxBytes), h.maxBytes), 0),
	}
	opened, err := h.sessions.begin(req, w.reader, time.Now())
	if err != nil {
		w.refuse(err)
		return
	}
	w.fetching = opened
	if len(w.parts) == 0 || req.MaxWaitMillis <= 0 {
		w.read()
		w.answer()
		return
	}
	if w.try() {
		w.answer()
		return
	}
	w.park(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	r.Abandoned(w.Cancel)
}

func readerOf(req *kmsg.FetchRequest) partitions.Reader {
	r := partitions.Consumer
	r.Committed = req.IsolationLevel == readCommitted
	switch {
	case req.Version >= 15 && req.ReplicaState.ID >= 0:
		r.Follower, r.BrokerEpoch = kafka.NodeID(req.ReplicaState.ID), kafka.BrokerEpoch(req.ReplicaState.Epoch)
	case req.Version < 15 && req.ReplicaID >= 0:
		r.Follower = kafka.NodeID(req.ReplicaID)
	}
	return r
}

// fetchWait is one fetch from its request to its answer. Only the goroutine
// that tries touches it.
type fetchWait struct {
	await.Parked
	fetching
	handler            *fetch
	request            *transport.Request
	reader             partitions.Reader
	minBytes, maxBytes int

	answers []fetchAnswer
	pinned  []storage.Slice         // of answers, until release
	found   []*partitions.Partition // of parts; nil where there is none
	watches []await.Watch
	send    func(body []transport.Part, release func())
}

// try reads, and tells whether the answer may leave. What was read is given up
// otherwise, so that a parked fetch holds no files.
func (w *fetchWait) try() bool {
	bytes, urgent := w.read()
	if urgent || bytes >= w.minBytes {
		return true
	}
	w.release()
	return false
}

// read reads from each partition in turn what the limits leave. urgent means
// that waiting makes no sense: there is an error, the logs diverge, what was
// read lies in a segment that does not grow, or a follower does not know the
// high watermark yet (KIP-1166).
func (w *fetchWait) read() (bytes int, urgent bool) {
	w.release()
	if w.answers == nil {
		w.answers, w.pinned = make([]fetchAnswer, 0, len(w.parts)), make([]storage.Slice, 0, len(w.parts))
	}
	for i := range w.parts {
		a, now := w.readOne(i, bytes)
		bytes += int(a.records.Len)
		urgent = urgent || now
		w.answers = append(w.answers, a)
	}
	return bytes, urgent
}

func (w *fetchWait) readOne(i, taken int) (a fetchAnswer, urgent bool) {
	part := &w.parts[i]
	p, err := w.partition(i)
	if err != nil {
		return w.refused(part, err), true
	}
	d, err := p.Read(w.reader, partitions.Want{
		CurrentEpoch: part.currentEpoch, Offset: part.offset, LastEpoch: part.lastFetchedEpoch, LogStart: part.followerStart,
		MaxBytes: min(int(part.maxBytes), w.maxBytes-taken), AtLeastOne: taken == 0,
	})
	if err != nil {
		return w.refused(part, err), true
	}
	w.pinned = append(w.pinned, d.Records)
	a = fetchAnswer{
		part: part, hw: d.HighWatermark, lastStable: d.LastStable, logStart: d.LogStart, hint: noHint,
		records: d.Records, aborted: d.Aborted, diverging: d.Diverging,
	}
	return a, d.Diverging != nil || d.Closed || part.followerHW < d.HighWatermark
}

// partition finds what to read from, the first time. A replica that is deleted
// later says so itself.
func (w *fetchWait) partition(i int) (*partitions.Partition, error) {
	if w.found == nil {
		w.found = make([]*partitions.Partition, len(w.parts))
	}
	if w.found[i] != nil {
		return w.found[i], nil
	}
	k := &w.parts[i].key
	p, err := findPartition(w.handler.parts, w.byTopicID, k.topic, k.id, int32(k.partition))
	w.found[i] = p
	if p != nil {
		w.parts[i].name = p.Name.Topic
	}
	return p, err
}

// refused is the answer of a partition that cannot be read. In a session an id
// may stand for a topic that has been made again: that is not the same as an id
// that was never known (KIP-516).
func (w *fetchWait) refused(part *fetchPart, err error) fetchAnswer {
	img := w.handler.parts.Image()
	if err == kerr.UnknownTopicId && part.name != "" {
		if _, again := img.TopicNamed(part.name); again {
			err = kerr.InconsistentTopicId
		}
	}
	a := refusedAnswer(part, err)
	if w.request.Version >= 16 {
		id := topicIDOf(img, part.key.topic, part.key.id)
		a.hint = hintFor(img, kafka.TopicIDPartition{Topic: id, Partition: part.key.partition}, err)
	}
	return a
}

// release gives up what was read.
func (w *fetchWait) release() {
	for i := range w.pinned {
		w.pinned[i].Close()
	}
	w.pinned, w.answers = w.pinned[:0], w.answers[:0]
}

func (w *fetchWait) park(limit time.Duration) {
	w.Init(w.handler.timers, w.try, w.finish)
	w.handler.metrics.fetches(w.reader).began()
	w.watches = make([]await.Watch, len(w.found))
	for i, p := range w.found {
		if p != nil {
			w.watches[i].Parked = &w.Parked
			p.AwaitData(w.reader, &w.watches[i])
		}
	}
	w.Start(limit)
}

func (w *fetchWait) finish(how await.Outcome) {
	w.handler.metrics.fetches(w.reader).ended(how)
	for i, p := range w.found {
		if p != nil {
			p.ForgetData(w.reader, &w.watches[i])
		}
	}
	if how == await.Expired {
		w.read() // what there is, even if it is not enough
	}
	w.answer()
}

// answer sends what was read. What leaves by sendfile stays pinned until the
// transport is done with it.
func (w *fetchWait) answer() {
	w.count()
	told := w.settle(w.answers)
	e := newFetchEncoder(w.request.Version)
	err := e.answers(w.sessionID, told, w.leaders(told))
	for err != nil { // a file that cannot be read: say so, where it happened
		w.fail(told, err)
		e.reset()
		err = e.answers(w.sessionID, told, nil)
	}
	w.send(e.parts(), func() {
		w.release()
		e.free()
	})
}

// fail replaces the answers of all partitions whose records cannot be read.
func (w *fetchWait) fail(told []fetchAnswer, err error) {
	for i := range told {
		a := &told[i]
		if a.records.Len > 0 {
			*a = refusedAnswer(a.part, err)
		}
	}
}

// refuse answers with an error for the whole request.
func (w *fetchWait) refuse(err error) {
	e := newFetchEncoder(w.request.Version)
	e.head(err, noSession, 0)
	e.tail(nil)
	w.send(e.parts(), e.free)
}

// leaders are the brokers that answers name instead of us (KIP-951).
func (w *fetchWait) leaders(told []fetchAnswer) (list []kmsg.FetchResponseBroker) {
	nodes := hintNodes{img: w.handler.parts.Image(), listener: w.request.Conn.Listener}
	for i := range told {
		if b, e, ok := nodes.endpoint(told[i].hint); ok {
			list = append(list, kmsg.FetchResponseBroker{NodeID: int32(b.ID), Host: e.Host, Port: int32(e.Port), Rack: b.Rack})
		}
	}
	return list
}
