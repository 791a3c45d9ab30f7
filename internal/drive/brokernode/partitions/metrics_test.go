package partitions_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// scraped gives a function that wants a figure to have a value at that moment.
func scraped(t *testing.T, m *partitions.Manager) func(name, want string) {
	r := metrics.New()
	m.Register(r)
	return func(name, want string) {
		t.Helper()
		page := httptest.NewRecorder()
		r.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		_, rest, ok := strings.Cut("\n"+page.Body.String(), "\n"+name+" ")
		got, _, _ := strings.Cut(rest, "\n")
		if !ok || got != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
}

// "replicationFactor: replicas that are being added do not count until the
// reassignment is done" (OngoingReassignmentState): a reassignment of a healthy
// partition makes it lack nothing, and a lost replica shows all the same.
func TestReplicasThatAreBeingAddedAreNotLacking(t *testing.T) {
	f := func(isr, adding, removing []int32, replicas, lacking string) {
		t.Helper()
		b := newBed(t)
		part := testbed.Partition(b.AddTopic("t"), 0, testbed.Self, testbed.Other, 8, 9)
		part.Isr, part.AddingReplicas, part.RemovingReplicas = isr, adding, removing
		b.Apply(part)
		wants := scraped(t, b.Start().Manager)
		wants(`kafka_cluster_partition_replicascount{partition="0",topic="t"}`, replicas)
		wants(`kafka_cluster_partition_underreplicated{partition="0",topic="t"}`, lacking)
		wants(`kafka_server_replicamanager_underreplicatedpartitions`, lacking)
	}
	self, other := int32(testbed.Self), int32(testbed.Other)
	f([]int32{self, other, 8, 9}, nil, nil, "4", "0")
	f([]int32{self, other, 8}, nil, nil, "4", "1")
	f([]int32{self, other}, []int32{8, 9}, nil, "2", "0")
	f([]int32{self}, []int32{8, 9}, nil, "2", "1")
	f([]int32{self, other, 8}, []int32{8, 9}, []int32{other}, "2", "0")
}

// As in Kafka, an ISR shrinks or expands for a figure when the leader's own
// AlterPartition is answered, even if metadata told of it before. What the
// controller does to an ISR by itself does not count.
func TestOnlyTheLeadersOwnChangesOfAnISRCount(t *testing.T) {
	const shrinks, expands = "kafka_server_replicamanager_isrshrinks_total", "kafka_server_replicamanager_isrexpands_total"
	self, other := testbed.Self, testbed.Other
	for _, faster := range []bool{false, true} { // is metadata faster than the answer?
		var sent proposals
		b := newBed(t)
		b.ISR = &sent
		id := b.AddTopic("t")
		b.Apply(testbed.Partition(id, 0, self, other))
		p := b.Start().Find("t", 0)
		wants := scraped(t, b.Manager)
		isr := func(ids ...int32) {
			r := metarec.NewPartitionChangeRecord()
			r.TopicId, r.PartitionId, r.Isr = id, 0, ids
			b.Apply(r)
			b.Publish()
		}

		isr(int32(self)) // the controller fenced the other broker
		wants(shrinks, "0")
		if _, err := p.Read(partitions.Reader{Follower: other, BrokerEpoch: -1}, want(0)); err != nil {
			t.Fatal(err)
		}
		if len(sent) != 1 {
			t.Fatalf("proposals %+v", sent)
		}
		if faster {
			isr(int32(self), int32(other))
			wants(expands, "0")
		}
		b.Manager.Proposed(p.ID, replica.Proposed{To: sent[0], Outcome: replica.Accepted, ISR: []kafka.NodeID{self, other}, Epoch: 2})
		wants(expands, "1")
		if !faster {
			isr(int32(self), int32(other))
			wants(expands, "1")
		}
		isr(int32(self))
		isr(int32(self), int32(other))
		wants(shrinks, "0")
		wants(expands, "1")
	}
}

// What a proposal does to the figures is told by what was asked for.
func TestAnAnswerToAProposalCounts(t *testing.T) {
	f := func(was, asked int, outcome replica.Outcome, want string) {
		t.Helper()
		b := newBed(t)
		b.Topic("t", 1)
		p := b.Start().Find("t", 0)
		b.Manager.Proposed(p.ID, replica.Proposed{To: &replica.Proposal{Was: was, ISR: make([]replica.Member, asked)}, Outcome: outcome})
		wants := scraped(t, b.Manager)
		for i, name := range []string{"isrshrinks", "isrexpands", "failedisrupdates"} {
			wants("kafka_server_replicamanager_"+name+"_total", want[i:i+1])
		}
	}
	f(3, 2, replica.Accepted, "100")
	f(2, 3, replica.Accepted, "010")
	f(2, 2, replica.Accepted, "000")
	f(3, 2, replica.Declined, "001")
	f(2, 3, replica.Superseded, "001")
}
