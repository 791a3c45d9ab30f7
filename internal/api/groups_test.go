package api

import (
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The coordinator is the leader of the group's partition, on the listener of
// the request; until the topic is there it is created, and clients told to wait.
func TestFindCoordinator(t *testing.T) {
	g := newGroupRig(t)
	ask := func(version int16, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = kind, key, []string{key}
		resp := answer[*kmsg.FindCoordinatorResponse](g, version, req)
		if version >= 4 {
			return resp.Coordinators[0]
		}
		return kmsg.FindCoordinatorResponseCoordinator{
			Key: key, NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port, ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage,
		}
	}
	g.versions(10, func(v int16) {
		before := g.making
		c := ask(v, 0, "g")
		wantCode(t, "no topic yet", c.ErrorCode, kerr.CoordinatorNotAvailable)
		if c.NodeID != -1 || c.Host != "" || c.Port != -1 || g.making != before+1 {
			t.Errorf("v%d: %+v, created %d times", v, c, g.making-before)
		}
	})
	g.addTopic(kafka.ConsumerOffsetsTopic, topicOffsets, 50)
	g.versions(10, func(v int16) {
		c := ask(v, 0, "g")
		wantCode(t, "group", c.ErrorCode, kerr.None)
		if c.NodeID != 1 || c.Host != "broker.example" || c.Port != 9092 {
			t.Errorf("v%d: %+v", v, c)
		}
		if v == 0 {
			return // has no type
		}
		for kind, word := range map[int8]string{1: "transactions", 2: "share groups", 3: "not a type"} {
			c := ask(v, kind, "x")
			code := kerr.Code(c.ErrorCode)
			if code.Retriable() || c.ErrorMessage == nil || !strings.Contains(*c.ErrorMessage, word) {
				t.Errorf("v%d type %d: %v, want an error that is not tried again and says %q", v, kind, code, word)
			}
			want := kerr.InvalidRequest
			if v < 4 && kind == 1 {
				want = kerr.TransactionalIdAuthorizationFailed // all others librdkafka tries for ever
			}
			if code != want {
				t.Errorf("v%d type %d: %v, want %v", v, kind, code, want)
			}
		}
	})
}

// From version 4 on the first join of a dynamic member brings its id
// (KIP-394); before, it is admitted at once and named by the answer.
func TestJoinGroupVersions(t *testing.T) {
	newGroupRig(t).versions(11, func(v int16) {
		g := newGroupRig(t)
		req := joinRequest("g")
		if v >= 4 {
			first := answer[*kmsg.JoinGroupResponse](g, v, req)
			wantCode(t, "first join", first.ErrorCode, kerr.MemberIdRequired)
			if !strings.HasPrefix(first.MemberID, "app-") || first.Generation != -1 || v < 7 && first.Protocol == nil {
				t.Fatalf("v%d: %+v", v, first)
			}
			req.MemberID = first.MemberID
		}
		got := g.send(v, req)
		if *got != nil {
			t.Fatalf("v%d: the initial delay was not waited for", v)
		}
		g.advance(3 * time.Second)
		resp := (*got).(*kmsg.JoinGroupResponse)
		wantCode(t, "join", resp.ErrorCode, kerr.None)
		if resp.Generation != 1 || *resp.Protocol != "range" || resp.LeaderID != resp.MemberID || len(resp.Members) != 1 ||
			string(resp.Members[0].ProtocolMetadata) != string(req.Protocols[0].Metadata) {
			t.Errorf("v%d: %+v", v, resp)
		}
		if v >= 7 && (resp.ProtocolType == nil || *resp.ProtocolType != "consumer") {
			t.Errorf("v%d: protocol type %v", v, resp.ProtocolType)
		}
	})
}

// A static member is admitted at once, and its instance id comes back to the
// leader (KIP-345).
func TestJoinGroupStatic(t *testing.T) {
	g := newGroupRig(t)
	req := joinRequest("g")
	req.InstanceID = kmsg.StringPtr("i1")
	got := g.send(5, req)
	g.advance(3 * time.Second)
	resp := (*got).(*kmsg.JoinGroupResponse)
	wantCode(t, "join", resp.ErrorCode, kerr.None)
	if !strings.HasPrefix(resp.MemberID, "i1-") || *resp.Members[0].InstanceID != "i1" {
		t.Errorf("%+v", resp)
	}
}

// SyncGroup from version 5 on names type and protocol, and a client that names
// none or means others is refused (KIP-559).
func TestSyncGroupChecksProtocol(t *testing.T) {
	g := newGroupRig(t)
	member, generation := g.join("g")
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation = "g", member, generation
	g.versions(14, func(v int16) {
		sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		resp := answer[*kmsg.SyncGroupResponse](g, v, sync)
		wantCode(t, "sync", resp.ErrorCode, kerr.None)
		if string(resp.MemberAssignment) != "A" || v >= 5 && (*resp.Protocol != "range" || *resp.ProtocolType != "consumer") {
			t.Errorf("v%d: %+v", v, resp)
		}
		sync.Protocol = kmsg.StringPtr("roundrobin")
		want := kerr.None
		if v >= 5 {
			want = kerr.InconsistentGroupProtocol
		}
		wantCode(t, "other protocol", answer[*kmsg.SyncGroupResponse](g, v, sync).ErrorCode, want)
		sync.Protocol = nil
		wantCode(t, "no protocol", answer[*kmsg.SyncGroupResponse](g, v, sync).ErrorCode, want)
	})
}

func TestHeartbeatVersions(t *testing.T) {
	g := newGroupRig(t)
	member, generation := g.join("g")
	g.versions(12, func(v int16) {
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.MemberID, beat.Generation = "g", member, generation
		wantCode(t, "heartbeat", answer[*kmsg.HeartbeatResponse](g, v, beat).ErrorCode, kerr.None)
		beat.Generation++
		wantCode(t, "heartbeat", answer[*kmsg.HeartbeatResponse](g, v, beat).ErrorCode, kerr.IllegalGeneration)
		beat.Group = ""
		wantCode(t, "heartbeat", answer[*kmsg.HeartbeatResponse](g, v, beat).ErrorCode, kerr.InvalidGroupId)
	})
}

// Before version 3 LeaveGroup is about one member and its error is that of the
// answer; since then each member has its own and the answer has none.
func TestLeaveGroupVersions(t *testing.T) {
	newGroupRig(t).versions(13, func(v int16) {
		g := newGroupRig(t)
		member, _ := g.join("g")
		leave := func(group, member string) *kmsg.LeaveGroupResponse {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group, req.MemberID = group, member
			req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: member}}
			return answer[*kmsg.LeaveGroupResponse](g, v, req)
		}
		for _, c := range []struct {
			group, member string
			want          kerr.Code
		}{{"g", "nobody", kerr.UnknownMemberId}, {"none", "x", kerr.UnknownMemberId}, {"g", member, kerr.None}} {
			resp := leave(c.group, c.member)
			if v < 3 {
				wantCode(t, c.member, resp.ErrorCode, c.want)
				continue
			}
			wantCode(t, c.member, resp.ErrorCode, kerr.None)
			wantCode(t, c.member, resp.Members[0].ErrorCode, c.want)
		}
		wantCode(t, "no group", leave("", "x").ErrorCode, kerr.InvalidGroupId)
	})
}

func commitRequest(id string, offset int64, partitions ...int32) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = id, -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "t", topicT
	for _, p := range partitions {
		one := kmsg.NewOffsetCommitRequestTopicPartition()
		one.Partition, one.Offset, one.LeaderEpoch = p, offset, 4
		topic.Partitions = append(topic.Partitions, one)
	}
	req.Topics = append(req.Topics, topic)
	return req
}

// A partition that does not exist has an error of its own and the others are
// committed; null metadata comes back as "".
func TestOffsetCommitAndFetch(t *testing.T) {
	g := newGroupRig(t)
	g.versions(8, func(v int16) {
		resp := answer[*kmsg.OffsetCommitResponse](g, v, commitRequest("g", int64(v), 0, 7, 2))
		var codes []kerr.Code
		for _, p := range resp.Topics[0].Partitions {
			codes = append(codes, kerr.Code(p.ErrorCode))
		}
		if codes[0] != kerr.None || codes[1] != kerr.UnknownTopicOrPartition || codes[2] != kerr.None {
			t.Fatalf("v%d: %v", v, codes)
		}
		if (v >= 10) != (resp.Topics[0].TopicID == topicT) || (v < 10) != (resp.Topics[0].Topic == "t") {
			t.Errorf("v%d: topic %q %x", v, resp.Topics[0].Topic, resp.Topics[0].TopicID)
		}
	})
	g.versions(9, func(v int16) {
		epoch, offset, missing, code := fetched(t, g, v, false)
		if code != kerr.None || offset != 10 || missing != -1 || v >= 5 && epoch != 4 {
			t.Errorf("v%d: offset %d epoch %d, missing %d, %v", v, offset, epoch, missing, code)
		}
		if v < 2 {
			return
		}
		if _, offset, _, _ := fetched(t, g, v, true); offset != 10 {
			t.Errorf("v%d, all topics: offset %d", v, offset)
		}
	})
}

// fetched asks for partitions 0, which has an offset, and 1, which has none; or
// for all.
func fetched(t *testing.T, g *groupRig, v int16, all bool) (epoch int32, offset, missing int64, code kerr.Code) {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = "g"
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group = "g"
	if !all {
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
		one.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: topicT, Partitions: []int32{0, 1}}}
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{one}
	resp := answer[*kmsg.OffsetFetchResponse](g, v, req)
	if v < 8 {
		p := resp.Topics[0].Partitions
		if *p[0].Metadata != "" {
			t.Errorf("v%d: metadata %q", v, *p[0].Metadata)
		}
		return p[0].LeaderEpoch, p[0].Offset, p[1].Offset, kerr.Code(resp.ErrorCode)
	}
	topic := resp.Groups[0].Topics[0]
	if v >= 10 && topic.TopicID != topicT {
		t.Errorf("v%d: topic id %x", v, topic.TopicID)
	}
	return topic.Partitions[0].LeaderEpoch, topic.Partitions[0].Offset, topic.Partitions[1].Offset, kerr.Code(resp.Groups[0].ErrorCode)
}

// A topic that was deleted and made again behind the coordinator's back has no
// offsets, by whatever name it is asked for; a commit for the new one counts.
func TestOffsetsAreOfTheTopicThatHasTheNameNow(t *testing.T) {
	g := newGroupRig(t)
	g.addTopic("kept", kafka.TopicID{8}, 1)
	commit := func(id kafka.TopicID, offset int64) {
		t.Helper()
		req := commitRequest("g", offset, 0)
		req.Topics[0].TopicID = id
		resp := answer[*kmsg.OffsetCommitResponse](g, 10, req)
		wantCode(t, "commit", resp.Topics[0].Partitions[0].ErrorCode, kerr.None)
	}
	commit(topicT, 10)
	commit(kafka.TopicID{8}, 20)
	second := kafka.TopicID{3, 2, 1}
	g.apply(&metarec.RemoveTopicRecord{TopicId: topicT})
	g.addTopic("t", second, 3)
	g.versions(9, func(v int16) {
		if got := offsetsByName(g, v, second); got["t"] != -1 {
			t.Errorf("v%d: offset %d of the topic that is gone", v, got["t"])
		}
		if v < 2 {
			return
		}
		got := offsetsByName(g, v, kafka.TopicID{})
		if _, shown := got["t"]; shown || got["kept"] != 20 {
			t.Errorf("v%d, all topics: %v", v, got)
		}
	})
	commit(second, 30)
	g.versions(9, func(v int16) {
		if got := offsetsByName(g, v, second); got["t"] != 30 {
			t.Errorf("v%d: offset %d of the new topic", v, got["t"])
		}
	})
}

// offsetsByName fetches partition 0 of topic t, which has that id, or of all
// topics when it is zero.
func offsetsByName(g *groupRig, v int16, id kafka.TopicID) map[string]int64 {
	g.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	one := kmsg.NewOffsetFetchRequestGroup()
	req.Group, one.Group = "g", "g"
	if !id.IsZero() {
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		one.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: id, Partitions: []int32{0}}}
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{one}
	resp := answer[*kmsg.OffsetFetchResponse](g, v, req)
	got := map[string]int64{}
	for _, topic := range resp.Topics {
		got[topic.Topic] = topic.Partitions[0].Offset
	}
	for _, group := range resp.Groups {
		for _, topic := range group.Topics {
			name := topic.Topic
			if v >= 10 {
				ref := findTopic(g.img, true, "", topic.TopicID)
				name = ref.name
			}
			got[name] = topic.Partitions[0].Offset
		}
	}
	return got
}

// An unknown topic never reaches the coordinator: by name 3, by id 100.
func TestOffsetCommitUnknownTopic(t *testing.T) {
	g := newGroupRig(t)
	req := commitRequest("g", 1, 0)
	req.Topics[0].Topic, req.Topics[0].TopicID = "none", [16]byte{7}
	wantCode(t, "by name", answer[*kmsg.OffsetCommitResponse](g, 9, req).Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	wantCode(t, "by id", answer[*kmsg.OffsetCommitResponse](g, 10, req).Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicId)
	if g.asked != 0 {
		t.Errorf("the coordinator was asked %d times", g.asked)
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{TopicID: [16]byte{7}, Partitions: []int32{0}}}}}
	p := answer[*kmsg.OffsetFetchResponse](g, 10, fetch).Groups[0].Topics[0].Partitions[0]
	if wantCode(t, "fetch", p.ErrorCode, kerr.UnknownTopicId); p.Offset != -1 {
		t.Errorf("offset %d", p.Offset)
	}
}

// The error of a commit to an unknown group with a generation depends on the
// version.
func TestOffsetCommitUnknownGroup(t *testing.T) {
	g := newGroupRig(t)
	g.versions(8, func(v int16) {
		req := commitRequest("none", 1, 0)
		req.Generation, req.MemberID = 3, "m"
		want := kerr.IllegalGeneration
		if v >= 9 {
			want = kerr.GroupIdNotFound
		}
		wantCode(t, "commit", answer[*kmsg.OffsetCommitResponse](g, v, req).Topics[0].Partitions[0].ErrorCode, want)
	})
}

// When the coordinator refuses, the error stands where the version has room.
func TestCoordinatorErrors(t *testing.T) {
	g := newGroupRig(t)
	g.refuse = kerr.NotCoordinator
	g.versions(8, func(v int16) {
		wantCode(t, "commit", answer[*kmsg.OffsetCommitResponse](g, v, commitRequest("g", 1, 0)).Topics[0].Partitions[0].ErrorCode, kerr.NotCoordinator)
	})
	g.versions(9, func(v int16) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
		resp := answer[*kmsg.OffsetFetchResponse](g, v, req)
		switch {
		case v < 2:
			wantCode(t, "fetch", resp.Topics[0].Partitions[0].ErrorCode, kerr.NotCoordinator)
		case v < 8:
			wantCode(t, "fetch", resp.ErrorCode, kerr.NotCoordinator)
		default:
			wantCode(t, "fetch", resp.Groups[0].ErrorCode, kerr.NotCoordinator)
		}
	})
	g.versions(11, func(v int16) {
		wantCode(t, "join", answer[*kmsg.JoinGroupResponse](g, v, joinRequest("g")).ErrorCode, kerr.NotCoordinator)
	})
	wantCode(t, "list", answer[*kmsg.ListGroupsResponse](g, 5, kmsg.NewPtrListGroupsRequest()).ErrorCode, kerr.NotCoordinator)
}

// A group that is not there is Dead before version 6, and an error since.
func TestDescribeGroups(t *testing.T) {
	g := newGroupRig(t)
	member, _ := g.join("g")
	g.versions(15, func(v int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"g", "none"}, true
		resp := answer[*kmsg.DescribeGroupsResponse](g, v, req)
		there, none := resp.Groups[0], resp.Groups[1]
		if there.ErrorCode != 0 || there.State != "Stable" || there.Protocol != "range" || there.ProtocolType != "consumer" {
			t.Errorf("v%d: %+v", v, there)
		}
		m := there.Members[0]
		if m.MemberID != member || m.ClientID != "app" || m.ClientHost != "/10.0.0.1" || string(m.MemberAssignment) != "A" || len(m.ProtocolMetadata) == 0 {
			t.Errorf("v%d: %+v", v, m)
		}
		if v >= 3 && there.AuthorizedOperations != allGroupOperations {
			t.Errorf("v%d: operations %b", v, there.AuthorizedOperations)
		}
		want := kerr.None
		if v >= 6 {
			want = kerr.GroupIdNotFound
		}
		if wantCode(t, "none", none.ErrorCode, want); none.State != "Dead" || v >= 6 && none.ErrorMessage == nil {
			t.Errorf("v%d: %+v", v, none)
		}
	})
}

// Filters of ListGroups do not look at the case of letters.
func TestListGroups(t *testing.T) {
	g := newGroupRig(t)
	g.join("g")
	answer[*kmsg.OffsetCommitResponse](g, 8, commitRequest("simple", 1, 0))
	list := func(v int16, states, types []string) []string {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter, req.TypesFilter = states, types
		var ids []string
		for _, x := range answer[*kmsg.ListGroupsResponse](g, v, req).Groups {
			ids = append(ids, strings.Join([]string{x.Group, x.ProtocolType, x.GroupState, x.GroupType}, "/"))
		}
		return ids
	}
	f := func(v int16, states, types []string, want ...string) {
		t.Helper()
		if got := list(v, states, types); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("v%d %v %v: %v, want %v", v, states, types, got, want)
		}
	}
	f(5, nil, nil, "g/consumer/Stable/classic", "simple//Empty/classic")
	f(5, []string{"stable", "Dead"}, nil, "g/consumer/Stable/classic")
	f(5, []string{"EMPTY"}, []string{"Classic"}, "simple//Empty/classic")
	f(5, nil, []string{"share"})
	f(0, nil, nil, "g/consumer//", "simple///")
}

func TestDeleteGroups(t *testing.T) {
	newGroupRig(t).versions(42, func(v int16) {
		g := newGroupRig(t)
		g.join("g")
		answer[*kmsg.OffsetCommitResponse](g, 8, commitRequest("simple", 1, 0))
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{"g", "simple", "none"}
		resp := answer[*kmsg.DeleteGroupsResponse](g, v, req)
		for i, want := range []kerr.Code{kerr.NonEmptyGroup, kerr.None, kerr.GroupIdNotFound} {
			wantCode(t, req.Groups[i], resp.Groups[i].ErrorCode, want)
			if v >= 3 && (resp.Groups[i].ErrorMessage != nil) != (want != kerr.None) {
				t.Errorf("v%d %s: message %v", v, req.Groups[i], resp.Groups[i].ErrorMessage)
			}
		}
	})
}

// Offsets of a topic that a member reads stay; unknown partitions have an error
// of their own.
func TestOffsetDelete(t *testing.T) {
	g := newGroupRig(t)
	g.addTopic("u", kafka.TopicID{8}, 1)
	member, generation := g.join("g")
	commit := commitRequest("g", 1, 0)
	commit.MemberID, commit.Generation = member, generation
	answer[*kmsg.OffsetCommitResponse](g, 8, commit)
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = "g"
	for _, topic := range []string{"t", "u", "none"} {
		one := kmsg.NewOffsetDeleteRequestTopic()
		one.Topic = topic
		one.Partitions = []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}
		req.Topics = append(req.Topics, one)
	}
	resp := answer[*kmsg.OffsetDeleteResponse](g, 0, req)
	wantCode(t, "top", resp.ErrorCode, kerr.None)
	for i, want := range []kerr.Code{kerr.GroupSubscribedToTopic, kerr.None, kerr.UnknownTopicOrPartition} {
		wantCode(t, resp.Topics[i].Topic, resp.Topics[i].Partitions[0].ErrorCode, want)
	}
	req.Group = "none"
	wantCode(t, "no group", answer[*kmsg.OffsetDeleteResponse](g, 0, req).ErrorCode, kerr.GroupIdNotFound)
	req.Topics = req.Topics[2:] // of which there is nothing to delete
	wantCode(t, "no group, no topic", answer[*kmsg.OffsetDeleteResponse](g, 0, req).ErrorCode, kerr.GroupIdNotFound)
	g.refuse = kerr.NotCoordinator
	wantCode(t, "elsewhere", answer[*kmsg.OffsetDeleteResponse](g, 0, req).ErrorCode, kerr.NotCoordinator)
}

// A code that is not about the group has no sentence about it.
func TestDeleteGroupsElsewhere(t *testing.T) {
	g := newGroupRig(t)
	g.refuse = kerr.NotCoordinator
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{"g"}
	got := answer[*kmsg.DeleteGroupsResponse](g, 3, req).Groups[0]
	if wantCode(t, "delete", got.ErrorCode, kerr.NotCoordinator); got.ErrorMessage != nil {
		t.Errorf("message %q", *got.ErrorMessage)
	}
}

// Requests of the group APIs that change something hold up the next one of
// their connection.
func TestGroupBarriers(t *testing.T) {
	reads := map[int16]bool{9: true, 10: true, 15: true, 16: true}
	for _, r := range GroupRoutes(GroupDeps{}) {
		if r.Barrier == reads[r.Key] {
			t.Errorf("%s: barrier is %v", kmsg.NameForKey(r.Key), r.Barrier)
		}
	}
}

// The coordinator of a transactional id is the leader of its partition of
// __transaction_state, where Apache Kafka's brokers have made that. One of ours is
// none: clients come again, as the partition is to go back.
func TestFindTheCoordinatorOfATransaction(t *testing.T) {
	g := newGroupRig(t)
	g.addTopic(kafka.TransactionStateTopic, kafka.TopicID{7}, 50)
	ask := func(v int16) (c kmsg.FindCoordinatorResponseCoordinator) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType = 1
		if v < 4 {
			req.CoordinatorKey = "app"
			r := answer[*kmsg.FindCoordinatorResponse](g, v, req)
			return kmsg.FindCoordinatorResponseCoordinator{NodeID: r.NodeID, Host: r.Host, Port: r.Port, ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage}
		}
		req.CoordinatorKeys = []string{"app"}
		return answer[*kmsg.FindCoordinatorResponse](g, v, req).Coordinators[0]
	}
	for v := int16(1); v <= 6; v++ {
		c := ask(v)
		wantCode(t, "of Apache Kafka", c.ErrorCode, kerr.None)
		if c.NodeID != 1 || c.Host != "broker.example" || c.Port != 9092 {
			t.Errorf("v%d: %+v", v, c)
		}
	}
	ours := metarec.NewRegisterBrokerRecord()
	ours.BrokerId, ours.BrokerEpoch, ours.IncarnationId = 1, 5, kafka.UUID{10}
	ours.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "broker.example", Port: 9092}}
	ours.Features = []metarec.RegisterBrokerRecordBrokerFeature{{Name: image.DirsFeature, MaxSupportedVersion: 1}}
	g.apply(ours)
	for v := int16(1); v <= 6; v++ {
		c := ask(v)
		wantCode(t, "one of ours", c.ErrorCode, kerr.CoordinatorNotAvailable)
		if c.ErrorMessage == nil || !strings.Contains(*c.ErrorMessage, "coordinates no transactions") {
			t.Errorf("v%d: %v", v, c.ErrorMessage)
		}
	}
}
