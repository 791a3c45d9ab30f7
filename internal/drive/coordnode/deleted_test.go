package coordnode

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// reload has the partition led again, in an epoch, up to the point at which its
// load waits for the log to be committed.
func (r *rig) reload(epoch kafka.Epoch) {
	r.t.Helper()
	r.n.Resigned(tp(0), epoch-1, false)
	r.log.elect(0, epoch)
	part := r.log.part(0)
	r.log.mu.Lock()
	part.hw = 0
	r.log.mu.Unlock()
	r.n.Elected(tp(0), epoch)
	synctest.Wait()
	r.wantErr(fetchOf("g"), kerr.CoordinatorLoadInProgress)
}

// loaded lets the load end.
func (r *rig) loaded() {
	r.log.commit(0)
	synctest.Wait()
}

// A topic that is deleted while its offsets are loaded, and made again before
// they are, begins without offsets: a consumer that resumed at the old ones
// would skip what is new.
func TestATopicDeletedDuringALoadHasNoOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.wantErr(commitOf("g", 42), kerr.None)
		r.reload(3)
		r.n.TopicsDeleted([]string{"other", "t"})
		r.loaded()
		r.wantOffset("g", kafka.NoOffset)
		r.reload(5) // the tombstones are in the log
		r.loaded()
		r.wantOffset("g", kafka.NoOffset)
	})
}

// A coordinator that ended after a deletion and before its tombstones leaves
// offsets behind, which the next one drops.
func TestOffsetsOfTopicsThatMetadataLacksAreDroppedAfterALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.wantErr(commitOf("g", 42), kerr.None)
		r.reload(3)
		r.gone["t"] = true
		r.loaded()
		r.wantOffset("g", kafka.NoOffset)
		r.gone["t"] = false
		r.wantErr(commitOf("g", 1), kerr.None)
		r.reload(5)
		r.loaded()
		r.wantOffset("g", 1)
	})
}

// What a load keeps in mind of deletions is bounded; beyond that metadata tells.
func TestDeletionsDuringALoadAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.wantErr(commitOf("g", 42), kerr.None)
		r.reload(3)
		for i := range maxDeleted + 10 {
			r.n.TopicsDeleted([]string{fmt.Sprintf("u%d", i)})
		}
		r.n.TopicsDeleted([]string{"t"})
		if n := len(r.n.led[0].deleted); n != maxDeleted {
			t.Errorf("%d names are kept", n)
		}
		r.gone["t"] = true
		r.loaded()
		r.wantOffset("g", kafka.NoOffset)
	})
}
