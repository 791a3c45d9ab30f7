package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// Elsewhere tells whether an answer says that whoever gave it is not the active
// controller, so that the request has to go to another node. An envelope does not
// bring such an answer to a client: it carries NOT_CONTROLLER itself (KIP-590).
func Elsewhere(resp kmsg.Response) bool {
	switch r := resp.(type) {
	case *kmsg.AlterPartitionResponse:
		// In a partition's entry it means that the leader knows more than the
		// controller (KAFKA-14154).
		return kerr.Code(r.ErrorCode) == kerr.NotController
	case *kmsg.DescribeQuorumResponse:
		if holds(r, kerr.NotLeaderOrFollower) {
			return true
		}
	}
	return holds(resp, kerr.NotController)
}
