package metaview

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// SnapshotPolicy tells when an image is worth writing down.
type SnapshotPolicy struct {
	// Bytes of the log that committed batches take since the last snapshot, those
	// of control records among them, as Apache Kafka counts
	// (metadata.log.max.record.bytes.between.snapshots).
	Bytes int64
	// Interval since the last snapshot, if anything was committed meanwhile
	// (metadata.log.max.snapshot.interval.ms); 0: never for this reason.
	Interval time.Duration
}

// SnapshotWriter takes the records of a snapshot. Freeze makes it the newest
// snapshot of the log; Close without Freeze drops it.
type SnapshotWriter interface {
	Append(framed [][]byte) error
	// Size is how many bytes the file has so far.
	Size() int64
	Freeze() error
	Close() error
}

// A batch of a snapshot has at most as many records as in Apache Kafka, and at
// most so many bytes of them unless one record alone is larger: the log takes
// batches of 8 MiB.
const (
	maxSnapshotBatch = 1024
	maxSnapshotBytes = 1 << 20
)

// snapshotter keeps count of what was committed since the last snapshot.
type snapshotter struct {
	policy SnapshotPolicy
	bytes  int64
	last   time.Time
	// running has room for one: a snapshot is being written.
	running chan struct{}
	// givenUp: Wait has waited long enough. What is being written is dropped, and
	// nothing is begun any more.
	givenUp *atomic.Bool
}

func newSnapshotter(p SnapshotPolicy) snapshotter {
	return snapshotter{policy: p, last: time.Now(), running: make(chan struct{}, 1), givenUp: new(atomic.Bool)}
}

func (s *snapshotter) saw(bytes int64) { s.bytes += bytes }

func (s *snapshotter) taken() { s.bytes, s.last = 0, time.Now() }

func (s *snapshotter) due() bool {
	return s.bytes > 0 && (s.bytes >= s.policy.Bytes ||
		s.policy.Interval > 0 && time.Since(s.last) >= s.policy.Interval)
}

// maybeSnapshot writes the image down beside the commits that go on. A metadata
// transaction that is open puts it off.
func (v *View) maybeSnapshot() {
	if _, open := v.latest.InTransaction(); open || !v.caughtUp || !v.snapshot.due() && !v.cfg.Quorum.SnapshotWanted() || v.snapshot.givenUp.Load() {
		return
	}
	select {
	case v.snapshot.running <- struct{}{}:
	default:
		return // the last one is still being written
	}
	v.snapshot.taken()
	img := v.latest
	go func() {
		defer func() { <-v.snapshot.running }()
		switch err := v.write(img); {
		case err == nil:
		case errors.Is(err, ErrQuorumStopped):
			v.cfg.Log.Debug("a metadata snapshot was dropped: the node stops", "offset", img.Provenance().Offset+1)
		default:
			v.cfg.Log.Error("metadata snapshot failed", "offset", img.Provenance().Offset+1, "err", err)
		}
	}()
}

// ErrQuorumStopped is wrapped by the errors of a Quorum and its SnapshotWriter once the
// node has left the quorum. Nobody has to act then: the log has all there was to write
// down.
var ErrQuorumStopped = errors.New("the quorum was left")

// errGivenUp ends a snapshot that Wait does not wait for any more.
var errGivenUp = errors.New("the node stops, and its disk is too slow for the snapshot")

// Wait waits until no snapshot is being written, or ctx ends. In that case the
// snapshot is given up: the write that is under way, on a disk that hangs, may
// still be carried out, and then the file is removed. The directory may not be
// given to anybody before another Wait has returned without an error.
func (v *View) Wait(ctx context.Context) error {
	select {
	case v.snapshot.running <- struct{}{}:
		<-v.snapshot.running
		return nil
	case <-ctx.Done():
		v.snapshot.givenUp.Store(true)
		return fmt.Errorf("a metadata snapshot is still being written: %w", ctx.Err())
	}
}

func (v *View) write(img *image.Image) error {
	prov := img.Provenance()
	w, err := v.cfg.Quorum.CreateSnapshot(prov.Offset+1, prov.Epoch, prov.TimestampMs)
	if err != nil || w == nil {
		return err // nil: there is one at this offset already
	}
	defer w.Close()
	batch := cutter{to: unlessGivenUp{w, v.snapshot.givenUp}}
	var lost []string
	for m, version := range img.Records(func(what string) { lost = append(lost, what) }) {
		framed, err := metarec.AppendMetadata(nil, m, version)
		if err != nil {
			return err
		}
		if err := batch.add(framed); err != nil {
			return err
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("metadata.version %v cannot hold %d things, the first: %s", img.Level(), len(lost), lost[0])
	}
	if err := batch.flush(); err != nil {
		return err
	}
	if err := batch.to.Freeze(); err != nil {
		return err
	}
	v.emitted.wrote(w.Size())
	return nil
}

// unlessGivenUp takes a snapshot until that is given up.
type unlessGivenUp struct {
	SnapshotWriter
	givenUp *atomic.Bool
}

func (w unlessGivenUp) Append(framed [][]byte) error {
	if w.givenUp.Load() {
		return errGivenUp
	}
	return w.SnapshotWriter.Append(framed)
}

func (w unlessGivenUp) Freeze() error {
	if w.givenUp.Load() {
		return errGivenUp
	}
	return w.SnapshotWriter.Freeze()
}

// cutter cuts the records of a snapshot into batches.
type cutter struct {
	to    SnapshotWriter
	batch [][]byte
	bytes int
}

func (c *cutter) add(framed []byte) error {
	if len(c.batch) == maxSnapshotBatch || c.bytes+len(framed) > maxSnapshotBytes {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.batch, c.bytes = append(c.batch, framed), c.bytes+len(framed)
	return nil
}

func (c *cutter) flush() error {
	if len(c.batch) == 0 {
		return nil
	}
	err := c.to.Append(c.batch)
	c.batch, c.bytes = c.batch[:0], 0
	return err
}
