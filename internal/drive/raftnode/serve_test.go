package raftnode

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask sends a request at a version, through its bytes, and reads the response
// through its own.
func ask[R kmsg.Response](t *testing.T, n *Node, req kmsg.Request, version int16) R {
	t.Helper()
	arrived := again(req, version)
	got := make(chan kmsg.Response, 1)
	n.Handle(context.Background(), RequestInfo{Listener: "CONTROLLER"}, arrived, func(r kmsg.Response) { got <- r })
	select {
	case r := <-got:
		back := arrived.ResponseKind()
		back.SetVersion(version)
		if err := back.ReadFrom(r.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		return back.(R)
	case <-time.After(patience):
		t.Fatalf("%T has no answer", req)
		panic("unreachable")
	}
}

func aVote(n *Node, change func(*kmsg.VoteRequest)) *kmsg.VoteRequest {
	r := kmsg.NewPtrVoteRequest()
	r.ClusterID = &n.cfg.ClusterID
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateID, p.CandidateEpoch, p.PreVote = 9, 1, true
	t := kmsg.NewVoteRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.VoteRequestTopicPartition{p}
	r.Topics, r.VoterID = []kmsg.VoteRequestTopic{t}, -1
	change(r)
	return r
}

func TestVoteOnTheWire(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	defer stop(t, n)
	other := "other"
	f := func(what string, version int16, change func(*kmsg.VoteRequest), top, partition kerr.Code) {
		t.Helper()
		r := ask[*kmsg.VoteResponse](t, n, aVote(n, change), version)
		if kerr.Code(r.ErrorCode) != top || top != 0 && len(r.Topics) != 0 {
			t.Errorf("%s: %v, %d topics", what, kerr.Code(r.ErrorCode), len(r.Topics))
		}
		if top != 0 {
			return
		}
		p := r.Topics[0].Partitions[0]
		if kerr.Code(p.ErrorCode) != partition || p.LeaderID != 1 || p.LeaderEpoch != 1 || p.VoteGranted {
			t.Errorf("%s: %+v", what, p)
		}
		if named := len(r.NodeEndpoints) == 1 && r.NodeEndpoints[0].Port == 9093; named != (version >= 1) {
			t.Errorf("%s: endpoints %v", what, r.NodeEndpoints)
		}
	}
	same := func(*kmsg.VoteRequest) {}
	f("a pre-vote", 2, same, 0, 0)
	f("version 1", 1, same, 0, 0)
	f("version 0", 0, same, 0, 0)
	f("no cluster id", 2, func(r *kmsg.VoteRequest) { r.ClusterID = nil }, 0, 0)
	f("another cluster", 2, func(r *kmsg.VoteRequest) { r.ClusterID = &other }, kerr.InconsistentClusterId, 0)
	f("no topic", 2, func(r *kmsg.VoteRequest) { r.Topics = nil }, kerr.InvalidRequest, 0)
	f("another topic", 2, func(r *kmsg.VoteRequest) { r.Topics[0].Topic = "x" }, kerr.InvalidRequest, 0)
	f("another partition", 2, func(r *kmsg.VoteRequest) { r.Topics[0].Partitions[0].Partition = 1 }, kerr.InvalidRequest, 0)
	f("an old epoch", 2, func(r *kmsg.VoteRequest) { r.Topics[0].Partitions[0].CandidateEpoch = 0 }, 0, kerr.FencedLeaderEpoch)
	f("another voter", 2, func(r *kmsg.VoteRequest) { r.VoterID = 5 }, 0, kerr.InvalidVoterKey)
	f("an illegal epoch", 2, func(r *kmsg.VoteRequest) { r.Topics[0].Partitions[0].LastOffsetEpoch = 2 }, 0, kerr.InvalidRequest)
}

func aFetch(n *Node, change func(*kmsg.FetchRequest)) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.ClusterID, r.ReplicaID, r.ReplicaState.ID, r.MaxBytes = &n.cfg.ClusterID, 9, 9, 1<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LastFetchedEpoch = 1, 0
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = kafka.MetadataTopic, kafka.MetadataTopicID, []kmsg.FetchRequestTopicPartition{p}
	r.Topics = []kmsg.FetchRequestTopic{t}
	change(r)
	return r
}

func TestFetchOnTheWire(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	defer stop(t, n)
	end := mustAppend(t, n, record(t, 1))
	listen(n).awaitEnd(t, end)
	other := "other"
	f := func(what string, version int16, change func(*kmsg.FetchRequest), top, partition kerr.Code) {
		t.Helper()
		r := ask[*kmsg.FetchResponse](t, n, aFetch(n, change), version)
		if kerr.Code(r.ErrorCode) != top {
			t.Errorf("%s: %v", what, kerr.Code(r.ErrorCode))
		}
		if top != 0 {
			return
		}
		p := r.Topics[0].Partitions[0]
		span, _, err := spanOf(p.RecordBatches)
		whole := err == nil && span.Base == 0 && span.End == end && p.HighWatermark == int64(end)
		if kerr.Code(p.ErrorCode) != partition || whole != (partition == 0) || p.CurrentLeader.LeaderID != 1 || p.CurrentLeader.LeaderEpoch != 1 {
			t.Errorf("%s: error %v, records %+v, hw %d", what, kerr.Code(p.ErrorCode), span, p.HighWatermark)
		}
		if named := len(r.Brokers) == 1 && r.Brokers[0].Port == 9093; named != (version >= 16) {
			t.Errorf("%s: endpoints %v", what, r.Brokers)
		}
	}
	same := func(*kmsg.FetchRequest) {}
	for version := int16(12); version <= 18; version++ {
		f("from the beginning", version, same, 0, 0)
	}
	f("another cluster", 18, func(r *kmsg.FetchRequest) { r.ClusterID = &other }, kerr.InconsistentClusterId, 0)
	f("another topic", 18, func(r *kmsg.FetchRequest) { r.Topics[0].TopicID = [16]byte{7} }, kerr.InvalidRequest, 0)
	f("another partition", 18, func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].Partition = 3 }, kerr.InvalidRequest, 0)
	f("two topics", 18, func(r *kmsg.FetchRequest) { r.Topics = append(r.Topics, r.Topics[0]) }, kerr.InvalidRequest, 0)
	f("an old epoch", 18, func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 0 }, 0, kerr.FencedLeaderEpoch)
	f("an epoch to come", 18, func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 3 }, 0, kerr.UnknownLeaderEpoch)
	// At least one batch, whatever the limit.
	r := ask[*kmsg.FetchResponse](t, n, aFetch(n, func(r *kmsg.FetchRequest) { r.MaxBytes = 1 }), 18)
	if span, _, _ := spanOf(r.Topics[0].Partitions[0].RecordBatches); span.End != 1 {
		t.Errorf("with a limit of one byte: %+v", span)
	}
}

func TestDescribeQuorumOnTheWire(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	defer stop(t, n)
	listen(n).awaitEnd(t, 1)
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = kafka.MetadataTopic, []kmsg.DescribeQuorumRequestTopicPartition{{}}
	req.Topics = []kmsg.DescribeQuorumRequestTopic{topic}
	ask[*kmsg.FetchResponse](t, n, aFetch(n, func(r *kmsg.FetchRequest) {
		r.Topics[0].Partitions[0].FetchOffset, r.Topics[0].Partitions[0].LastFetchedEpoch = 1, 1
	}), 18)
	for version := int16(0); version <= 2; version++ {
		r := ask[*kmsg.DescribeQuorumResponse](t, n, req, version)
		p := r.Topics[0].Partitions[0]
		if r.ErrorCode != 0 || p.ErrorCode != 0 || p.LeaderID != 1 || p.LeaderEpoch != 1 || p.HighWatermark != 1 ||
			len(p.CurrentVoters) != 1 || len(p.Observers) != 1 || p.Observers[0].ReplicaID != 9 || p.Observers[0].LogEndOffset != 1 {
			t.Errorf("version %d: %+v", version, r)
		}
		if version >= 2 && (len(r.Nodes) != 1 || r.Nodes[0].Listeners[0].Port != 9093 || p.CurrentVoters[0].ReplicaDirectoryID != [16]byte{}) {
			t.Errorf("version 2: %+v", r.Nodes)
		}
		if version >= 1 && (p.CurrentVoters[0].LastFetchTimestamp <= 0 || p.Observers[0].LastCaughtUpTimestamp <= 0) {
			t.Errorf("version %d: times %+v", version, p)
		}
	}
	req.Topics[0].Topic = "x"
	if r := ask[*kmsg.DescribeQuorumResponse](t, n, req, 2); kerr.Code(r.Topics[0].Partitions[0].ErrorCode) != kerr.UnknownTopicOrPartition {
		t.Errorf("another topic: %+v", r)
	}
	req.Topics[0].Topic = kafka.MetadataTopic
	n.Resign(1)
	if r := ask[*kmsg.DescribeQuorumResponse](t, n, req, 2); kerr.Code(r.Topics[0].Partitions[0].ErrorCode) != kerr.NotLeaderOrFollower {
		t.Errorf("after resigning: %+v", r)
	}
}

// Every request is answered, also after the node has stopped.
func TestAStoppedNodeAnswers(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	listen(n).awaitEnd(t, 1)
	parked := make(chan kmsg.Response, 1)
	req := again(aFetch(n, func(r *kmsg.FetchRequest) {
		r.MaxWaitMillis = 60_000
		r.Topics[0].Partitions[0].FetchOffset, r.Topics[0].Partitions[0].LastFetchedEpoch = 1, 1
		r.Topics[0].Partitions[0].HighWatermark = 1
	}), 18)
	n.Handle(context.Background(), RequestInfo{}, req, func(r kmsg.Response) { parked <- r })
	stop(t, n)
	if r := (<-parked).(*kmsg.FetchResponse); r.Topics[0].Partitions[0].ErrorCode == 0 {
		t.Errorf("the parked fetch: %+v", r)
	}
	r := ask[*kmsg.VoteResponse](t, n, aVote(n, func(*kmsg.VoteRequest) {}), 2)
	if kerr.Code(r.Topics[0].Partitions[0].ErrorCode) != kerr.BrokerNotAvailable {
		t.Errorf("a vote: %+v", r)
	}
}

func TestMetricsHaveKafkasNames(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	defer stop(t, n)
	listen(n).awaitEnd(t, mustAppend(t, n, record(t, 1)))
	if m := n.Metrics(); m.CurrentState != "leader" || m.CurrentLeader != 1 || m.CurrentVote != 1 || m.HighWatermark != 2 ||
		m.CurrentVoteDirectoryID != n.cfg.Self.Dir.String() || m.UncommittedVoterChange ||
		m.LogEndOffset != 2 || m.NumberOfVoters != 1 || m.AppendRecords != 2 || m.CommitLatencyMax <= 0 {
		t.Errorf("%+v", m)
	}
	r := metrics.New()
	n.Register(r)
	page := httptest.NewRecorder()
	r.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	text, _ := io.ReadAll(page.Body)
	if !strings.Contains(string(text), "\nkafka_server_raft_metrics_high_watermark 2\n") {
		t.Errorf("metrics:\n%s", text)
	}
}
