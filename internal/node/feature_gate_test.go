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

// On a controller the features' epoch is "the last contained offset of the image in
// which features last changed", and -1 before they are known (KAFKA-19964).
func TestTheEpochOfTheFeaturesIsThatOfTheirLastChange(t *testing.T) {
	g, img := newFeatureGate(newFailure()), image.Empty()
	f := func(want int64, records ...metarec.Message) {
		t.Helper()
		next, delta, err := image.Apply(img, records)
		if err != nil {
			t.Fatal(err)
		}
		img = next
		g.publish(delta, img)
		if got := g.epoch.Load(); got != want {
			t.Errorf("at offset %d the epoch is %d, want %d", img.Provenance().Offset, got, want)
		}
	}
	level := &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)}
	f(-1)
	f(1, metarec.NewNoOpRecord(), level)
	f(1, metarec.NewNoOpRecord(), metarec.NewNoOpRecord())
	f(4, &metarec.FeatureLevelRecord{Name: image.ElrVersion, FeatureLevel: 1})
}

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
