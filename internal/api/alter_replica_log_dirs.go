package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// alterReplicaLogDirs answers AlterReplicaLogDirs: moves of this broker's replicas between
// its directories begin (KIP-113). Who asked looks at DescribeLogDirs for how far they are.
type alterReplicaLogDirs struct {
	parts *partitions.Manager
	dirs  DirLister
}

func (h alterReplicaLogDirs) serve(_ Context, req *kmsg.AlterReplicaLogDirsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	at := map[string]int{}
	dirs := h.dirs.DirStates()
	for i := range req.Dirs {
		for j := range req.Dirs[i].Topics {
			topic := &req.Dirs[i].Topics[j]
			n, ok := at[topic.Topic]
			if !ok {
				n = len(resp.Topics)
				at[topic.Topic] = n
				t := kmsg.NewAlterReplicaLogDirsResponseTopic()
				t.Topic = topic.Topic
				resp.Topics = append(resp.Topics, t)
			}
			for _, p := range topic.Partitions {
				out := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				out.Partition = p
				out.ErrorCode = int16(kerr.Of(h.move(dirs, req.Dirs[i].Dir, kafka.TopicPartition{Topic: topic.Topic, Partition: kafka.PartitionID(p)})))
				resp.Topics[n].Partitions = append(resp.Topics[n].Partitions, out)
			}
		}
	}
	return resp
}

// move begins one move to the directory with exactly that path.
func (h alterReplicaLogDirs) move(dirs []DirState, path string, tp kafka.TopicPartition) error {
	i := slices.IndexFunc(dirs, func(d DirState) bool { return d.Path == path })
	switch {
	case i < 0:
		return kerr.LogDirNotFound
	case dirs[i].Offline:
		return kerr.KafkaStorageError
	}
	return h.parts.MoveReplica(tp, dirs[i].ID, dirs[i].Cordoned)
}
