package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// featureGate stops the node when the cluster turns out to be finalized at
// levels that it does not serve, as a node finds that joins with an empty log.
type featureGate struct {
	failure *failure
	// known is closed once the finalized features have been looked at.
	known chan struct{}
	once  sync.Once
	// unfit: the newest image has features that are not served, and nothing of it
	// is carried out. Only publishers use it, one after the other.
	unfit bool
	// epoch is how far the metadata was read when the features changed last; -1
	// before they are known. Controllers tell it as the features' epoch.
	epoch atomic.Int64
}

func newFeatureGate(f *failure) *featureGate {
	g := &featureGate{failure: f, known: make(chan struct{})}
	g.epoch.Store(-1)
	return g
}

// publish looks at the features of a new image.
func (g *featureGate) publish(delta image.Delta, img *image.Image) {
	if !delta.Features {
		return
	}
	g.epoch.Store(int64(img.Provenance().Offset))
	levels := map[string]int16{}
	for name, level := range img.Features().All() {
		levels[name] = level
	}
	err := unserved(levels)
	if g.unfit = err != nil; g.unfit {
		g.failure.fail(err)
	}
	g.once.Do(func() { close(g.known) })
}

// open tells publishers whether the newest image may be carried out.
func (g *featureGate) open() bool { return !g.unfit }

// featuresPatience is how long a broker that was refused waits to read why.
const featuresPatience = 5 * time.Second

// await gives the gate the first word where the controller refuses the broker
// for its features: the answer to a registration is a mere code, and the broker
// may not have read the cluster's features yet.
func (g *featureGate) await(ctx context.Context, refused error) {
	if kerr.Of(refused) != kerr.UnsupportedVersion {
		return
	}
	patience := time.NewTimer(featuresPatience)
	defer patience.Stop()
	select {
	case <-g.known:
	case <-patience.C:
	case <-ctx.Done():
	}
}
