package ctrlnode

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// A level of kraft.version is raised in the quorum, after all of the request
// was found sound and before its records are written.
func TestTheQuorumRaisesKRaftVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.node.cfg.Settings.KRaftVersion = func() int16 { return q.raised }
		q.node.cfg.Settings.Supported = append(q.node.cfg.Settings.Supported, image.VersionRange{Name: image.KRaftVersion, Max: 1})
		q.lead(1)
		q.commit()
		f := func(dry bool, code kerr.Code, raised int16, records int, updates ...controller.FeatureUpdate) {
			t.Helper()
			before := len(q.written())
			got := make(chan error, 1)
			UpdateFeatures(q.node, time.Minute, controller.FeaturesToUpdate{Updates: updates, ValidateOnly: dry}, func(_ struct{}, err error) { got <- err })
			q.commit()
			if err := <-got; kerr.Of(err) != code || q.raised != raised {
				t.Errorf("answered %v, kraft.version %d", err, q.raised)
			}
			if all := q.written(); len(all) != before+records || records > 0 && !slices.Contains(all[before:], "NoOpRecord") {
				t.Errorf("wrote %v", all[before:])
			}
		}
		raise := controller.FeatureUpdate{Feature: image.KRaftVersion, Level: 1, Type: controller.Upgrade}
		f(true, kerr.None, 0, 0, raise)
		f(false, kerr.InvalidUpdateVersion, 0, 0, raise, controller.FeatureUpdate{Feature: "none", Level: 1, Type: controller.Upgrade})
		f(false, kerr.None, 1, 1, raise)
		f(false, kerr.None, 1, 1, raise)
	})
}
