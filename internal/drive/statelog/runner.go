// Package statelog is the runtime of every subject that decides, appends to a
// log, waits for the commit and applies. It owns the order of these steps and
// knows no rule: what to decide is a function over the subject's state, what to
// apply is the subject's own, and the log is somebody else's.
//
// Decisions are made on a speculative state: the committed one plus what was
// appended and is still on its way. So they may follow each other without
// waiting; each reply waits until its records are committed and applied.
// Losing leadership drops the speculative state, which is one assignment.
//
// What is decided while the log takes a batch, or while one has not been
// committed, goes into the next one: a storm of small decisions costs few appends,
// and a lone one waits for nobody.
package statelog

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// MaxParked bounds the replies that wait for their commit. When it is reached,
// a request is refused with REQUEST_TIMED_OUT before anything is decided.
const MaxParked = 20_000

// MaxBatch is the largest number of records that one batch of the log takes.
const MaxBatch = 10_000

// Log is where records go. Append hands over one batch that is committed or
// lost as a whole, and returns the offset one past its last record. It must not
// wait for the commit.
type Log interface {
	Append(epoch kafka.Epoch, framed [][]byte) (kafka.Offset, error)
}

// Subject tells how a state S moves by records R.
type Subject[S, R any] struct {
	// Apply gives the state after records; prev stays as it is.
	Apply func(prev S, records []R) (S, error)
	// Encode appends a record's stored form to dst.
	Encode func(dst []byte, record R) ([]byte, error)
	// At tells the state where the log ends, which is further than its records
	// say when control records lie between. Nil: the state need not know.
	At func(state S, end kafka.Offset) S
}

func (s Subject[S, R]) at(state S, end kafka.Offset) S {
	if s.At == nil {
		return state
	}
	return s.At(state, end)
}

// Change is what was decided: the records that are the change, and whether
// they must all be in one batch.
type Change[R any] struct {
	Records []R
	Atomic  bool
	// Then changes what the subject keeps beside its state. It is called before
	// the next decision and only when all records were appended, and those before
	// them, which the log is waited for; nil is nothing.
	Then func()
}

// Decide looks at the speculative state and the offset that the next record
// will most likely get, and says what to change. An error refuses.
type Decide[S, R any] func(state S, next kafka.Offset) (Change[R], error)

// Runner runs one subject while this node leads its log.
type Runner[S, R any] struct {
	subject Subject[S, R]
	log     Log

	mu sync.Mutex
	// moved tells that the log has answered, that settling ended, or that
	// leadership did.
	moved sync.Cond
	// epoch is the one we lead in, or NoEpoch. Everything below means something
	// only while it is set.
	epoch   kafka.Epoch
	term    uint64 // counts claims and renounces
	state   S
	end     kafka.Offset // where the log will end with all that was decided
	applied kafka.Offset // everything below is committed and applied
	parked  []parked     // ordered by end
	lost    error        // what to answer while we do not lead
	outbox  outbox[S]
	block   []byte // what is left of it takes the next records; small, or nil
	// taken are the batches that the log has and that are not applied yet.
	taken []taken[S]
	// settling: a decision waits for the log because it changes something beside
	// the state; nothing is decided meanwhile.
	settling bool

	work sync.WaitGroup // appends that nobody's request carries
}

type parked struct {
	begin, end kafka.Offset
	wrote      bool // records of its own, from begin on; else it waits for those it has seen
	done       func(error)
}

// taken is a batch in the log, and what was worked out for it.
type taken[S any] struct {
	begin, end kafka.Offset
	steps      []S
}

// Lost is the answer to who had records appended when leadership was lost: the
// next leader may have them and commit them, or not.
type Lost struct{ Why error }

func (l *Lost) Error() string { return l.Why.Error() }

// Unwrap gives what Renounce was told.
func (l *Lost) Unwrap() error { return l.Why }

// New makes a runner that does not lead yet.
func New[S, R any](subject Subject[S, R], log Log) *Runner[S, R] {
	r := &Runner[S, R]{subject: subject, log: log, epoch: kafka.NoEpoch, lost: kerr.NotController}
	r.moved.L = &r.mu
	return r
}

// Claim begins to lead in epoch: state is the committed one, end the log's end.
func (r *Runner[S, R]) Claim(epoch kafka.Epoch, state S, end kafka.Offset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claim(epoch, state, end)
}

// ClaimWith is Claim together with the first decision of the epoch, as of Do:
// no other one comes before it.
func (r *Runner[S, R]) ClaimWith(epoch kafka.Epoch, state S, end kafka.Offset, first Decide[S, R], done func(error)) {
	r.mu.Lock()
	r.claim(epoch, state, end)
	r.do(first, done, false)
}

// claim is called with mu held.
func (r *Runner[S, R]) claim(epoch kafka.Epoch, state S, end kafka.Offset) {
	r.term++
	r.epoch, r.state, r.end, r.applied = epoch, r.subject.at(state, end), end, end
	r.outbox = outbox[S]{good: r.state, goodEnd: end, handed: end}
	r.taken, r.settling = nil, false
}

// Renounce stops to lead. Everything parked fails with why, and so does every
// request until the next claim. For those whose records the log may have why is
// within a Lost.
func (r *Runner[S, R]) Renounce(why error) {
	r.mu.Lock()
	var none S
	waiting, handed := r.parked, r.outbox.handed
	r.term++
	r.epoch, r.state, r.parked, r.lost = kafka.NoEpoch, none, nil, why
	r.outbox, r.taken, r.settling = outbox[S]{}, nil, false
	r.moved.Broadcast()
	r.mu.Unlock()
	for _, p := range waiting {
		if p.wrote && p.begin < handed {
			p.done(&Lost{why})
		} else {
			p.done(why)
		}
	}
}

// Wait waits, after the last Renounce, until nothing of the runner's is running.
func (r *Runner[S, R]) Wait() { r.work.Wait() }

// Leading tells the epoch we lead in, or NoEpoch.
func (r *Runner[S, R]) Leading() kafka.Epoch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

// Do decides, has the records appended, and calls done once: with nil after they
// are committed and applied, or with the reason why that did not happen. A decision
// without records waits for what it may have seen uncommitted. done may be
// called before Do returns and must not block.
func (r *Runner[S, R]) Do(decide Decide[S, R], done func(error)) {
	r.mu.Lock()
	for r.settling {
		r.moved.Wait()
	}
	r.do(decide, done, false)
}

// Post is Do that does not wait for the log while others wait for their commits:
// who serves many requests goes on to the next one, whose records may then go into
// the same batch. The order is that of the decisions, as with Do.
func (r *Runner[S, R]) Post(decide Decide[S, R], done func(error)) {
	r.mu.Lock()
	for r.settling {
		r.moved.Wait()
	}
	r.do(decide, done, true)
}

// do is called with mu held and gives it back. later leaves the records to another
// goroutine if others wait for their commits; who is alone is quicker without one.
func (r *Runner[S, R]) do(decide Decide[S, R], done func(error), later bool) {
	waits, then, err := r.decide(decide, done)
	var all []answer
	switch {
	case err != nil:
	case then != nil:
		all = r.settle(then)
	case r.ready() && !(later && len(r.parked) > 1):
		all = r.gather()
	}
	r.flushLater()
	r.mu.Unlock()
	tell(all)
	if err != nil || !waits {
		done(err)
	}
}

// decide puts what is decided into the outbox and parks done, if there is
// something to wait for. mu is held.
func (r *Runner[S, R]) decide(decide Decide[S, R], done func(error)) (waits bool, then func(), err error) {
	switch {
	case r.epoch == kafka.NoEpoch:
		return false, nil, r.lost
	case len(r.parked) >= MaxParked:
		return false, nil, kerr.Errorf(kerr.RequestTimedOut, "%d requests wait for their commit already", len(r.parked))
	}
	change, err := decide(r.state, r.end)
	if err != nil {
		return false, nil, err
	}
	begin := r.end
	if err := r.write(change); err != nil {
		return false, nil, err
	}
	if r.end > min(r.applied, r.outbox.goodEnd) {
		r.parked = append(r.parked, parked{begin, r.end, r.end > begin, done})
		waits = true
	}
	return waits, change.Then, nil
}

// write puts a change into the outbox, all or nothing: records that do not apply
// never reach the log.
func (r *Runner[S, R]) write(change Change[R]) error {
	if len(change.Records) == 0 {
		return nil
	}
	if change.Atomic && len(change.Records) > MaxBatch {
		return kerr.Errorf(kerr.PolicyViolation, "the request needs %d records, more than the %d that are written at once", len(change.Records), MaxBatch)
	}
	batches, state, end := []batch[S](nil), r.state, r.end
	for records := range slices.Chunk(change.Records, MaxBatch) {
		next, err := r.subject.Apply(state, records)
		if err != nil {
			return fmt.Errorf("decided records do not apply: %w", err)
		}
		b, err := r.encode(records)
		if err != nil {
			return err
		}
		end += kafka.Offset(len(records))
		state = r.subject.at(next, end)
		b.after, b.end, b.steps = state, end, []S{next}
		batches = append(batches, b)
	}
	if err := r.outbox.add(batches); err != nil {
		return err
	}
	r.state, r.end = state, end
	return nil
}

// A block of encoded records has room for several small changes, or for a part of
// a large one. As much as leastRoom is free where a record begins.
const (
	leastRoom  = 512
	smallBlock = 4 << 10
	largeBlock = 64 << 10
)

// encode gives a batch with the stored form of records. They lie in blocks: what
// a large change takes is not copied as it grows, and small ones share theirs. mu
// is held.
func (r *Runner[S, R]) encode(records []R) (b batch[S], err error) {
	b.framed = make([][]byte, len(records))
	block := r.block
	r.block = nil
	for i, rec := range records {
		if cap(block)-len(block) < leastRoom {
			block = make([]byte, 0, min(max(128*(len(records)-i), smallBlock), largeBlock))
		}
		begin := len(block)
		if block, err = r.subject.Encode(block, rec); err != nil {
			return b, fmt.Errorf("encode decided record: %w", err)
		}
		b.framed[i] = block[begin:len(block):len(block)]
		b.bytes += len(b.framed[i])
	}
	if cap(block) == smallBlock {
		r.block = block
	}
	return b, nil
}

// Applied says that everything below end is committed and applied. What gathered
// behind that goes to the log, then whoever waited for it is answered.
func (r *Runner[S, R]) Applied(end kafka.Offset) {
	r.mu.Lock()
	r.applied = max(r.applied, end)
	r.forget(end)
	all := r.due()
	for r.ready() {
		all = append(all, r.flush()...)
	}
	r.mu.Unlock()
	tell(all)
}

// Steps gives the states that were worked out for the records from begin to end,
// the last one being the state after all of them; none when they are not exactly a
// batch that was appended in this epoch and is not applied yet. Whoever learns of
// the commit need not apply the records a second time.
func (r *Runner[S, R]) Steps(epoch kafka.Epoch, begin, end kafka.Offset) []S {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch != epoch {
		return nil
	}
	at, _ := slices.BinarySearchFunc(r.taken, begin, func(t taken[S], begin kafka.Offset) int { return cmp.Compare(t.begin, begin) })
	if at == len(r.taken) || r.taken[at].begin != begin || r.taken[at].end != end {
		return nil
	}
	return r.taken[at].steps
}

// forget drops what was worked out for records below end.
func (r *Runner[S, R]) forget(end kafka.Offset) {
	n := 0
	for n < len(r.taken) && r.taken[n].end <= end {
		n++
	}
	clear(r.taken[:n])
	if r.taken = r.taken[n:]; len(r.taken) == 0 {
		r.taken = nil
	}
}
