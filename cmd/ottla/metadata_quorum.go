package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
)

// newMetadataQuorumCmd is "ottla metadata-quorum": Kafka's
// kafka-metadata-quorum.
func newMetadataQuorumCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metadata-quorum",
		Short: "Look at the quorum of controllers, and change its voters",
		Args:  cobra.ArbitraryArgs,
		RunE:  helpOrUnknown,
	}
	cmd.AddCommand(newDescribeQuorumCmd(), newAddControllerCmd(), newRemoveControllerCmd())
	return cmd
}

// quorumFlags are the flags of "ottla metadata-quorum describe".
type quorumFlags struct {
	clientFlags
	controllers string
	status      bool
	replication bool
	human       bool
}

func newDescribeQuorumCmd() *cobra.Command {
	f := &quorumFlags{}
	cmd := &cobra.Command{
		Use:     "describe (--status | --replication)",
		Short:   "Print the quorum's leader and voters, or how far each replica is",
		Example: `  ottla metadata-quorum describe --replication --human-readable`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd)
	f.defineJSON(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.controllers, "bootstrap-controller", "", "host:port of controllers to ask, instead of brokers")
	flags.BoolVar(&f.status, "status", false, "leader, epoch, high watermark, voters and observers")
	flags.BoolVar(&f.replication, "replication", false, "log end offset, lag and last contact of each replica")
	flags.BoolVar(&f.human, "human-readable", false, "times as so long ago")
	return cmd
}

func (f *quorumFlags) run(cmd *cobra.Command) error {
	if f.status == f.replication {
		return errors.New("give exactly one of: --status, --replication")
	}
	if f.controllers != "" {
		f.bootstrap = f.controllers
	}
	q, err := f.ask(cmd.Context())
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return printJSON(cmd.OutOrStdout(), q)
	case f.status:
		return q.printStatus(cmd.OutOrStdout())
	}
	return q.printReplication(cmd.OutOrStdout(), f.human, time.Now())
}

// quorumState is the answer, as --json prints it.
type quorumState struct {
	ClusterID     string          `json:"clusterId"`
	Leader        int32           `json:"leaderId"`
	Epoch         int32           `json:"leaderEpoch"`
	HighWatermark int64           `json:"highWatermark"`
	Replicas      []quorumReplica `json:"replicas"`
}

type quorumReplica struct {
	ID        int32    `json:"nodeId"`
	Dir       string   `json:"directoryId"`
	End       int64    `json:"logEndOffset"`
	Lag       int64    `json:"lag"`
	Fetched   int64    `json:"lastFetchTimestamp"`
	CaughtUp  int64    `json:"lastCaughtUpTimestamp"`
	Status    string   `json:"status"` // Leader, Follower or Observer
	Endpoints []string `json:"endpoints,omitempty"`
}

// ask sends DescribeQuorum to the first address that answers: a controller
// does not know the requests by which a client finds its way in a cluster.
func (f *quorumFlags) ask(ctx context.Context) (*quorumState, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	var q *quorumState
	err = eachAnswering(ctx, client, func(_ int, seed *kgo.Broker) (done bool, err error) {
		if q, err = askSeed(ctx, seed); err != nil {
			return false, err
		}
		q.ClusterID = f.clusterID(ctx, seed)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("no node at %s describes the quorum: %s", f.bootstrap, plain(err))
	}
	return q, nil
}

func askSeed(ctx context.Context, seed *kgo.Broker) (*quorumState, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	answer, err := seed.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.DescribeQuorumResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, refused("DescribeQuorum", err, text(resp.ErrorMessage))
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errors.New("the answer has no quorum in it")
	}
	p := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return nil, refused("DescribeQuorum", err, text(p.ErrorMessage))
	}
	return newQuorumState(resp, p), nil
}

// clusterID asks for the cluster's id; "" when the node cannot tell.
func (f *quorumFlags) clusterID(ctx context.Context, seed *kgo.Broker) string {
	req := kmsg.NewPtrDescribeClusterRequest()
	if f.controllers != "" {
		req.EndpointType = 2 // KIP-919: a controller is asked for controllers
	}
	answer, err := seed.Request(ctx, req)
	if err != nil {
		return ""
	}
	return answer.(*kmsg.DescribeClusterResponse).ClusterID
}

func newQuorumState(resp *kmsg.DescribeQuorumResponse, p kmsg.DescribeQuorumResponseTopicPartition) *quorumState {
	q := &quorumState{Leader: p.LeaderID, Epoch: p.LeaderEpoch, HighWatermark: p.HighWatermark}
	endpoints := map[int32][]string{}
	for _, node := range resp.Nodes {
		for _, l := range node.Listeners {
			endpoints[node.NodeID] = append(endpoints[node.NodeID], fmt.Sprintf("%s://%s:%d", l.Name, l.Host, l.Port))
		}
	}
	leaderEnd := int64(-1)
	for _, v := range p.CurrentVoters {
		if v.ReplicaID == p.LeaderID {
			leaderEnd = v.LogEndOffset
		}
	}
	add := func(r kmsg.DescribeQuorumResponseTopicPartitionReplicaState, status string) {
		q.Replicas = append(q.Replicas, quorumReplica{
			ID: r.ReplicaID, Dir: kafka.UUID(r.ReplicaDirectoryID).String(), End: r.LogEndOffset, Lag: leaderEnd - r.LogEndOffset,
			Fetched: r.LastFetchTimestamp, CaughtUp: r.LastCaughtUpTimestamp, Status: status, Endpoints: endpoints[r.ReplicaID],
		})
	}
	for _, v := range p.CurrentVoters {
		if v.ReplicaID == p.LeaderID {
			add(v, "Leader")
		}
	}
	for _, v := range p.CurrentVoters {
		if v.ReplicaID != p.LeaderID {
			add(v, "Follower")
		}
	}
	for _, o := range p.Observers {
		add(o, "Observer")
	}
	return q
}

// printStatus prints what Kafka's tool prints, to the letter.
func (q *quorumState) printStatus(w io.Writer) error {
	var voters, observers []quorumReplica
	for _, r := range q.Replicas {
		if r.Status == "Observer" {
			observers = append(observers, r)
		} else {
			voters = append(voters, r)
		}
	}
	lag, lagTime := furthestBehind(voters)
	var failed error
	for _, line := range []struct {
		name  string
		value any
	}{
		{"ClusterId", q.ClusterID}, {"LeaderId", q.Leader}, {"LeaderEpoch", q.Epoch}, {"HighWatermark", q.HighWatermark},
		{"MaxFollowerLag", lag}, {"MaxFollowerLagTimeMs", lagTime},
		{"CurrentVoters", describeAll(voters)}, {"CurrentObservers", describeAll(observers)},
	} {
		if _, err := fmt.Fprintf(w, "%-24s%v\n", line.name+":", line.value); err != nil {
			failed = err
		}
	}
	return failed
}

// furthestBehind is how many records the voter with the shortest log lacks, and
// for how many milliseconds it has: -1 when that is not known. The leader comes
// first among the voters.
func furthestBehind(voters []quorumReplica) (records, millis int64) {
	if len(voters) == 0 {
		return 0, -1
	}
	leader, slowest := voters[0], voters[0]
	for _, v := range voters {
		if v.End < slowest.End {
			slowest = v
		}
	}
	switch {
	case slowest.ID == leader.ID:
		return 0, 0
	case leader.CaughtUp < 0 || slowest.CaughtUp < 0:
		return slowest.Lag, -1
	}
	return slowest.Lag, leader.CaughtUp - slowest.CaughtUp
}

// describeAll lists replicas by their ids.
func describeAll(list []quorumReplica) string {
	list = slices.SortedFunc(slices.Values(list), func(a, b quorumReplica) int { return cmp.Compare(a.ID, b.ID) })
	all := make([]string, len(list))
	for i, r := range list {
		all[i] = r.describe()
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// describe writes a replica as Kafka's tool does, in JSON.
func (r quorumReplica) describe() string {
	parts := []string{fmt.Sprintf(`"id": %d`, r.ID)}
	if r.Dir != (kafka.UUID{}).String() {
		parts = append(parts, fmt.Sprintf(`"directoryId": %q`, r.Dir))
	}
	if len(r.Endpoints) > 0 {
		var quoted []string
		for _, e := range r.Endpoints {
			quoted = append(quoted, fmt.Sprintf("%q", e))
		}
		parts = append(parts, `"endpoints": [`+strings.Join(quoted, ", ")+"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (q *quorumState) printReplication(w io.Writer, human bool, now time.Time) error {
	when := func(ms int64) string {
		if human && ms >= 0 {
			return fmt.Sprintf("%d ms ago", now.UnixMilli()-ms)
		}
		return fmt.Sprint(ms)
	}
	t := &table{}
	t.row("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")
	for _, r := range q.Replicas {
		t.row(r.ID, r.Dir, r.End, r.Lag, when(r.Fetched), when(r.CaughtUp), r.Status)
	}
	return t.print(w)
}
