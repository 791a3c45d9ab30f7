package node

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// "gives the gate the first word where the controller refuses the broker for its
// features."
func TestARefusedBrokerNamesTheFeatures(t *testing.T) {
	level := &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)}
	high := []metarec.Message{level, &metarec.FeatureLevelRecord{Name: image.GroupVersion, FeatureLevel: 1}}
	f := func(code kerr.Code, records []metarec.Message, want string, after time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			g := newFeatureGate(newFailure())
			began, refused := time.Now(), fmt.Errorf("refused: %w", code)
			go func() {
				g.await(t.Context(), refused)
				g.failure.fail(refused)
			}()
			synctest.Wait()
			if len(records) > 0 {
				img, delta, err := image.Apply(image.Empty(), records)
				if err != nil {
					t.Fatal(err)
				}
				g.publish(delta, img)
				if fit := len(records) < len(high); g.open() != fit {
					t.Errorf("open: %v", g.open())
				}
			}
			if err := <-g.failure.why; !strings.Contains(err.Error(), want) {
				t.Errorf("%v instead of %q", err, want)
			}
			if took := time.Since(began); took != after {
				t.Errorf("took %v", took)
			}
		})
	}
	f(kerr.UnsupportedVersion, high, "group.version 1", 0)
	f(kerr.UnsupportedVersion, []metarec.Message{level}, "refused", 0)
	f(kerr.UnsupportedVersion, nil, "refused", featuresPatience)
	f(kerr.InconsistentClusterId, high, "refused", 0)
}
