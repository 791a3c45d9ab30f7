package storage

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// verified sends one record of producer 7 whose transaction has to be verified.
func (r *rig) verified(g Guard, epoch int16, sequence int32) error {
	b := records("v", 1, 1000, batch.Options{
		Producer: &batch.Producer{ID: 7, Epoch: epoch, Sequence: sequence}, Transactional: true,
	})
	_, err := r.AppendFrom(b, 1, Origin{Verified: true, Guard: g})
	return err
}

// tries begins a transaction that is not open yet.
func (r *rig) tries(a Attempt) Guard {
	r.t.Helper()
	a.Producer = 7
	g, open := r.BeginTransaction(a)
	if open || g == 0 {
		r.t.Fatalf("guard %d, open %v", g, open)
	}
	return g
}

func (r *rig) wantsError(what string, got error, want kerr.Code) {
	r.t.Helper()
	if want == kerr.None && got != nil || want != kerr.None && !errors.Is(got, want) {
		r.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestATransactionalBatchIsTakenWithItsGuard(t *testing.T) {
	r := newRig(t)
	r.wantsError("nobody has asked", r.verified(0, 0, 0), kerr.InvalidTxnState)
	r.wantsError("a guard of nobody", r.verified(1, 0, 0), kerr.InvalidTxnState)
	g := r.tries(Attempt{})
	if again := r.tries(Attempt{}); again != g {
		t.Errorf("a retry has guard %d, the first had %d", again, g)
	}
	r.wantsError("with the guard", r.verified(g, 0, 0), kerr.None)
	if g, open := r.BeginTransaction(Attempt{Producer: 7}); !open || g != 0 {
		t.Errorf("while it is open: guard %d, open %v", g, open)
	}
	r.wantsError("while it is open", r.verified(0, 0, 1), kerr.None)
	if _, open := r.BeginTransaction(Attempt{Producer: 7, Epoch: 1}); open {
		t.Error("the transaction of epoch 0 is open in epoch 1")
	}
	must(t, r.end(0, batch.Commit, 0))
	r.wantsError("after the end", r.verified(g, 0, 2), kerr.InvalidTxnState)
	r.wantsError("a retry after the end", r.verified(0, 0, 1), kerr.None) // a duplicate
	if r.End() != 3 {
		t.Errorf("the log ends at %d, want 2 records and a marker", r.End())
	}
}

// See Guard: the answer about a transaction that was aborted meanwhile must not
// let a batch into the next one.
func TestAMarkerTakesTheGuardAway(t *testing.T) {
	r := newRig(t)
	old := r.tries(Attempt{})
	must(t, r.end(0, batch.Abort, 0))
	r.wantsError("the answer that was overtaken", r.verified(old, 0, 0), kerr.InvalidTxnState)
	fresh := r.tries(Attempt{})
	r.wantsError("with the guard before", r.verified(old, 0, 0), kerr.InvalidTxnState)
	r.wantsError("with the guard of now", r.verified(fresh, 0, 0), kerr.None)
}

func TestAFollowersMarkerTakesTheGuardAway(t *testing.T) {
	r := newRig(t)
	old := r.tries(Attempt{})
	b := batch.AppendEndTxn(nil, batch.EndTxn{Producer: 7})
	batch.SetLeaderEpoch(b, 1)
	_, err := r.AppendFollower(b, 1)
	must(t, err)
	r.wantsError("as leader again", r.verified(old, 0, 0), kerr.InvalidTxnState)
}

// The state of a producer that is not known takes any first sequence. What was
// tried before says which one it is.
func TestTheFirstBatchThatWasTriedGetsInFirst(t *testing.T) {
	r := newRig(t)
	r.tries(Attempt{Sequence: 5})
	g := r.tries(Attempt{Sequence: 3})
	r.wantsError("behind one that was tried", r.verified(g, 0, 5), kerr.OutOfOrderSequenceNumber)
	r.wantsError("the first", r.verified(g, 0, 3), kerr.None)
	r.wantsError("the next", r.verified(0, 0, 4), kerr.None)
	must(t, r.end(0, batch.Commit, 0))
	g = r.tries(Attempt{Epoch: 1, Sequence: 0})
	r.tries(Attempt{Sequence: 9}) // of the epoch before: says nothing about this one
	r.wantsError("of the new epoch", r.verified(g, 1, 0), kerr.None)
}

// "For transactions v2 ... reject non-zero sequences when there is no producer id
// state": each transaction has an epoch of its own and begins with 0.
func TestAProducerThatAddsItsPartitionsBeginsWithZero(t *testing.T) {
	r := newRig(t)
	g := r.tries(Attempt{Sequence: 4, Adds: true})
	r.wantsError("nothing is known of it", r.verified(g, 0, 4), kerr.OutOfOrderSequenceNumber)
	g = r.tries(Attempt{Sequence: 0, Adds: true})
	r.wantsError("from 0 on", r.verified(g, 0, 0), kerr.None)
	must(t, r.end(1, batch.Commit, 0)) // raises the epoch
	g = r.tries(Attempt{Epoch: 1, Sequence: 1, Adds: true})
	r.wantsError("the next transaction not from 0 on", r.verified(g, 1, 1), kerr.OutOfOrderSequenceNumber)
	g = r.tries(Attempt{Epoch: 1, Sequence: 0, Adds: true})
	r.wantsError("the next transaction", r.verified(g, 1, 0), kerr.None)
}

// Under transaction.version 2 each marker raises the producer's epoch, so one with
// the epoch of the producer is of the transaction before (KIP-1228).
func TestAMarkerOfTransactionVersion2RaisesTheEpoch(t *testing.T) {
	r := newRig(t)
	send := func(epoch int16) {
		t.Helper()
		_, err := r.send(epoch, 0, 1, true)
		must(t, err)
	}
	mark := func(what string, epoch, version int16, want kerr.Code) {
		t.Helper()
		b := batch.AppendEndTxn(nil, batch.EndTxn{Producer: 7, Epoch: epoch, Commit: true})
		_, err := r.AppendFrom(b, 1, Origin{TransactionVersion: version})
		r.wantsError(what, err, want)
	}
	send(3)
	mark("of the transaction before", 3, 2, kerr.InvalidProducerEpoch)
	mark("of this transaction", 4, 2, kerr.None)
	mark("once more, as its answer was lost", 4, 2, kerr.None)
	send(4)
	mark("once more when the next has begun", 4, 2, kerr.InvalidProducerEpoch)
	mark("with transaction.version 1", 4, 1, kerr.None)
	send(math.MaxInt16)
	mark("when the epoch cannot be raised", math.MaxInt16, 2, kerr.None)
	mark("of an old epoch", 4, 1, kerr.InvalidProducerEpoch)
}

func TestAttemptsThatNothingCameOfExpire(t *testing.T) {
	r := newRig(t)
	g := r.tries(Attempt{})
	r.clock.now = r.clock.now.Add(time.Hour - time.Millisecond)
	r.ExpireProducers(time.Hour)
	if again := r.tries(Attempt{}); again != g {
		t.Error("an attempt expired too early")
	}
	r.clock.now = r.clock.now.Add(time.Millisecond)
	r.ExpireProducers(time.Hour)
	if again := r.tries(Attempt{}); again == g {
		t.Error("an attempt stayed for longer than a producer")
	}
}

func TestOpenTransactionsTellSinceWhen(t *testing.T) {
	r := newRig(t)
	if at := r.OpenSince(); at != 0 {
		t.Errorf("without a transaction: %d", at)
	}
	_, err := r.send(0, 0, 1, true)
	must(t, err)
	if at := r.OpenSince(); at != r.clock.now.UnixMilli() {
		t.Errorf("since %d", at)
	}
	must(t, r.end(0, batch.Abort, 0))
	if at := r.OpenSince(); at != 0 {
		t.Errorf("after the end: %d", at)
	}
}

// A transaction whose first records were deleted does not hold the last stable
// offset below the log start.
func TestTheLastStableOffsetIsNotBelowTheLogStart(t *testing.T) {
	r := newRig(t)
	_, err := r.send(0, 0, 4, true)
	must(t, err)
	must(t, r.SetStart(3))
	if got := r.LastStable(4); got != 3 {
		t.Errorf("last stable offset %d, want 3", got)
	}
	if got := r.LastStable(kafka.Offset(2)); got != 2 {
		t.Errorf("last stable offset %d above the high watermark", got)
	}
}
