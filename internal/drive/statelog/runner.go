// Package statelog is the runtime of every subject that decides, appends to a
// log, waits for the commit and applies. It owns the order of these steps and
// knows no rule: what to decide is a function over the subject's state, what to
// apply is the subject's own, and the log is somebody else's.
//
// Decisions are made on a speculative state: the committed one plus what was
// appended and is still on its way. So they may follow each other without
// waiting; each reply waits until its records are committed and applied.
// Losing leadership drops the speculative state, which is one assignment.
package statelog

import (
	"fmt"
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
	// the next decision and only when all records were appended; nil is nothing.
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
	// epoch is the one we lead in, or NoEpoch. Everything below means something
	// only while it is set.
	epoch   kafka.Epoch
	state   S
	end     kafka.Offset // one past the last record we appended, or found at the claim
	applied kafka.Offset // everything below is committed and applied
	parked  []parked     // ordered by end
	lost    error        // what to answer while we do not lead
}

type parked struct {
	end   kafka.Offset
	wrote bool // records of its own; else it waits for those it has seen
	done  func(error)
}

// Lost is the answer to who had records appended when leadership was lost: the
// next leader may have them and commit them, or not.
type Lost struct{ Why error }

func (l *Lost) Error() string { return l.Why.Error() }

// Unwrap gives what Renounce was told.
func (l *Lost) Unwrap() error { return l.Why }

// New makes a runner that does not lead yet.
func New[S, R any](subject Subject[S, R], log Log) *Runner[S, R] {
	return &Runner[S, R]{subject: subject, log: log, epoch: kafka.NoEpoch, lost: kerr.NotController}
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
	at, err := r.append(first, done)
	r.mu.Unlock()
	if err != nil || at == 0 {
		done(err)
	}
}

// claim is called with mu held.
func (r *Runner[S, R]) claim(epoch kafka.Epoch, state S, end kafka.Offset) {
	r.epoch, r.state, r.end, r.applied = epoch, r.subject.at(state, end), end, end
}

// Renounce stops to lead. Everything parked fails with why, and so does every
// request until the next claim. For those whose records were appended why is
// within a Lost.
func (r *Runner[S, R]) Renounce(why error) {
	r.mu.Lock()
	var none S
	waiting := r.parked
	r.epoch, r.state, r.parked, r.lost = kafka.NoEpoch, none, nil, why
	r.mu.Unlock()
	for _, p := range waiting {
		if p.wrote {
			p.done(&Lost{why})
		} else {
			p.done(why)
		}
	}
}

// Leading tells the epoch we lead in, or NoEpoch.
func (r *Runner[S, R]) Leading() kafka.Epoch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

// Do decides and appends, and calls done once: with nil after the records are
// committed and applied, or with the reason why that did not happen. A decision
// without records waits for what it may have seen uncommitted. done may be
// called before Do returns and must not block.
func (r *Runner[S, R]) Do(decide Decide[S, R], done func(error)) {
	r.mu.Lock()
	at, err := r.append(decide, done)
	r.mu.Unlock()
	if err != nil || at == 0 {
		done(err)
	}
}

// append is called with mu held. It returns a positive offset when done was
// parked at it, 0 when there is nothing to wait for.
func (r *Runner[S, R]) append(decide Decide[S, R], done func(error)) (kafka.Offset, error) {
	switch {
	case r.epoch == kafka.NoEpoch:
		return 0, r.lost
	case len(r.parked) >= MaxParked:
		return 0, kerr.Errorf(kerr.RequestTimedOut, "%d requests wait for their commit already", len(r.parked))
	}
	change, err := decide(r.state, r.end)
	if err != nil {
		return 0, err
	}
	if err := r.write(change); err != nil {
		return 0, err
	}
	if change.Then != nil {
		change.Then()
	}
	if r.end <= r.applied {
		return 0, nil
	}
	r.parked = append(r.parked, parked{r.end, len(change.Records) > 0, done})
	return r.end, nil
}

func (r *Runner[S, R]) write(change Change[R]) error {
	records := change.Records
	if change.Atomic && len(records) > MaxBatch {
		return kerr.Errorf(kerr.PolicyViolation, "the request needs %d records, more than the %d that are written at once", len(records), MaxBatch)
	}
	for len(records) > 0 {
		n := min(len(records), MaxBatch)
		if err := r.writeBatch(records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// writeBatch applies before it appends, so that records which do not apply
// never reach the log.
func (r *Runner[S, R]) writeBatch(records []R) error {
	next, err := r.subject.Apply(r.state, records)
	if err != nil {
		return fmt.Errorf("decided records do not apply: %w", err)
	}
	framed := make([][]byte, len(records))
	for i, rec := range records {
		if framed[i], err = r.subject.Encode(nil, rec); err != nil {
			return fmt.Errorf("encode decided record: %w", err)
		}
	}
	end, err := r.log.Append(r.epoch, framed)
	if err != nil {
		return err
	}
	r.state, r.end = r.subject.at(next, end), end
	return nil
}

// Applied says that everything below end is committed and applied, and answers
// what waited for that.
func (r *Runner[S, R]) Applied(end kafka.Offset) {
	r.mu.Lock()
	r.applied = max(r.applied, end)
	n := 0
	for n < len(r.parked) && r.parked[n].end <= end {
		n++
	}
	due := r.parked[:n:n]
	r.parked = r.parked[n:]
	if len(r.parked) == 0 {
		r.parked = nil
	}
	r.mu.Unlock()
	for _, p := range due {
		p.done(nil)
	}
}
