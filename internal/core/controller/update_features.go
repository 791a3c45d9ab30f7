package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// UpgradeType says which way a feature may move. The numbers are Kafka's.
type UpgradeType int8

// The ways a feature may move.
const (
	Upgrade         UpgradeType = 1
	SafeDowngrade   UpgradeType = 2
	UnsafeDowngrade UpgradeType = 3
)

// FeatureUpdate asks for a feature to be finalized at a level.
type FeatureUpdate struct {
	Feature string
	Level   int16
	Type    UpgradeType
}

// FeaturesToUpdate is an UpdateFeatures request (KIP-584). The quorum finalizes
// kraft.version by itself: whoever asks for a higher level raises it there
// between a validation and the update.
type FeaturesToUpdate struct {
	Updates      []FeatureUpdate
	ValidateOnly bool
}

// KRaftVersion is the level that is asked for, if any.
func (f FeaturesToUpdate) KRaftVersion() (level int16, asked bool) {
	for _, u := range f.Updates {
		if u.Feature == image.KRaftVersion {
			return u.Level, true
		}
	}
	return 0, false
}

// UpdateFeatures finalizes features, all or none: the first refusal answers
// for the whole request.
func UpdateFeatures(img *image.Image, soft *Soft, want FeaturesToUpdate) Decision[struct{}] {
	d := draftOn(img)
	proposed := img.Features()
	for _, u := range want.Updates {
		proposed = proposed.With(u.Feature, u.Level)
	}
	for _, u := range want.Updates {
		if err := checkUpdate(img, soft, u); err != nil {
			return refuse[struct{}](err)
		}
		if u.Feature == image.KRaftVersion && u.Level > soft.kraftVersion() && !want.ValidateOnly {
			return refusef[struct{}](kerr.InvalidUpdateVersion, "feature %s is at %d: the quorum has not raised it to %d", u.Feature, soft.kraftVersion(), u.Level)
		}
		for _, need := range dependencies(u.Feature, u.Level) {
			if level, _ := proposed.Get(need.Name); level < need.Min {
				return refusef[struct{}](kerr.InvalidUpdateVersion, "%s %d needs %s at least at %d, it would be at %d",
					u.Feature, u.Level, need.Name, need.Min, level)
			}
		}
	}
	for _, u := range want.Updates {
		d.finalize(soft, u)
	}
	if want.ValidateOnly {
		d.records = nil
	}
	return bounded(atomically(d, struct{}{}))
}

// finalize writes a level. Switching the ELR on first makes sure that
// min.insync.replicas is known cluster-wide and to no single broker
// (KAFKA-16540).
func (d *draft) finalize(soft *Soft, u FeatureUpdate) {
	if u.Feature == image.KRaftVersion {
		// The quorum finalizes this one; here it can only be what it is. The
		// record is there so that the reply has an offset to wait for.
		d.add(&metarec.NoOpRecord{})
		return
	}
	if u.Feature == image.ElrVersion && u.Level > 0 && !d.img.ElrEnabled() {
		d.settleMinInsync(soft)
	}
	d.add(&metarec.FeatureLevelRecord{Name: u.Feature, FeatureLevel: u.Level})
}

func (d *draft) settleMinInsync(soft *Soft) {
	if _, ok := d.img.Config(image.AllBrokers).Get(minInsyncKey); !ok {
		d.add(storedMinInsync(soft.Settings))
	}
	for r, values := range d.img.Configs().All() {
		if r.Type == image.BrokerResource && r.Name != "" && values.Has(minInsyncKey) {
			d.add(image.ConfigRecord(r, minInsyncKey, nil))
		}
	}
}

// dependencies are the levels of other features that a level rests on; Min is
// the least.
func dependencies(feature string, level int16) []image.VersionRange {
	switch {
	case level == 0 || feature == image.MetadataVersion || feature == image.KRaftVersion:
		return nil
	case feature == image.ElrVersion:
		return []image.VersionRange{{Name: image.MetadataVersion, Min: int16(image.LevelElr)}}
	}
	return []image.VersionRange{{Name: image.MetadataVersion, Min: int16(image.MinLevel)}}
}

func checkUpdate(img *image.Image, soft *Soft, u FeatureUpdate) error {
	now := img.Feature(u.Feature)
	if u.Feature == image.KRaftVersion {
		now = soft.kraftVersion()
	}
	switch {
	case u.Type < Upgrade || u.Type > UnsafeDowngrade:
		return kerr.Errorf(kerr.InvalidUpdateVersion, "feature %s: upgrade type %d does not exist", u.Feature, u.Type)
	case u.Level < 0:
		return kerr.Errorf(kerr.InvalidUpdateVersion, "feature %s: level %d is negative", u.Feature, u.Level)
	}
	if err := checkSupport(img, soft, u); err != nil {
		return err
	}
	switch {
	case u.Level < now && u.Type == Upgrade:
		return kerr.Errorf(kerr.InvalidUpdateVersion, "feature %s is at %d: going down to %d needs a downgrade type", u.Feature, now, u.Level)
	case u.Level > now && u.Type != Upgrade:
		return kerr.Errorf(kerr.InvalidUpdateVersion, "feature %s is at %d: going up to %d is not a downgrade", u.Feature, now, u.Level)
	case u.Feature == image.MetadataVersion:
		return checkLevel(image.Level(now), image.Level(u.Level), u.Type)
	case u.Feature == image.KRaftVersion && u.Level < now:
		return kerr.Errorf(kerr.InvalidUpdateVersion, "feature %s cannot be lowered from %d to %d", u.Feature, now, u.Level)
	}
	return nil
}

// checkLevel lets metadata.version go down only where old software can read
// what was written.
func checkLevel(now, want image.Level, how UpgradeType) error {
	if !want.Known() {
		return kerr.Errorf(kerr.InvalidUpdateVersion, "%s %d does not exist", image.MetadataVersion, want)
	}
	for l := want + 1; l <= now; l++ {
		if !l.ChangesFormat() {
			continue
		}
		if how == UnsafeDowngrade {
			return kerr.Errorf(kerr.InvalidUpdateVersion,
				"unsafe downgrade of %s from %v to %v is not supported in this version", image.MetadataVersion, now, want)
		}
		return kerr.Errorf(kerr.InvalidUpdateVersion,
			"%s cannot go from %v to %v: %v changed the format of metadata", image.MetadataVersion, now, want, l)
	}
	return nil
}

// checkSupport asks every node: this one, all registered brokers, and from
// 3.7-IV0 on all controllers, of which each voter must have registered.
func checkSupport(img *image.Image, soft *Soft, u FeatureUpdate) error {
	if r := image.RangeOf(soft.Supported, u.Feature); !r.Contains(u.Level) {
		return unsupported(u, "the active controller", soft.Node, r)
	}
	for _, b := range img.Brokers().All() {
		if r := b.Supports(u.Feature); !r.Contains(u.Level) {
			return unsupported(u, "broker", b.ID, r)
		}
	}
	if img.Level() < image.LevelControllers {
		return nil
	}
	for _, c := range img.Controllers().All() {
		if r := image.RangeOf(c.Features, u.Feature); c.ID != soft.Node && !r.Contains(u.Level) {
			return unsupported(u, "controller", c.ID, r)
		}
	}
	for _, id := range slices.Sorted(slices.Values(soft.voters())) {
		if _, ok := img.Controller(id); !ok && id != soft.Node {
			return kerr.Errorf(kerr.InvalidUpdateVersion, "feature %s: controller %d has not registered, and may not support %d", u.Feature, id, u.Level)
		}
	}
	return nil
}

func unsupported(u FeatureUpdate, who string, id kafka.NodeID, r image.VersionRange) error {
	return kerr.Errorf(kerr.InvalidUpdateVersion, "invalid update version %d for feature %s: %s %d supports %d to %d",
		u.Level, u.Feature, who, id, r.Min, r.Max)
}
