package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// Rule: as in Kafka an answer counts once for each code in it, NONE too.
func TestErrorCodesOfAnswersAreCounted(t *testing.T) {
	f := func(m kmsg.Response, want string) {
		t.Helper()
		var c ErrorCounts
		c.AddAll(m)
		c.AddAll(m)
		var got []string
		c.Each(func(code kerr.Code, n float64) { got = append(got, fmt.Sprintf("%v=%g", code, n)) })
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%T: %q, want %q", m, text, want)
		}
	}
	f(&kmsg.HeartbeatResponse{ErrorCode: int16(kerr.RebalanceInProgress)}, "REBALANCE_IN_PROGRESS=2")
	f(&kmsg.ProduceResponse{Topics: []kmsg.ProduceResponseTopic{
		{Partitions: []kmsg.ProduceResponseTopicPartition{{}, {ErrorCode: int16(kerr.NotLeaderOrFollower)}}},
		{Partitions: []kmsg.ProduceResponseTopicPartition{{}}},
	}}, "NONE=4 NOT_LEADER_OR_FOLLOWER=2")
	f(&kmsg.ListGroupsResponse{}, "NONE=2")
	f(&kmsg.SASLHandshakeResponse{ErrorCode: 1234}, "UNKNOWN_ERROR_CODE(1234)=2")
}

func BenchmarkErrorCounts(b *testing.B) {
	var c ErrorCounts
	m := &kmsg.ProduceResponse{Topics: []kmsg.ProduceResponseTopic{{Partitions: make([]kmsg.ProduceResponseTopicPartition, 1)}}}
	b.ReportAllocs()
	for b.Loop() {
		c.AddAll(m)
	}
}
