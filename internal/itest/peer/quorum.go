package peer

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

// View is what the leader of the quorum says of it.
type View struct {
	Leader *Node
	Epoch  int
	// Committed is the high watermark of the metadata log.
	Committed int64
	// Voters are the ids of the voters.
	Voters []int
	state  *kmsg.DescribeQuorumResponseTopicPartition
}

// describe asks a controller for the quorum. Only the leader tells.
func (n *Node) describe() (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := n.ask(n.ControllerAddr(), req)
	if err != nil {
		return nil, err
	}
	q := resp.(*kmsg.DescribeQuorumResponse)
	if err := kerr.ErrorForCode(q.ErrorCode); err != nil {
		return nil, err
	}
	if len(q.Topics) != 1 || len(q.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("%s describes %d topics", n, len(q.Topics))
	}
	p := &q.Topics[0].Partitions[0]
	return p, kerr.ErrorForCode(p.ErrorCode)
}

// look asks all controllers that can be asked who leads. Of several the one of the
// highest epoch does.
func (c *Cluster) look() (v View, err error) {
	v.Epoch = -1
	err = fmt.Errorf("no controller runs")
	for _, n := range c.controllers() {
		if !n.reachable() {
			continue
		}
		state, failed := n.describe()
		if failed != nil {
			err = fmt.Errorf("%s: %w", n, failed)
			continue
		}
		if int(state.LeaderID) == n.ID && int(state.LeaderEpoch) > v.Epoch {
			v = View{Leader: n, Epoch: int(state.LeaderEpoch), Committed: state.HighWatermark, state: state}
			for _, s := range state.CurrentVoters {
				v.Voters = append(v.Voters, int(s.ReplicaID))
			}
		}
	}
	if v.Leader != nil {
		err = nil
	}
	return v, err
}

// Leader waits until a controller that can be asked says that it leads.
func (c *Cluster) Leader() (v View) {
	c.t.Helper()
	itest.Eventually(c.t, func() (err error) {
		v, err = c.look()
		return err
	})
	return v
}

// caughtUp is how long ago a node that is called settled may last have had all of
// the leader's log. It asks for more at least every 500 ms.
const caughtUp = 1500 * time.Millisecond

// Settled waits until a controller leads and all other nodes that can be reached
// have caught up with it.
func (c *Cluster) Settled() (v View) {
	c.t.Helper()
	itest.Eventually(c.t, func() (err error) {
		if v, err = c.look(); err != nil {
			return err
		}
		return v.settled(c.pick((*Node).reachable))
	})
	return v
}

func (v View) settled(nodes []*Node) error {
	seen := map[int]int64{}
	for _, list := range [][]kmsg.DescribeQuorumResponseTopicPartitionReplicaState{v.state.CurrentVoters, v.state.Observers} {
		for _, s := range list {
			seen[int(s.ReplicaID)] = max(seen[int(s.ReplicaID)], s.LastCaughtUpTimestamp)
		}
	}
	now := time.Now().UnixMilli()
	for _, n := range nodes {
		if n == v.Leader {
			continue
		}
		if ago := now - seen[n.ID]; ago > caughtUp.Milliseconds() {
			return fmt.Errorf("%s leads epoch %d, and %s had all of its log %d ms ago", v.Leader, v.Epoch, n, ago)
		}
	}
	return nil
}

// tries is how often a leader hands over before the kind that should lead is given
// up.
const tries = 6

// LedBy has nodes of a kind lead the quorum: while another leads, it ends in good
// order, which hands over, and starts again. A leader that goes names those first
// that have most of its log, so the others of its kind stand still meanwhile, for
// shorter than the timer after which they would stand for election.
func (c *Cluster) LedBy(k Kind) View {
	c.t.Helper()
	for range tries {
		v := c.Settled()
		if v.Leader.Kind == k {
			return v
		}
		rivals := c.pick(func(n *Node) bool { return n != v.Leader && n.Kind != k && n.Roles.Controls() && n.reachable() })
		for _, n := range rivals {
			n.Pause()
		}
		rest(behind)
		v.Leader.handOver()
		for _, n := range rivals {
			n.Continue()
		}
		v.Leader.ended(v.Leader.proc.Wait(c.t))
		c.Leader()
		v.Leader.Start()
	}
	c.t.Fatalf("after %d handovers no %s leads", tries, k)
	return View{}
}

// behind is how long who stands still lacks a record for sure: a leader writes one
// every 500 ms when it has nothing else to write.
const behind = 1200 * time.Millisecond
