package txn

import "github.com/ottla/ottla/internal/base/kerr"

// Ability is what a producer can make of transactions, by the version of its
// Produce request.
type Ability int8

// The abilities of producers.
const (
	// Classic producers know INVALID_TXN_STATE only (versions 0 to 10).
	Classic Ability = iota
	// Abortable ones know that a transaction can be aborted and tried again:
	// TRANSACTION_ABORTABLE (version 11).
	Abortable
	// Adding ones do not add partitions to their transactions themselves: the
	// leader does it for them with its question (KIP-890 part 2, version 12 on).
	Adding
)

// AbilityOf is the ability of who sends a version of Produce.
func AbilityOf(version int16) Ability {
	switch {
	case version >= 12:
		return Adding
	case version >= 11:
		return Abortable
	}
	return Classic
}

// Told is what the producer of a batch is told when its coordinator has answered
// with a code; nil when the batch may be appended.
//
// NOT_ENOUGH_REPLICAS is an error that all producers retry and none takes for a
// reason to look for another leader.
func (a Ability) Told(code kerr.Code) error {
	switch code {
	case kerr.None:
		return nil
	case kerr.ProducerFenced:
		return kerr.InvalidProducerEpoch
	case kerr.TransactionAbortable:
		if a != Classic {
			return code
		}
		return notAdded
	case kerr.InvalidTxnState, kerr.ClusterAuthorizationFailed:
		return notAdded
	case kerr.ConcurrentTransactions:
		if a == Adding {
			return code
		}
		return unverified(code)
	case kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator:
		return unverified(code)
	}
	return code
}

// notAdded is told to who writes to a partition that its transaction does not have.
// Producers are not to learn that it is the broker which may not ask.
var notAdded = kerr.Errorf(kerr.InvalidTxnState, "the partition was not added to the transaction")

func unverified(code kerr.Code) error {
	return kerr.Errorf(kerr.NotEnoughReplicas, "unable to verify that the partition has been added to the transaction: %v", code)
}

// bumping is the transaction.version from which on coordinators add what leaders ask
// them to (KIP-890 part 2). One of Apache Kafka 4.4 below it fails over the record
// that it would write, and then has no answer but CONCURRENT_TRANSACTIONS until it is
// started again.
const bumping = 2

// Adds tells whether the leader adds a partition to the transaction in a cluster with
// a transaction.version, and does not only ask whether it is there.
func (a Ability) Adds(version int16) bool { return a == Adding && version >= bumping }

// Again tells whether to ask once more: the end of the transaction before is not
// complete yet, and who does not add has nothing to wait for.
func (t Transaction) Again(code kerr.Code) bool { return t.Adds && code == kerr.ConcurrentTransactions }
