package processes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

// While a reassignment is throttled to a byte a second, at its leader or at the
// replica that is new, that one does not get into the ISR, however much is committed
// by the others meanwhile, which stay in it. It does as soon as the rate is raised while
// all runs, and nothing is lost.
func TestAThrottledReplicaComesIntoTheISRWhenTheRateIsRaised(t *testing.T) {
	t.Parallel()
	f := func(side string, throttled func(leader, added int) int) {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			m := newMove(t)
			at := throttled(m.leader, m.added)
			m.rate(t, side, at, "1")
			m.list(t, side, fmt.Sprintf("0:%d", at))
			m.load.progress(t, 200) // some of it was copied since, and counted
			m.begin(t)
			m.eventually(t, "added", func(p view) bool { return slices.Contains(p.Replicas, int32(m.added)) })
			m.load.progress(t, 5000)
			m.eventually(t, "alone in being left out", m.oldInSync)
			if p := m.partition(t); slices.Contains(p.ISR, int32(m.added)) {
				t.Errorf("throttled: %v are in sync, and %d is new", p.ISR, m.added)
			}
			m.rate(t, side, at, "1000000000")
			m.eventually(t, "in sync", func(p view) bool { return slices.Contains(p.ISR, int32(m.added)) })
			acked := append(m.ballast, m.load.stop(t)...)
			exactlyOnce(t, readAll(t, m.cluster.Addrs(), "t"), acked)
		})
	}
	f("leader", func(leader, _ int) int { return leader })
	f("follower", func(_, added int) int { return added })
}

// move is a partition with two replicas, a load on it, and a broker that is to be
// added. There are 9 MB in it, a tenth of which a fetch may bring before it is seen
// that it was too much.
type move struct {
	cluster       *itest.Cluster
	client        *kgo.Client
	admin         *kadm.Client
	load          *load
	ballast       []string
	leader, added int
	replicas      []int32
}

func newMove(t *testing.T) *move {
	t.Helper()
	m := &move{cluster: itest.StartCluster(t, 3, quick, nil)}
	m.client = client(t, m.cluster.Addrs())
	m.admin = kadm.NewClient(m.client)
	if _, err := m.admin.CreateTopic(patience(t), 1, 2, nil, "t"); err != nil {
		t.Fatal(err)
	}
	cl := client(t, m.cluster.Addrs(), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range 10 {
		v := "ballast " + strings.Repeat("x", 900_000) + fmt.Sprintf(" %08d", i)
		if err := cl.ProduceSync(patience(t), kgo.StringRecord(v)).FirstErr(); err != nil {
			t.Fatal(err)
		}
		m.ballast = append(m.ballast, v)
	}
	m.load = startLoad(t, m.cluster.Addrs(), "t", "a")
	m.load.progress(t, 1)
	p := m.partition(t)
	m.leader, m.replicas = int(p.Leader), p.Replicas
	for _, n := range m.cluster.Nodes {
		if !slices.Contains(m.replicas, int32(n.ID)) {
			m.added = n.ID
		}
	}
	return m
}

type view = kmsg.MetadataResponseTopicPartition

// partition is what a broker says of the partition now; an admin client may say what
// was so a few seconds ago.
func (m *move) partition(t *testing.T) view {
	t.Helper()
	topic := "t"
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	got, err := req.RequestWith(patience(t), m.client)
	if err != nil {
		t.Fatal(err)
	}
	return got.Topics[0].Partitions[0]
}

// eventually waits until the partition is seen as it should be.
func (m *move) eventually(t *testing.T, what string, is func(view) bool) {
	t.Helper()
	itest.Eventually(t, func() error {
		if p := m.partition(t); !is(p) {
			return fmt.Errorf("%d is not %s: %v of %v are in sync", m.added, what, p.ISR, p.Replicas)
		}
		return nil
	})
}

// oldInSync tells whether the replicas that are throttled beside the new one have kept
// up.
func (m *move) oldInSync(p view) bool {
	return !slices.ContainsFunc(m.replicas, func(id int32) bool { return !slices.Contains(p.ISR, id) })
}

// begin asks for the new replica beside the old ones.
func (m *move) begin(t *testing.T) {
	t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign("t", 0, append(slices.Clone(m.replicas), int32(m.added)))
	answer, err := m.admin.AlterPartitionAssignments(patience(t), req)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rate bounds a side's replication at a broker, in bytes a second.
func (m *move) rate(t *testing.T, side string, broker int, value string) {
	t.Helper()
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: side + ".replication.throttled.rate", Value: &value}}
	altered(t)(m.admin.AlterBrokerConfigs(patience(t), set, int32(broker)))
}

// list names a side's throttled replicas.
func (m *move) list(t *testing.T, side, value string) {
	t.Helper()
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: side + ".replication.throttled.replicas", Value: &value}}
	altered(t)(m.admin.AlterTopicConfigs(patience(t), set, "t"))
}

func altered(t *testing.T) func(kadm.AlterConfigsResponses, error) {
	t.Helper()
	return func(all kadm.AlterConfigsResponses, err error) {
		t.Helper()
		for _, a := range all {
			if err == nil {
				err = a.Err
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
