package processes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// A partition is moved from one broker to the two others while a producer writes:
// nothing is lost, and the first broker keeps nothing of it.
func TestAReassignmentMovesTheReplicas(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	admin := kadm.NewClient(client(t, c.Addrs()))
	if _, err := admin.CreateTopic(patience(t), 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, c.Addrs(), "t", "a")
	l.progress(t, 2000)
	from := replicasOf(t, admin)
	var to []int32
	for _, n := range c.Nodes {
		if int32(n.ID) != from[0] {
			to = append(to, int32(n.ID))
		}
	}
	var move kadm.AlterPartitionAssignmentsReq
	move.Assign("t", 0, to)
	answer, err := admin.AlterPartitionAssignments(patience(t), move)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	itest.Eventually(t, func() error {
		if now := replicasOf(t, admin); !slices.Equal(now, to) {
			return fmt.Errorf("the replicas are %v, not %v", now, to)
		}
		return nil
	})
	l.progress(t, 2000)
	acked := l.stop(t)
	exactlyOnce(t, readAll(t, c.Addrs(), "t"), acked)
	itest.Eventually(t, func() error {
		if left := c.Nodes[from[0]-1].LogBytes(t, "t", 0); len(left) > 0 {
			return fmt.Errorf("node %d still has %d bytes", from[0], len(left))
		}
		return nil
	})
}

func replicasOf(t *testing.T, admin *kadm.Client) []int32 {
	t.Helper()
	topics, err := admin.ListTopics(patience(t), "t")
	if err != nil {
		t.Fatal(err)
	}
	return topics["t"].Partitions[0].Replicas
}

// What a group has committed outlives the node that coordinates it.
func TestAGroupOutlivesItsCoordinator(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c.Addrs(), "t", 1)
	for round := range 3 {
		admin := kadm.NewClient(client(t, c.Addrs()))
		want := kadm.Offsets{}
		want.AddOffset("t", 0, int64(round), -1)
		if err := admin.CommitAllOffsets(patience(t), "g", want); err != nil {
			t.Fatal(err)
		}
		at := admin.FindGroupCoordinators(patience(t), "g")["g"]
		if at.Err != nil {
			t.Fatal(at.Err)
		}
		allInSync(t, c.Addrs(), "__consumer_offsets")
		victim := c.Nodes[at.NodeID-1]
		victim.Kill()
		var got kadm.OffsetResponses
		itest.Eventually(t, func() (err error) { // by clients that have never heard of the dead node
			got, err = kadm.NewClient(client(t, c.Addrs())).FetchOffsets(patience(t), "g")
			return err
		})
		if o, ok := got.Lookup("t", 0); !ok || o.Err != nil || o.At != int64(round) {
			t.Errorf("round %d: %+v", round, o)
		}
		victim.Again(t)
		victim.AwaitReady(t)
	}
	// A member of the group goes on from there.
	itest.Ottla(t, lines(numbered("v", 5)), "produce", "--topic", "t", "--bootstrap-server", c.Addrs())
	cl := client(t, c.Addrs(), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"))
	fetched := cl.PollFetches(patience(t))
	if err := fetched.Err(); err != nil {
		t.Fatal(err)
	}
	if r := fetched.Records(); len(r) == 0 || r[0].Offset != 2 {
		t.Errorf("the member begins with %d records, the first %+v", len(r), r)
	}
}
