package image

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
)

// settingsEdit is the settings of an image under change.
type settingsEdit struct {
	features       pmap.Edit[string, int16]
	level          Level
	configs        pmap.Edit[Resource, pmap.Map[string, string]]
	nextProducerID kafka.ProducerID
}

func editSettings(img *Image) settingsEdit {
	return settingsEdit{*img.features.Edit(), img.level, *img.configs.Edit(), img.nextProducerID}
}

func (e *settingsEdit) done() settingSet {
	return settingSet{e.features.Done(), e.level, e.configs.Done(), e.nextProducerID}
}

func (e *settingsEdit) setConfig(r *metarec.ConfigRecord, changed *changes) error {
	resource := Resource{ResourceType(r.ResourceType), r.ResourceName}
	stored, ok := e.configs.Get(resource)
	if !ok {
		stored = noConfig
	}
	if r.Value == nil {
		stored = stored.Without(r.Name)
	} else {
		stored = stored.With(r.Name, *r.Value)
	}
	if stored.Len() == 0 {
		e.configs.Delete(resource)
	} else {
		e.configs.Set(resource, stored)
	}
	changed.configs.add(resource)
	return nil
}

// finalize takes a level. One that this software cannot read stops the
// node: the records behind it may mean anything.
func (e *settingsEdit) finalize(r *metarec.FeatureLevelRecord, changed *changes) error {
	if r.Name == KRaftVersion {
		return nil // lives in the quorum's own records (KAFKA-18979)
	}
	if can := RangeOf(Replayable(), r.Name); !can.Contains(r.FeatureLevel) {
		return fmt.Errorf("level %d of %s is not supported, only %d to %d", r.FeatureLevel, r.Name, can.Min, can.Max)
	}
	if r.Name == MetadataVersion {
		e.level = Level(r.FeatureLevel)
	}
	if r.FeatureLevel == 0 {
		e.features.Delete(r.Name)
	} else {
		e.features.Set(r.Name, r.FeatureLevel)
	}
	changed.features = true
	return nil
}

func (e *settingsEdit) nextProducerIDs(r *metarec.ProducerIdsRecord, changed *changes) error {
	next := kafka.ProducerID(r.NextProducerId)
	if next <= e.nextProducerID {
		return fmt.Errorf("next producer id %d does not follow %d", next, e.nextProducerID)
	}
	e.nextProducerID = next
	changed.producerIDs = true
	return nil
}
