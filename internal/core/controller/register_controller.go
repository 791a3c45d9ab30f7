package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// RegisterController notes what a controller supports and where it listens
// (KIP-919). Before a controller that does not know the rule of KIP-858 joins
// those that do, what they placed by the rule is written down.
func RegisterController(img *image.Image, want image.Controller) Decision[struct{}] {
	if img.Level() < image.LevelControllers {
		return refusef[struct{}](kerr.UnsupportedVersion, "%s %v has no registration of controllers, it comes with %v",
			image.MetadataVersion, img.Level(), image.LevelControllers)
	}
	d := draftOn(img)
	if img.DirsByRule() && !want.Names(image.DirsFeature) {
		d.writePlacements()
	}
	d.add(want.Record())
	// Placements may be many and are right one by one; the registration is last.
	decided := piecewise(d, struct{}{})
	decided.Atomic = len(d.records) == 1
	return decided
}

// writePlacements writes the directories that follow from registrations alone.
func (d *draft) writePlacements() {
	for at, p := range d.img.Partitions() {
		if d.img.PlacedByRule(p) {
			r := metarec.NewPartitionChangeRecord()
			r.TopicId, r.PartitionId, r.Directories = at.Topic.ID, int32(at.Partition), p.Dirs
			d.addAt(r, d.level().Partition())
		}
	}
}

// UnregisterController forgets a controller that is gone (KIP-1312). One that
// still votes is refused: it would register again.
func UnregisterController(img *image.Image, soft *Soft, id kafka.NodeID) Decision[struct{}] {
	if img.Level() < image.LevelUnregisterControls {
		return refusef[struct{}](kerr.UnsupportedVersion, "%s %v cannot unregister controllers, that comes with %v",
			image.MetadataVersion, img.Level(), image.LevelUnregisterControls)
	}
	if _, ok := img.Controller(id); !ok {
		return refusef[struct{}](kerr.ControllerIdNotRegistered, "controller %d is not registered", id)
	}
	for _, voter := range append(soft.voters(), soft.Node) {
		if voter == id {
			return refusef[struct{}](kerr.InvalidRequest, "controller %d is a voter: remove it from the quorum first", id)
		}
	}
	d := draftOn(img)
	d.add(&metarec.UnregisterControllerRecord{ControllerId: int32(id)})
	return atomically(d, struct{}{})
}
