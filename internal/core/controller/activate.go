package controller

import (
	"fmt"
	"strconv"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// Bootstrap is the metadata that a cluster begins with when nothing else is
// given: the level alone, so that only what this software serves is finalized.
func Bootstrap(level image.Level) []Versioned {
	return []Versioned{{&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(level)}, 0}}
}

// Activate is the first decision of a controller that became active. An empty
// log gets the bootstrap records; a log that has them gets nothing, unless the
// former controller left a metadata transaction open.
func Activate(img *image.Image, soft *Soft, now kafka.Instant, bootstrap []Versioned) Decision[struct{}] {
	d := draftOn(img)
	begin := func() { soft.Live.reset(img, now) }
	if _, open := img.InTransaction(); open {
		reason := "Controller failover"
		d.add(&metarec.AbortTransactionRecord{Reason: &reason})
	}
	if img.Stable().Level() != 0 {
		return piecewise(d, struct{}{}).then(begin)
	}
	// Whether a log is empty is told by metadata.version alone. A log that
	// lost it while it holds other things must not begin anew (KAFKA-20839).
	if !img.Stable().Equal(image.Empty()) {
		return refuse[struct{}](fmt.Errorf("the metadata log has records but no %s: it is damaged", image.MetadataVersion))
	}
	level := levelIn(bootstrap, image.MetadataVersion)
	if !image.Level(level).Known() {
		return refuse[struct{}](fmt.Errorf("bootstrap metadata has %s %d, supported are %d to %d",
			image.MetadataVersion, level, image.MinLevel, image.LatestLevel))
	}
	transactional := image.Level(level) >= image.LevelTransactions
	if transactional {
		name := "Bootstrap records"
		d.add(&metarec.BeginTransactionRecord{Name: &name})
	}
	d.records = append(d.records, bootstrap...)
	if levelIn(bootstrap, image.ElrVersion) > 0 {
		d.add(storedMinInsync(soft.Settings))
	}
	if transactional {
		d.add(&metarec.EndTransactionRecord{})
	}
	return Decision[struct{}]{Records: d.records, Atomic: !transactional}.then(begin)
}

// storedMinInsync makes the cluster's min.insync.replicas part of the log: with
// ELR all controllers must agree on it (KAFKA-16540).
func storedMinInsync(s *Settings) *metarec.ConfigRecord {
	value := strconv.Itoa(max(s.MinInsyncReplicas, 1))
	return image.ConfigRecord(image.AllBrokers, minInsyncKey, &value)
}

func levelIn(records []Versioned, feature string) int16 {
	for _, r := range records {
		if f, ok := r.Message.(*metarec.FeatureLevelRecord); ok && f.Name == feature {
			return f.FeatureLevel
		}
	}
	return 0
}
