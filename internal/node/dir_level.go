package node

import (
	"fmt"

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

// namesNoDirs tells whether the registration that this broker made under an epoch is
// from before registrations named directories.
func namesNoDirs(img *image.Image, self kafka.NodeID, epoch kafka.BrokerEpoch) bool {
	b, ok := img.Broker(self)
	return ok && b.Epoch == epoch && len(b.Dirs) == 0 && img.Level().HasDirectories()
}
