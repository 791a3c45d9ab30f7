// Package metaview turns what the quorum commits into the image of the
// cluster's metadata, and hands each new image to publishers in a fixed order.
// It also writes snapshots of the image into the metadata log. Every node has
// one view: controllers, brokers and tools apply the same records the same way.
package metaview

import (
	"log/slog"
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// Publisher gets every new image, one at a time, together with what differs
// from the one before. It runs on the view's goroutine and must not wait for
// anything that itself waits for metadata.
type Publisher struct {
	Name    string // for people
	Publish func(delta image.Delta, img *image.Image)
}

// Config is what a view needs.
type Config struct {
	// Quorum tells how far the quorum has committed, and takes snapshots.
	Quorum Quorum
	// Publishers in the order in which they see an image.
	Publishers []Publisher
	// Applied is called after the publishers with the end offset of what they
	// have seen.
	Applied func(end kafka.Offset)
	// Leader is told of leaders in order with the commits, together with all
	// that was committed before, an open metadata transaction included.
	Leader func(leader kafka.NodeID, epoch kafka.Epoch, latest *image.Image)
	// Worked gives what the records from begin to end made of the image before
	// them, if somebody in this process worked that out when it appended them in
	// epoch; nothing otherwise. Nil: nobody does.
	Worked func(epoch kafka.Epoch, begin, end kafka.Offset) []image.Stride
	// Fault is called once when the log holds what cannot be applied. The node
	// must stop: skipping a record is never right (KAFKA-14275).
	Fault     func(error)
	Snapshots SnapshotPolicy
	Log       *slog.Logger
}

// Quorum is what a view asks of the node that runs the quorum.
type Quorum interface {
	HighWatermark() kafka.Offset
	// SnapshotWanted tells that the latest snapshot is lost, so that one is to be
	// written whatever the policy says.
	SnapshotWanted() bool
	CreateSnapshot(end kafka.Offset, epoch kafka.Epoch, lastTimestampMs int64) (SnapshotWriter, error)
}

// View holds the newest image. Only the quorum's goroutine changes it; anyone
// may read.
type View struct {
	cfg Config

	// newest is what readers see.
	newest atomic.Pointer[image.Image]

	figures figures
	emitted emitted

	// The rest belongs to the quorum's goroutine.

	// latest includes an open metadata transaction.
	latest *image.Image
	end    kafka.Offset // everything below is in latest
	// caughtUp: the first image has been published. Before that the view may
	// be far behind, and nobody is bothered with the steps on the way
	// (KAFKA-14857).
	caughtUp bool
	faulty   bool
	snapshot snapshotter
}

// New makes a view of nothing.
func New(cfg Config) *View {
	v := &View{cfg: cfg, latest: image.Empty(), snapshot: newSnapshotter(cfg.Snapshots)}
	v.newest.Store(image.Empty())
	v.emitted.wrote(0)
	return v
}

// Image is the newest published image; never nil.
func (v *View) Image() *image.Image { return v.newest.Load() }

// publish tells the publishers of the newest stable image, then shows it.
func (v *View) publish(delta image.Delta) {
	img := v.latest.Stable()
	if !v.caughtUp {
		if v.end < v.cfg.Quorum.HighWatermark() || v.end == 0 {
			return
		}
		v.caughtUp = true
		delta = image.Between(image.Empty(), img)
		delta.Before = image.Empty()
	}
	// Readers see the image after the publishers: a broker must be ready to
	// lead a partition before its own Metadata answers say that it does.
	for _, p := range v.cfg.Publishers {
		p.Publish(delta, img)
	}
	v.newest.Store(img)
	if v.cfg.Applied != nil {
		v.cfg.Applied(v.end)
	}
}

func (v *View) fault(err error) {
	if !v.faulty {
		v.faulty = true
		v.figures.LoadErrors.Add(1)
		v.cfg.Fault(err)
	}
}
