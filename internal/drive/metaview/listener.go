package metaview

import (
	"fmt"
	"iter"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// Batch is one committed batch of the metadata log. A batch of control records
// has no records for us, but moves the end.
type Batch struct {
	Base, End   kafka.Offset
	Epoch       kafka.Epoch
	TimestampMs int64    // when the leader appended it
	Records     [][]byte // framed metadata records
	Size        int      // bytes of the log that the batch takes
}

// Commit applies committed batches, one after the other, and publishes what they
// come to as one change: what was committed while the publishers were busy costs
// them one more round, however much it is.
func (v *View) Commit(batches ...Batch) {
	if v.faulty || len(batches) == 0 {
		return
	}
	replay := image.NewReplay(v.latest)
	for _, b := range batches {
		if err := v.replay(replay, b); err != nil {
			v.fault(err)
			return
		}
		v.snapshot.saw(int64(b.Size))
	}
	last := batches[len(batches)-1]
	next, delta := replay.Done()
	v.latest = next.At(image.Provenance{Offset: last.End - 1, Epoch: last.Epoch, TimestampMs: last.TimestampMs})
	v.end = last.End
	v.publish(delta)
	v.maybeSnapshot()
}

// replay applies a batch, or takes what the active controller in this process has
// worked out for it already.
func (v *View) replay(r *image.Replay, b Batch) error {
	if v.cfg.Worked != nil && len(b.Records) > 0 && r.Take(b.End, v.cfg.Worked(b.Epoch, b.Base, b.End)...) {
		return nil
	}
	records, err := decode(b.Records)
	if err != nil {
		return fmt.Errorf("batch at offset %d: %w", b.Base, err)
	}
	return r.Add(b.Base, records)
}

// Load replaces the image by a snapshot's: batches yields its framed records.
func (v *View) Load(prov image.Provenance, batches iter.Seq2[[][]byte, error]) {
	if v.faulty {
		return
	}
	loader := image.NewLoader(prov)
	for framed, err := range batches {
		var records []metarec.Message
		if err == nil {
			records, err = decode(framed)
		}
		if err == nil {
			err = loader.Add(records...)
		}
		if err != nil {
			v.fault(fmt.Errorf("snapshot that ends at offset %d: %w", prov.Offset+1, err))
			return
		}
	}
	before := v.newest.Load()
	v.latest = loader.Done()
	v.end = prov.Offset + 1
	v.snapshot.taken()
	v.figures.Loads.Add(1)
	v.publish(image.Between(before, v.latest.Stable()))
}

// Leader passes on who leads.
func (v *View) Leader(leader kafka.NodeID, epoch kafka.Epoch) {
	if v.cfg.Leader != nil && !v.faulty {
		v.cfg.Leader(leader, epoch, v.latest)
	}
}

func decode(framed [][]byte) ([]metarec.Message, error) {
	records := make([]metarec.Message, len(framed))
	for i, raw := range framed {
		m, _, err := metarec.ReadMetadata(raw)
		if err != nil {
			return nil, fmt.Errorf("record %d of the batch: %w", i, err)
		}
		records[i] = m
	}
	return records, nil
}
