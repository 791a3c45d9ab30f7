package api

import (
	"cmp"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
	"github.com/ottla/ottla/internal/edge/await"
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
	quota    *throttle.Quota
	metrics  *Metrics
}

func newFetch(d DataDeps) *fetch {
	h := &fetch{
		parts: d.Partitions, timers: d.Timers, maxBytes: d.FetchMaxBytes, quota: d.Quota, metrics: cmp.Or(d.Metrics, &Metrics{}),
		sessions: &fetchSessions{Slots: d.SessionSlots, ReviewEvery: min(longestReview, d.Partitions.TickEvery()/4)},
	}
	h.metrics.sessions.Store(h.sessions)
	return h
}

// longestReview bounds how long a follower may seem to have been silent that was
// not. A look at 10,000 partitions takes a few milliseconds.
const longestReview = time.Second

func (h *fetch) route() Route {
	return raw(1, 4, 18, func(r *transport.Request, reply func(transport.Reply)) {
		h.serve(r, func(body []transport.Part, release func()) { reply(transport.FromParts(body, release)) })
	})
}

// serve answers at once when there is enough, when something is wrong, or when
// the client does not want to wait. Else the fetch is parked.
func (h *fetch) serve(r *transport.Request, send func(body []transport.Part, release func())) {
	req := r.Body.(*kmsg.FetchRequest)
	w := &fetchWait{
		handler: h, request: r, send: send, reader: readerOf(req),
		minBytes: int(req.MinBytes), maxBytes: max(min(int(req.MaxBytes), h.maxBytes), 0),
	}
	opened, err := h.sessions.begin(req, w, time.Now())
	if err != nil {
		w.refuse(err)
		return
	}
	w.fetching = opened
	w.before.giveWay()
	if w.serveNow(req.MaxWaitMillis <= 0 || w.empty) {
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
	case req.Version >= 15 && req.ReplicaState.ID == debuggingConsumer, req.Version < 15 && req.ReplicaID == debuggingConsumer:
		r.AnyReplica = true
	}
	return r
}

// debuggingConsumer is the replica id with which Kafka's tools read from whichever
// replica they ask, to compare them. Brokers of ours that mend damage use it, too.
const debuggingConsumer = -2

// fetchWait is one fetch from its request to its answer.
type fetchWait struct {
	await.Parked
	fetching
	handler            *fetch
	request            *transport.Request
	reader             partitions.Reader
	minBytes, maxBytes int
	send               func(body []transport.Part, release func())

	// Guarded by the set's mu until the fetch has yielded; its own afterwards.
	parked  bool
	answers []fetchAnswer
	woken   []*await.Parked // by what was read; to be poked without the lock
}

// serveNow reads for the first time, and tells whether the answer may leave: when
// there is enough, and in any case when final.
func (w *fetchWait) serveNow(final bool) (done bool) {
	w.set.mu.Lock()
	done = w.step(final)
	w.unlock()
	return done
}

// try tells whether the answer of a parked fetch may leave.
func (w *fetchWait) try() (done bool) { return w.serveNow(false) }

// unlock gives up the lock of the set and then pokes whom the reading has woken:
// each of those may take a lock of that kind.
func (w *fetchWait) unlock() {
	w.set.mu.Unlock()
	await.PokeAll(w.woken)
	w.woken = w.woken[:0]
}

// step reads and settles the answer if there is enough, or if it is final. Else
// what was read is given up, so that a parked fetch holds no files. A fetch whose
// turn has ended has nothing to say. The lock of the set is held.
func (w *fetchWait) step(final bool) (done bool) {
	if w.set.turn != w {
		return true
	}
	bytes, urgent := w.read()
	if !final && !urgent && bytes < w.minBytes {
		w.release()
		return false
	}
	w.settle()
	w.set.yield(w)
	return true
}

// read looks at each partition in the queue in turn, as far as the limits go. Those
// that have nothing to say leave it. urgent means that waiting makes no sense:
// there is an error, the logs diverge, what was read lies in a segment that does
// not grow, or a follower does not know the high watermark yet (KIP-1166).
func (w *fetchWait) read() (bytes int, urgent bool) {
	w.set.collect()
	if w.answers == nil {
		w.answers = make([]fetchAnswer, 0, w.set.queue.n)
	}
	for p := w.set.queue.first; p != nil; {
		next := p.following
		a, now := w.readOne(p, bytes)
		bytes += int(a.records.Len)
		urgent = urgent || now
		if w.full || a.readable || now || p.isNews(&a) {
			w.answers = append(w.answers, a)
		} else {
			w.set.queue.remove(p)
		}
		p = next
	}
	return bytes, urgent
}

// readOne looks at one partition. Where that fails the replica is looked for
// once more: it may be that of a topic that has been deleted, and made again.
func (w *fetchWait) readOne(part *fetchPart, taken int) (a fetchAnswer, urgent bool) {
	known := part.found != nil
	a, urgent = w.readFound(part, taken)
	if known && a.err != nil {
		part.lose()
		a, urgent = w.readFound(part, taken)
	}
	return a, urgent
}

func (w *fetchWait) readFound(part *fetchPart, taken int) (a fetchAnswer, urgent bool) {
	p, err := w.find(part)
	if err != nil {
		return w.refused(part, err), true
	}
	want := partitions.Want{
		CurrentEpoch: part.currentEpoch, Offset: part.offset, LastEpoch: part.lastFetchedEpoch, LogStart: part.followerStart,
		MaxBytes: min(int(part.maxBytes), w.maxBytes-taken), AtLeastOne: taken == 0,
		Throttled: w.throttled(p),
	}
	d, woken, err := p.ReadAndWatch(w.reader, want, w.watch(part), w.woken)
	w.woken = woken
	if err != nil {
		return w.refused(part, err), true
	}
	a = fetchAnswer{
		part: part, hw: d.HighWatermark, lastStable: d.LastStable, logStart: d.LogStart, hint: noHint,
		records: d.Records, aborted: d.Aborted, diverging: d.Diverging, readable: d.Readable,
	}
	return a, d.Diverging != nil || d.Closed || part.followerHW < highest(&d, part.offset)
}

// watch is what to watch a partition with. A fetch without a session watches only
// once it is parked.
func (w *fetchWait) watch(part *fetchPart) *await.Watch {
	if w.set.single && !w.parked {
		return nil
	}
	return &part.watch
}

// find finds what to read from.
func (w *fetchWait) find(part *fetchPart) (*partitions.Partition, error) {
	if part.found != nil {
		return part.found, nil
	}
	k := &part.key
	p, err := findPartition(w.handler.parts, w.set.byTopicID, k.topic, k.id, int32(k.partition))
	part.found = p
	if p != nil {
		part.name = p.Name.Topic
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

// settle picks the answers that are told and remembers what the client then
// knows. Partitions that gave data move to the end of the order, so that each has
// its turn; those that have said all there is leave the queue.
func (w *fetchWait) settle() {
	w.count()
	told := w.answers[:0]
	for i := range w.answers {
		a := &w.answers[i]
		p, q := a.part, &w.set.queue
		if w.full || p.isNews(a) {
			p.tell(a)
			told = append(told, *a)
		}
		switch {
		case w.set.single:
		case a.records.Len > 0:
			q.pushAgain(p)
		case !a.readable && a.err == nil && a.diverging == nil:
			q.remove(p)
		}
	}
	w.answers = told
	w.spend()
}

// release gives up what was read.
func (w *fetchWait) release() {
	for i := range w.answers {
		w.answers[i].records.Close()
	}
	w.answers = w.answers[:0]
}

func (w *fetchWait) park(limit time.Duration) {
	w.Init(w.handler.timers, w.try, w.finish)
	w.handler.metrics.fetches(w.reader).began()
	w.set.mu.Lock()
	w.parked = true
	if w.set.turn == w {
		w.set.moved.Attend(&w.Parked)
	}
	w.set.mu.Unlock()
	w.Start(limit)
}

// giveWay lets a parked fetch see that its turn is over.
func (w *fetchWait) giveWay() {
	if w != nil {
		w.Poke()
	}
}

// finish answers with what was settled, or, when the time is up, with what there
// is, even if it is not enough.
func (w *fetchWait) finish(how await.Outcome) {
	w.handler.metrics.fetches(w.reader).ended(how)
	w.set.mu.Lock()
	if how == await.Expired {
		w.step(true)
	}
	w.set.yield(w)
	w.unlock()
	w.answer()
}

// answer sends what was settled. What leaves by sendfile stays pinned until the
// transport is done with it.
func (w *fetchWait) answer() {
	e := newFetchEncoder(w.request.Version)
	err := e.answers(w.sessionID, w.answers, w.leaders())
	for err != nil { // a file that cannot be read: say so, where it happened
		w.fail(err)
		e.reset()
		err = e.answers(w.sessionID, w.answers, nil)
	}
	w.send(e.parts(), func() {
		w.release()
		e.free()
	})
}

// fail replaces the answers of all partitions whose records cannot be read. In
// the session they were told, and have to be told anew.
func (w *fetchWait) fail(err error) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	for i := range w.answers {
		a := &w.answers[i]
		if a.records.Len > 0 {
			a.records.Close()
			*a = refusedAnswer(a.part, err)
			a.part.said = false
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
func (w *fetchWait) leaders() (list []kmsg.FetchResponseBroker) {
	nodes := hintNodes{img: w.handler.parts.Image(), listener: w.request.Conn.Listener}
	for i := range w.answers {
		if b, e, ok := nodes.endpoint(w.answers[i].hint); ok {
			list = append(list, kmsg.FetchResponseBroker{NodeID: int32(b.ID), Host: e.Host, Port: int32(e.Port), Rack: b.Rack})
		}
	}
	return list
}
