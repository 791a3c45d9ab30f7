package image

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
)

// settingSet is what a cluster has settled on: features, configurations and how
// far producer ids are given away.
type settingSet struct {
	features pmap.Map[string, int16] // finalized, above level 0
	// level is the finalized metadata.version, which is asked for all the time.
	level   Level
	configs pmap.Map[Resource, pmap.Map[string, string]]
	// nextProducerID is the first id of the next block; 0 before the first.
	nextProducerID kafka.ProducerID
}

var noSettings = settingSet{
	features: pmap.Ordered[string, int16](),
	configs:  pmap.By[Resource, pmap.Map[string, string]](compareResources),
}

// Level is the finalized metadata.version; zero before the first record.
func (s *settingSet) Level() Level { return s.level }

// Feature is the finalized level of a feature; zero when it is not finalized.
func (s *settingSet) Feature(name string) int16 {
	level, _ := s.features.Get(name)
	return level
}

// Features are all finalized levels above zero, by name.
func (s *settingSet) Features() pmap.Map[string, int16] { return s.features }

// Configs are all stored configurations.
func (s *settingSet) Configs() pmap.Map[Resource, pmap.Map[string, string]] { return s.configs }

// NextProducerID is the first id of the next block to hand out.
func (s *settingSet) NextProducerID() kafka.ProducerID { return s.nextProducerID }

// ElrEnabled tells whether eligible leader replicas are kept (KIP-966).
func (s *settingSet) ElrEnabled() bool { return s.Feature(ElrVersion) > 0 }

// Config is what is stored for a resource, by key.
func (s *settingSet) Config(r Resource) pmap.Map[string, string] {
	stored, ok := s.configs.Get(r)
	if !ok {
		return noConfig
	}
	return stored
}

var noConfig = pmap.Ordered[string, string]()
