package controller

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// kraft.version is the quorum's: a higher level may be asked for, but is refused
// until the quorum has it; then a NoOpRecord gives the reply an offset to wait
// for. It never goes down.
func TestKRaftVersionIsRaisedByTheQuorumFirst(t *testing.T) {
	c := newCluster(t)
	level := int16(0)
	c.soft.KRaftVersion = func() int16 { return level }
	c.soft.Supported = append(c.soft.Supported, image.VersionRange{Name: image.KRaftVersion, Max: 1})
	f := func(want int16, how UpgradeType, dry bool, code kerr.Code, records ...string) {
		t.Helper()
		d := UpdateFeatures(c.img, c.soft, FeaturesToUpdate{Updates: []FeatureUpdate{{image.KRaftVersion, want, how}}, ValidateOnly: dry})
		refused(t, d.Err, code)
		wrote(t, d.Records, records...)
	}
	f(1, Upgrade, true, kerr.None)
	f(1, Upgrade, false, kerr.InvalidUpdateVersion)
	f(2, Upgrade, true, kerr.InvalidUpdateVersion)
	f(0, Upgrade, false, kerr.None, "NoOp")
	level = 1
	f(1, Upgrade, false, kerr.None, "NoOp")
	f(0, SafeDowngrade, true, kerr.InvalidUpdateVersion)
	f(0, UnsafeDowngrade, false, kerr.InvalidUpdateVersion)
	if got, asked := (FeaturesToUpdate{}).KRaftVersion(); asked {
		t.Errorf("nobody asked for %d", got)
	}
}
