package api

import (
	"errors"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
)

// distinct keeps the first of those entries of a request that have the same
// key. What describes something is asked for it once, however often a request
// names it: a name of a few bytes would otherwise multiply an answer of many.
// The list itself stays as it is.
func distinct[T any, K comparable](list []T, key func(*T) K) []T {
	if len(list) < 2 {
		return list
	}
	seen := make(map[K]struct{}, len(list))
	kept := make([]T, 0, len(list))
	for i := range list {
		k := key(&list[i])
		if _, again := seen[k]; !again {
			seen[k] = struct{}{}
			kept = append(kept, list[i])
		}
	}
	return kept
}

// itself is the key of what is compared as a whole.
func itself[T comparable](v *T) T { return *v }

// partitionsOnce keeps those partitions of a topic that seen does not have yet,
// and enters them.
func partitionsOnce(seen map[kafka.TopicPartition]struct{}, topic string, partitions []int32) []int32 {
	kept := make([]int32, 0, len(partitions))
	for _, n := range partitions {
		tp := kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)}
		if _, again := seen[tp]; !again {
			seen[tp] = struct{}{}
			kept = append(kept, n)
		}
	}
	return kept
}

// tooMany refuses a request whose entries each need a record or more, before
// anything is made of them: it could only be refused for its size afterwards
// (KAFKA-14996).
func tooMany(entries int) error {
	if entries > controller.MaxRecords {
		return kerr.Errorf(kerr.PolicyViolation,
			"excessively large request: it has %d entries, at most %d are allowed", entries, controller.MaxRecords)
	}
	return nil
}

// maxTexts is how many entries of an answer carry the same text.
const maxTexts = 100

// sameError is one error that answers every entry of a request. The text
// stands at the first entries alone: thousands of copies of it would make an
// answer many times as large as its request.
type sameError struct{ full, brief error }

func sameErrorOf(err error) sameError {
	var e *kerr.Error
	if !errors.As(err, &e) {
		e = &kerr.Error{Code: kerr.Of(err), Message: err.Error()}
	}
	return sameError{full: e, brief: &kerr.Error{Code: e.Code}}
}

// at is the error of the entry with an index.
func (s sameError) at(i int) error {
	if i < maxTexts {
		return s.full
	}
	return s.brief
}
