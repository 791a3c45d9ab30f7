package raft

import (
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
)

const (
	// lastEpoch is the end of epochs: no election follows it. A quorum that holds
	// one every second gets there after 68 years.
	lastEpoch kafka.Epoch = math.MaxInt32
	// farEpoch is near enough to the end to be a mistake of whoever names it.
	farEpoch = lastEpoch - 1<<20
	// stride is how far a peer may be ahead of us where epochs are far.
	stride = 1 << 10
)

// believable tells whether a peer may be in an epoch. One message that names
// the last epoch would otherwise be taken, written down, and leave no room for
// another election: ever.
func believable(c *Core, epoch kafka.Epoch) bool {
	return epoch <= farEpoch || epoch-c.election.Epoch <= stride
}
