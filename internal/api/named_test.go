package api

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A request that names more than maxNamed has INVALID_REQUEST, and no
// coordinator is asked.
func TestTooManyNamesAreRefusedFirst(t *testing.T) {
	g := newGroupRig(t)
	ids := make([]string, maxNamed+1)
	partitions := make([]int32, maxNamed+1)
	for i := range ids {
		ids[i], partitions[i] = fmt.Sprint(i), int32(i)
	}
	f := func(version int16, req kmsg.Request, codes func(kmsg.Response) []int16) {
		t.Helper()
		g.asked = 0
		got := codes(answer[kmsg.Response](g, version, req))
		if len(got) == 0 || len(got) > maxNamed+1 || g.asked > 0 {
			t.Errorf("%T v%d: %d codes, %d times asked", req, version, len(got), g.asked)
		}
		for _, code := range got {
			wantCode(t, fmt.Sprintf("%T v%d", req, version), code, kerr.InvalidRequest)
		}
	}
	f(6, &kmsg.DescribeGroupsRequest{Groups: ids}, func(r kmsg.Response) (codes []int16) {
		for _, x := range r.(*kmsg.DescribeGroupsResponse).Groups {
			codes = append(codes, x.ErrorCode)
		}
		return codes
	})
	f(3, &kmsg.DeleteGroupsRequest{Groups: ids}, func(r kmsg.Response) (codes []int16) {
		for _, x := range r.(*kmsg.DeleteGroupsResponse).Groups {
			codes = append(codes, x.ErrorCode)
		}
		return codes
	})
	f(6, &kmsg.FindCoordinatorRequest{CoordinatorKeys: ids}, func(r kmsg.Response) (codes []int16) {
		for _, x := range r.(*kmsg.FindCoordinatorResponse).Coordinators {
			codes = append(codes, x.ErrorCode)
		}
		return codes
	})
	f(5, &kmsg.LeaveGroupRequest{Group: "g", Members: make([]kmsg.LeaveGroupRequestMember, maxNamed+1)}, func(r kmsg.Response) []int16 {
		return []int16{r.(*kmsg.LeaveGroupResponse).ErrorCode}
	})
	f(5, &kmsg.SyncGroupRequest{Group: "g", GroupAssignment: make([]kmsg.SyncGroupRequestGroupAssignment, maxNamed+1)}, func(r kmsg.Response) []int16 {
		return []int16{r.(*kmsg.SyncGroupResponse).ErrorCode}
	})
	f(8, commitRequest("g", 1, partitions...), func(r kmsg.Response) (codes []int16) {
		for _, x := range r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions {
			codes = append(codes, x.ErrorCode)
		}
		return codes
	})
	deletion := []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: make([]kmsg.OffsetDeleteRequestTopicPartition, maxNamed+1)}}
	f(0, &kmsg.OffsetDeleteRequest{Group: "g", Topics: deletion}, func(r kmsg.Response) []int16 {
		return []int16{r.(*kmsg.OffsetDeleteResponse).ErrorCode}
	})
	f(7, &kmsg.OffsetFetchRequest{Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: partitions}}}, func(r kmsg.Response) []int16 {
		return []int16{r.(*kmsg.OffsetFetchResponse).ErrorCode}
	})
	whole := make([]kmsg.OffsetFetchRequestGroup, len(ids))
	for i, id := range ids {
		whole[i].Group = id
	}
	f(8, &kmsg.OffsetFetchRequest{Groups: whole}, func(r kmsg.Response) (codes []int16) {
		for _, x := range r.(*kmsg.OffsetFetchResponse).Groups {
			codes = append(codes, x.ErrorCode)
		}
		return codes
	})
}

// JoinGroup hands on no more protocols than it takes to be refused.
func TestJoinGroupOfManyProtocols(t *testing.T) {
	g := newGroupRig(t)
	req := joinRequest("g")
	for len(req.Protocols) < 10*group.MaxProtocols {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: "a"})
	}
	wantCode(t, "join", answer[*kmsg.JoinGroupResponse](g, 0, req).ErrorCode, kerr.InvalidRequest)
	req.Protocols = req.Protocols[:group.MaxProtocols] // most of them the same, as Apache Kafka takes them
	wantCode(t, "join", answer[*kmsg.JoinGroupResponse](g, 9, req).ErrorCode, kerr.MemberIdRequired)
}

// What a request names again is asked for and answered once.
func TestNamedAgainIsAnsweredOnce(t *testing.T) {
	g := newGroupRig(t)
	answer[*kmsg.OffsetCommitResponse](g, 8, commitRequest("simple", 7, 0, 1))
	g.asked = 0
	f := func(what string, answered, want int) {
		t.Helper()
		if answered != want || g.asked > want {
			t.Errorf("%s: %d answers, %d times asked, want %d", what, answered, g.asked, want)
		}
		g.asked = 0
	}
	names := []string{"g", "simple", "g", "g", "simple"}
	f("describe", len(answer[*kmsg.DescribeGroupsResponse](g, 6, &kmsg.DescribeGroupsRequest{Groups: names}).Groups), 2)
	f("find", len(answer[*kmsg.FindCoordinatorResponse](g, 6, &kmsg.FindCoordinatorRequest{CoordinatorKeys: names}).Coordinators), 2)

	topic := kmsg.OffsetFetchRequestGroupTopic{Topic: "t", Partitions: []int32{0, 1, 0, 0}}
	fetch := &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
		{Group: "g"}, {Group: "g"}, {Group: "simple", Topics: []kmsg.OffsetFetchRequestGroupTopic{topic, topic}},
	}}
	resp := answer[*kmsg.OffsetFetchResponse](g, 8, fetch)
	f("groups of a fetch", len(resp.Groups), 2)
	f("partitions of a fetch", len(resp.Groups[1].Topics[0].Partitions), 2)
	f("partitions of its second mention", len(resp.Groups[1].Topics[1].Partitions), 0)
	if p := resp.Groups[1].Topics[0].Partitions; p[0].Offset != 7 || p[1].Partition != 1 || p[1].Offset != 7 {
		t.Errorf("fetched %+v", p)
	}
	one := &kmsg.OffsetFetchRequest{Group: "simple", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1, 0, 1, 1}}}}
	f("partitions of a fetch of one group", len(answer[*kmsg.OffsetFetchResponse](g, 7, one).Topics[0].Partitions), 2)

	f("delete", len(answer[*kmsg.DeleteGroupsResponse](g, 2, &kmsg.DeleteGroupsRequest{Groups: names}).Groups), 2)
}
