package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/pmap"
	"github.com/ottla/ottla/internal/core/image"
)

// cordonedKey lists the log directories of a broker that take no new replicas
// (KIP-1066).
const cordonedKey = "cordoned.log.dirs"

// checkCordon refuses a list that this cluster has no records for. Whoever asks a
// controller directly may only take directories off the list, as when the broker is
// stopped: which ones there are only the broker knows (KAFKA-20441).
func checkCordon(img *image.Image, r image.Resource, direct bool, stored pmap.Map[string, string], next map[string]string) error {
	value, has := next[cordonedKey]
	old, had := stored.Get(cordonedKey)
	switch {
	case r.Type != image.BrokerResource || !has || had && old == value:
		return nil
	case img.Level() < image.LevelCordonedDirs:
		return kerr.Errorf(kerr.InvalidConfig, "%s needs %s %v or newer, the cluster has %v",
			cordonedKey, image.MetadataVersion, image.LevelCordonedDirs, img.Level())
	}
	now := split(old)
	added := func(dir string) bool { return !slices.Contains(now, dir) }
	if direct && slices.ContainsFunc(split(value), added) {
		return kerr.Errorf(kerr.InvalidConfig,
			"When updating %s via controllers, the new value must be a subset of the current configuration value.", cordonedKey)
	}
	return nil
}
