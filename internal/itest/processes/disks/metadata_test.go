package disks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/compare"
)

// entry is one metadata record of a log.
type entry struct {
	offset kafka.Offset
	record metarec.Message
}

// history is the metadata log of one node from its beginning.
type history []entry

// metadata is the folder of the node's metadata log.
func (n *node) metadata() string { return filepath.Join(n.dirs[0], kafka.MetadataTopic+"-0") }

// history reads the node's metadata log, which it may be writing.
func (n *node) history() (h history, err error) {
	log, err := compare.ReadLog(fmt.Sprintf("node %d", n.id), n.metadata())
	if err != nil {
		return nil, err
	}
	if log.Start() != 0 {
		return nil, fmt.Errorf("the log of node %d begins at %d", n.id, log.Start())
	}
	records, err := log.Records()
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Control >= 0 {
			continue
		}
		m, _, err := metarec.ReadMetadata(r.Value)
		if err != nil {
			return nil, fmt.Errorf("offset %d of node %d: %w", r.Offset, n.id, err)
		}
		h = append(h, entry{kafka.Offset(r.Offset), m})
	}
	return h, nil
}

// image replays what lies below an offset.
func (h history) image(end kafka.Offset) (*image.Image, error) {
	r := image.NewReplay(image.Empty())
	for _, e := range h {
		if e.offset >= end {
			break
		}
		if err := r.Add(e.offset, []metarec.Message{e.record}); err != nil {
			return nil, err
		}
	}
	img, _ := r.Done()
	return img, nil
}

// end is the offset behind the last record.
func (h history) end() kafka.Offset {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].offset + 1
}

var (
	errNotRegistered = errors.New("the broker has not registered")
	errFenced        = errors.New("the broker is fenced")
)

// unfenced finds a broker's first registration from an offset on, and the record
// that unfenced it then.
func (h history) unfenced(broker kafka.NodeID, from kafka.Offset) (registered, unfenced kafka.Offset, err error) {
	err = errNotRegistered
	for _, e := range h {
		if e.offset < from {
			continue
		}
		switch r := e.record.(type) {
		case *metarec.RegisterBrokerRecord:
			if r.BrokerId == int32(broker) && err == errNotRegistered {
				registered, err = e.offset, errFenced
			}
		case *metarec.BrokerRegistrationChangeRecord:
			if r.BrokerId == int32(broker) && r.Fenced < 0 && err == errFenced {
				return registered, e.offset, nil
			}
		}
	}
	return registered, 0, err
}

// changes are the records from an offset on, and below another, that change partitions.
func (h history) changes(from, end kafka.Offset) (all []*metarec.PartitionChangeRecord, at []kafka.Offset) {
	for _, e := range h {
		if r, ok := e.record.(*metarec.PartitionChangeRecord); ok && from <= e.offset && e.offset < end {
			all, at = append(all, r), append(at, e.offset)
		}
	}
	return all, at
}

// placed checks where an image has a broker's replicas: all in one directory, but
// for those that are named as their folders are.
func placed(img *image.Image, broker kafka.NodeID, in kafka.DirID, but map[string]kafka.DirID) error {
	seen, wrong := 0, []string{}
	for place, p := range img.Partitions() {
		dir, ok := p.DirOf(broker)
		if !ok {
			continue
		}
		seen++
		name := folder(place)
		want, moved := but[name]
		if !moved {
			want = in
		}
		if dir != want {
			wrong = append(wrong, fmt.Sprintf("%s in %v", name, dir))
		}
	}
	if seen != replicas || len(wrong) > 0 {
		return fmt.Errorf("%d replicas, %d are not where they have to be: %.200s", seen, len(wrong), strings.Join(wrong, ", "))
	}
	return nil
}

func folder(p image.Place) string { return fmt.Sprintf("%s-%d", p.Topic.Name, p.Partition) }

// sameEpochs checks that no partition of a broker, but for some, has another epoch in
// a later image.
func sameEpochs(before, after *image.Image, broker kafka.NodeID, but map[string]kafka.DirID) error {
	for place, p := range before.Partitions() {
		if _, moved := but[folder(place)]; moved || !p.HasReplica(broker) {
			continue
		}
		_, now, ok := after.PartitionByID(place.ID())
		if !ok || now.Epoch != p.Epoch || now.LeaderEpoch != p.LeaderEpoch {
			return fmt.Errorf("%s had epoch %d, has %+v", folder(place), p.Epoch, now)
		}
	}
	return nil
}

// snapshot waits for one that the node made of its own image at an offset or later.
func (n *node) snapshot(t *testing.T, from kafka.Offset) (file string) {
	t.Helper()
	itest.Eventually(t, func() error {
		found, err := filepath.Glob(filepath.Join(n.metadata(), "*.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return fmt.Errorf("node %d has no snapshot", n.id)
		}
		file = slices.Max(found)
		var end kafka.Offset
		if _, err := fmt.Sscanf(filepath.Base(file), "%d-", &end); err != nil {
			t.Fatal(err)
		}
		if end < from {
			return fmt.Errorf("the newest snapshot of node %d ends at %d, not at %d", n.id, end, from)
		}
		return nil
	})
	return file
}

// dumped counts the replicas of a broker in the PartitionRecords that a tool prints,
// by their directories. Both dump-logs print records alike.
func dumped(t *testing.T, out string, broker kafka.NodeID) map[string]int {
	t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(out) {
		_, payload, ok := strings.Cut(line, "payload: ")
		if !ok {
			continue
		}
		var r struct {
			Type string
			Data struct {
				Replicas    []int32
				Directories []string
			}
		}
		if err := json.Unmarshal([]byte(payload), &r); err != nil || r.Type != "PARTITION_RECORD" {
			continue // other records have data of other types
		}
		if at := slices.Index(r.Data.Replicas, int32(broker)); at >= 0 && at < len(r.Data.Directories) {
			count[r.Data.Directories[at]]++
		} else if at >= 0 {
			count["none"]++
		}
	}
	return count
}
