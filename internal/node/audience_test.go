package node

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// "toBroker keeps what the node does not serve from the broker": the parts of
// this one would not survive the news.
func TestABrokerIsNotToldOfWhatIsNotServed(t *testing.T) {
	a := audience{features: newFeatureGate(newFailure()), live: &liveSettings{}, changes: &changes{}, broker: &brokerRole{}}
	img, delta, err := image.Apply(image.Empty(), []metarec.Message{
		&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)},
		&metarec.FeatureLevelRecord{Name: image.ShareVersion, FeatureLevel: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.publishers() {
		p.Publish(delta, img)
	}
	select {
	case <-a.features.failure.why:
	default:
		t.Error("the node goes on")
	}
}

// A leader that comes is counted; that one is gone is not.
func TestLeadersAreCounted(t *testing.T) {
	a := audience{changes: &changes{}}
	for _, leader := range []kafka.NodeID{1, kafka.NoNode, 2} {
		a.leader(leader, 1, image.Empty())
	}
	if got := a.changes.Claims.Value(); got != 2 {
		t.Errorf("%g leaders", got)
	}
}
