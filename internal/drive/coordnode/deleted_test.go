package coordnode

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
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

func topicsNamed(names ...string) []group.Topic {
	topics := make([]group.Topic, len(names))
	for i, name := range names {
		topics[i] = group.Topic{Name: name, ID: firstID}
	}
	return topics
}

// Ids of a topic t that is deleted and made again.
var firstID, secondID = kafka.TopicID{1}, kafka.TopicID{2}

// A coordinator that ended after a deletion and before its tombstones leaves
// offsets behind. When the topic has been made again they are of the topic that
// is gone: they are not shown, and the next coordinator drops them for good.
func TestOffsetsOfATopicThatWasMadeAgainAreDroppedAfterALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		commit := func(id string, topic kafka.TopicID, offset kafka.Offset) {
			t.Helper()
			r.ids["t"] = topic
			c := commitOf(id, offset)
			c.Offsets[0].TopicID = topic
			r.wantErr(c, kerr.None)
		}
		commit("old", firstID, 42)
		commit("both", firstID, 43)
		r.wantErr(commitOf("unsaid", 44), kerr.None)
		commit("both", secondID, 1)
		r.reload(3)
		r.loaded()
		r.wantOffset("old", kafka.NoOffset)
		r.wantOffset("both", 1)
		r.wantOffset("unsaid", 44)
		r.ids["t"] = firstID // as if the name had never changed hands
		r.reload(5)
		r.loaded()
		r.wantOffset("old", kafka.NoOffset)
		r.wantOffset("both", kafka.NoOffset)
	})
}

// A topic that is deleted while offsets are loaded, and made again before
// they are, begins without offsets: a consumer that resumed at the old ones
// would skip what is new.
func TestATopicDeletedDuringALoadHasNoOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.wantErr(commitOf("g", 42), kerr.None)
		r.reload(3)
		r.n.TopicsDeleted(topicsNamed("other", "t"))
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
			r.n.TopicsDeleted(topicsNamed(fmt.Sprintf("u%d", i)))
		}
		r.n.TopicsDeleted(topicsNamed("t"))
		if n := len(r.n.led[0].deleted); n != maxDeleted {
			t.Errorf("%d names are kept", n)
		}
		r.gone["t"] = true
		r.loaded()
		r.wantOffset("g", kafka.NoOffset)
	})
}
