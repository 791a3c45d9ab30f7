package storage

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// send is one batch of producer 7 with n records.
func (r *rig) send(epoch int16, sequence int32, n int, transactional bool) (Appended, error) {
	b := records(fmt.Sprintf("e%ds%d", epoch, sequence), n, 1000, batch.Options{
		Producer: &batch.Producer{ID: 7, Epoch: epoch, Sequence: sequence}, Transactional: transactional,
	})
	return r.AppendLeader(b, 1)
}

// end writes a transaction marker of producer 7.
func (r *rig) end(epoch int16, t batch.ControlType, coordinator int32) error {
	b := batch.NewBuilder(batch.Options{
		Producer: &batch.Producer{ID: 7, Epoch: epoch, Sequence: batch.NoSequence}, Transactional: true, Control: true,
	})
	b.AddControl(2000, t, []byte{0, 0, byte(coordinator >> 24), byte(coordinator >> 16), byte(coordinator >> 8), byte(coordinator)})
	_, err := r.AppendLeader(b.Build(nil), 1)
	return err
}

func TestSequencesOfAProducer(t *testing.T) {
	r := newRig(t)
	f := func(epoch int16, sequence int32, n int, want error, base kafka.Offset, duplicate bool) {
		t.Helper()
		a, err := r.send(epoch, sequence, n, false)
		if want != nil || err != nil {
			if !errors.Is(err, want) {
				t.Errorf("epoch %d sequence %d: %v, want %v", epoch, sequence, err, want)
			}
			return
		}
		if a.Base != base || a.End != base+kafka.Offset(n) || a.Duplicate != duplicate {
			t.Errorf("epoch %d sequence %d: %+v, want base %d, duplicate %v", epoch, sequence, a, base, duplicate)
		}
	}
	f(0, 5, 2, nil, 0, false)                           // an unknown producer may begin anywhere
	f(0, 7, 1, nil, 2, false)                           // the next
	f(0, 5, 2, nil, 0, true)                            // a retry is answered with its first offset
	f(0, 9, 1, kerr.OutOfOrderSequenceNumber, 0, false) // a gap
	f(0, 5, 1, kerr.OutOfOrderSequenceNumber, 0, false) // old, but not one of the batches
	for i := range kafka.Offset(rememberedBatches) {
		f(0, int32(8+i), 1, nil, 3+i, false)
	}
	f(0, 5, 2, kerr.OutOfOrderSequenceNumber, 0, false) // older than the five that are known
	f(0, 8, 1, nil, 3, true)
	f(1, 3, 1, kerr.OutOfOrderSequenceNumber, 0, false) // a new epoch begins with 0
	f(1, 0, 1, nil, 8, false)
	f(0, 13, 1, kerr.InvalidProducerEpoch, 0, false) // the old epoch is fenced
	r.wants(8, "8=e1s0-0")
}

func TestSequencesWrapToZero(t *testing.T) {
	r := newRig(t)
	for _, sequence := range []int32{math.MaxInt32 - 1, 1} { // two records, then three over the edge
		n := 2
		if sequence == 1 {
			sequence, n = 0, 3
		}
		if _, err := r.send(0, sequence, n, false); err != nil {
			t.Fatal(err)
		}
	}
	if p := r.Producers(); p[0].LastSequence != 2 {
		t.Errorf("last sequence %d, want 2", p[0].LastSequence)
	}
}

func TestARefusedBatchChangesNothing(t *testing.T) {
	r := newRig(t)
	_, err := r.send(0, 0, 1, false)
	must(t, err)
	size := r.Size()
	if _, err := r.send(0, 9, 1, false); err == nil {
		t.Fatal("a gap was taken")
	}
	if r.End() != 1 || r.Size() != size {
		t.Errorf("the log grew to %d, %d bytes", r.End(), r.Size())
	}
	_, err = r.send(0, 1, 1, false)
	must(t, err)
}

func TestProducerStateOutlivesARestart(t *testing.T) {
	for _, clean := range []bool{true, false} {
		r := newRig(t)
		for i := range int32(8) {
			_, err := r.send(3, i, 1, false)
			must(t, err)
			if i == 4 {
				must(t, r.Roll())
			}
		}
		r.reopen(clean)
		a, err := r.send(3, 7, 1, false)
		must(t, err)
		if !a.Duplicate || a.Base != 7 {
			t.Errorf("clean %v: the last batch again: %+v, want the duplicate at 7", clean, a)
		}
		_, err = r.send(3, 8, 1, false)
		must(t, err)
	}
}

func TestProducersExpireByTheLaterOfTheirTimeAndOurs(t *testing.T) {
	r := newRig(t)
	_, err := r.send(0, 0, 1, false) // its timestamp is of 1970
	must(t, err)
	r.clock.now = r.clock.now.Add(time.Hour - time.Millisecond)
	r.ExpireProducers(time.Hour)
	if len(r.Producers()) != 1 {
		t.Error("a producer was forgotten by the time of its records alone")
	}
	r.clock.now = r.clock.now.Add(time.Millisecond)
	r.ExpireProducers(time.Hour)
	if len(r.Producers()) != 0 {
		t.Error("a producer was kept for longer than asked")
	}
}

func TestTransactionsBoundTheLastStableOffset(t *testing.T) {
	r := newRig(t)
	stable := func(hw, want kafka.Offset) {
		t.Helper()
		if got := r.LastStable(hw); got != want {
			t.Errorf("last stable offset under %d is %d, want %d", hw, got, want)
		}
	}
	r.append(plain("a", 2))
	_, err := r.send(0, 0, 2, true)
	must(t, err)
	r.append(plain("b", 1))
	stable(5, 2)
	stable(1, 1)
	if _, err := r.send(0, 2, 1, false); !errors.Is(err, kerr.InvalidTxnState) {
		t.Errorf("a batch outside of its open transaction: %v", err)
	}
	must(t, r.end(0, batch.Abort, 3))
	stable(5, 2) // the marker at 5 is not replicated
	stable(6, 6)
	must(t, r.end(0, batch.Abort, 3)) // a second marker ends nothing
	if err := r.end(0, batch.Commit, 2); !errors.Is(err, kerr.TransactionCoordinatorFenced) {
		t.Errorf("a marker of an older coordinator: %v", err)
	}
	want := []AbortedTxn{{Producer: 7, First: 2, Last: 5, Stable: 6}}
	for _, clean := range []bool{false, true} {
		got, err := r.AbortedTxns(0, 7)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("aborted transactions are %v, want %v", got, want)
		}
		r.reopen(clean)
	}
	if got, err := r.AbortedTxns(6, 7); err != nil || len(got) != 0 {
		t.Errorf("for [6, 7) there are %v %v, want none", got, err)
	}
	must(t, r.TruncateTo(5))
	if got, err := r.AbortedTxns(0, 5); err != nil || len(got) != 0 {
		t.Errorf("after the marker was truncated there are %v %v, want none", got, err)
	}
	stable(5, 2)
}

func TestACommittedTransactionIsNotAborted(t *testing.T) {
	r := newRig(t)
	_, err := r.send(0, 0, 2, true)
	must(t, err)
	must(t, r.end(1, batch.Commit, 0)) // the marker raises the epoch (KIP-890)
	if got, err := r.AbortedTxns(0, 3); err != nil || len(got) != 0 {
		t.Errorf("there are %v %v, want none", got, err)
	}
	if _, err := r.send(0, 2, 1, true); !errors.Is(err, kerr.InvalidProducerEpoch) {
		t.Errorf("the epoch before the marker's: %v, want INVALID_PRODUCER_EPOCH", err)
	}
	_, err = r.send(1, 0, 1, true)
	must(t, err)
}

func TestFollowersNeverRejectAProducer(t *testing.T) {
	leader, f := newRig(t), newRig(t)
	for _, step := range []int32{0, 1} {
		_, err := leader.send(0, step, 1, false)
		must(t, err)
	}
	s, err := leader.Read(1, 1<<20, 2, true)
	must(t, err)
	b, err := s.AppendTo(nil)
	must(t, err)
	s.Close()
	_, err = f.AppendFollower(b, 1) // begins with sequence 1, as after a truncation at the leader
	must(t, err)
	if got := strings.Join(valuesOf(t, f.Log, 0), " "); got != "1=e0s1-0" {
		t.Errorf("the follower holds %q", got)
	}
}
