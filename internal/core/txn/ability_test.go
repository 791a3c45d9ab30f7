package txn

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

// What Apache Kafka 4.4 tells producers of each version of Produce, by what their
// coordinator has answered.
func TestWhatProducersAreTold(t *testing.T) {
	f := func(answer, classic, abortable, adding kerr.Code) {
		t.Helper()
		for version, want := range map[int16]kerr.Code{3: classic, 10: classic, 11: abortable, 12: adding, 13: adding} {
			if got := AbilityOf(version).Told(answer); kerr.Of(got) != want {
				t.Errorf("%v to version %d is %v, want %v", answer, version, got, want)
			}
		}
	}
	same := func(answer, told kerr.Code) { t.Helper(); f(answer, told, told, told) }
	same(kerr.None, kerr.None)
	f(kerr.TransactionAbortable, kerr.InvalidTxnState, kerr.TransactionAbortable, kerr.TransactionAbortable)
	f(kerr.ConcurrentTransactions, kerr.NotEnoughReplicas, kerr.NotEnoughReplicas, kerr.ConcurrentTransactions)
	same(kerr.NetworkException, kerr.NotEnoughReplicas)
	same(kerr.CoordinatorLoadInProgress, kerr.NotEnoughReplicas)
	same(kerr.CoordinatorNotAvailable, kerr.NotEnoughReplicas)
	same(kerr.NotCoordinator, kerr.NotEnoughReplicas)
	same(kerr.ProducerFenced, kerr.InvalidProducerEpoch)
	same(kerr.InvalidProducerIdMapping, kerr.InvalidProducerIdMapping)
	same(kerr.ClusterAuthorizationFailed, kerr.InvalidTxnState)
	same(kerr.InvalidTxnState, kerr.InvalidTxnState)
}

// The message names the cause, as NOT_ENOUGH_REPLICAS says nothing of it.
func TestWhatCannotBeVerifiedNamesTheCause(t *testing.T) {
	err := Classic.Told(kerr.CoordinatorLoadInProgress)
	if got, want := *kerr.Message(err), "unable to verify that the partition has been added to the transaction: COORDINATOR_LOAD_IN_PROGRESS"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOnlyWhoAddsAsksAgain(t *testing.T) {
	f := func(adds bool, code kerr.Code, again bool) {
		t.Helper()
		if (Transaction{Adds: adds}).Again(code) != again {
			t.Errorf("adds %v, %v: again is not %v", adds, code, again)
		}
	}
	f(true, kerr.ConcurrentTransactions, true)
	f(true, kerr.CoordinatorLoadInProgress, false)
	f(false, kerr.ConcurrentTransactions, false)
}

// Where transaction.version is below 2 a coordinator cannot add for others, also if a
// producer has a Produce of version 12: it has added its partitions itself.
func TestLeadersAddFromTransactionVersion2On(t *testing.T) {
	f := func(produce, version int16, adds bool) {
		t.Helper()
		if AbilityOf(produce).Adds(version) != adds {
			t.Errorf("Produce version %d, transaction.version %d: adds is not %v", produce, version, adds)
		}
	}
	f(11, 2, false)
	f(12, 0, false)
	f(12, 1, false)
	f(12, 2, true)
	f(13, 2, true)
}
