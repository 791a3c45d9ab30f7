package node

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
)

// severalDirs tells why a broker with so many entries in log.dirs cannot be one of
// this cluster: below a level its controller does not know which replicas a failed
// directory takes along, and would leave them without a leader (KAFKA-16606).
func severalDirs(level image.Level, count int) error {
	if level == 0 || level.HasDirectories() || count < 2 {
		return nil
	}
	return fmt.Errorf("log.dirs has %d entries, but the cluster is finalized at %s %v, whose controllers cannot tell directories apart: raise it to %v or higher, or keep one entry",
		count, image.MetadataVersion, level, image.LevelDirectories)
}

// registersLess tells whether the registration that this broker made under an epoch
// lacks directories: it is from before registrations named them, or from before one of
// those that are online came back.
func registersLess(img *image.Image, self kafka.NodeID, epoch kafka.BrokerEpoch, online []kafka.DirID) bool {
	b, ok := img.Broker(self)
	return ok && b.Epoch == epoch && img.Level().HasDirectories() &&
		slices.ContainsFunc(online, func(dir kafka.DirID) bool { return !slices.Contains(b.Dirs, dir) })
}
