package api

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/raftnode"
)

// agreeing is a quorum that answers everything without errors.
type agreeing struct{}

func (agreeing) Handle(_ context.Context, _ raftnode.RequestInfo, req kmsg.Request, reply func(kmsg.Response)) {
	reply(req.ResponseKind())
}

// A Fetch of the metadata log names the epoch of its last record since v12. Apache
// Kafka 4.4 serves the versions before, and refuses each such request.
func TestAFetchWithoutTheEpochOfItsLastRecordIsInvalid(t *testing.T) {
	table := NewTable(OnController, aboutOf(towns(t)), QuorumRoutes(agreeing{}))
	for v := int16(4); v <= 18; v++ {
		want := kerr.None
		if 7 <= v && v < 12 { // older ones have no place for it
			want = kerr.InvalidRequest
		}
		resp := ask[*kmsg.FetchResponse](t, table, "CONTROLLER", kmsg.NewPtrFetchRequest(), v)
		wantCode(t, "fetch", resp.ErrorCode, want)
		if len(resp.Topics) > 0 {
			t.Errorf("v%d: %d topics", v, len(resp.Topics))
		}
	}
}
