package partitions_test

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

func TestWhoIsTheLastAndWhatIsGivenUp(t *testing.T) {
	const self = testbed.Self
	f := func(leader kafka.NodeID, isr, elr []int32, dir kafka.DirID, last, givenUp bool) {
		t.Helper()
		topic := kafka.TopicID{7}
		part := testbed.Partition(topic, 0, self, testbed.Other)
		part.Leader, part.Isr, part.EligibleLeaderReplicas, part.Directories[0] = int32(leader), isr, elr, dir
		img, _, err := image.Apply(image.Empty(), []metarec.Message{&metarec.TopicRecord{Name: "t", TopicId: topic}, part})
		if err != nil {
			t.Fatal(err)
		}
		list := []partitions.Place{{Name: named("t"), ID: kafka.TopicIDPartition{Topic: topic}}}
		if got := len(partitions.LastOf(img, self, list)) == 1; got != last {
			t.Errorf("the last one: %v", got)
		}
		if got := partitions.GivenUp(img, self, list); got != givenUp {
			t.Errorf("given up: %v", got)
		}
		gone := []partitions.Place{{ID: kafka.TopicIDPartition{Topic: kafka.TopicID{8}}}}
		if len(partitions.LastOf(img, self, gone)) != 0 || !partitions.GivenUp(img, self, gone) {
			t.Error("a topic that is gone counts")
		}
	}
	ours, other := []int32{int32(self)}, []int32{int32(testbed.Other)}
	both := []int32{int32(self), int32(testbed.Other)}
	d := testbed.DirID(1)
	f(testbed.Other, other, nil, d, false, false)
	f(testbed.Other, other, nil, kafka.DirLost, false, true)
	f(testbed.Other, both, nil, kafka.DirLost, false, false)
	f(kafka.NoNode, ours, nil, kafka.DirLost, true, true)
	f(self, ours, nil, kafka.DirLost, true, false)
	f(kafka.NoNode, nil, ours, kafka.DirLost, true, true)
	f(kafka.NoNode, nil, both, kafka.DirLost, false, true)
	f(kafka.NoNode, nil, nil, d, true, false) // it did not stop in good order
	f(testbed.Other, other, ours, d, false, false)
}
