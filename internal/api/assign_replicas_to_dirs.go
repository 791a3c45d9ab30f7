package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assignReplicasToDirs answers AssignReplicasToDirs (KIP-858).
type assignReplicasToDirs struct{ controller *ctrlnode.Node }

func (h assignReplicasToDirs) route() Route { return later(0, 0, h.serve).on(OnController) }

func (h assignReplicasToDirs) serve(_ Context, req *kmsg.AssignReplicasToDirsRequest, reply func(kmsg.Response)) {
	want := controller.DirsToAssign{Broker: kafka.NodeID(req.BrokerID), Epoch: kafka.BrokerEpoch(req.BrokerEpoch)}
	for _, d := range req.Directories {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				tp := kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(p.Partition)}
				want.Assignments = append(want.Assignments, controller.DirAssignment{Partition: tp, Dir: d.ID})
			}
		}
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]error] {
		return controller.AssignReplicasToDirs(img, soft, want)
	}, func(errs []error, err error) {
		resp := kmsg.NewPtrAssignReplicasToDirsResponse()
		if resp.ErrorCode = code(err); err == nil {
			resp.Directories = assigned(req, errs)
		}
		reply(resp)
	})
}

// assigned echoes the request with the errors, which are in its order.
func assigned(req *kmsg.AssignReplicasToDirsRequest, errs []error) []kmsg.AssignReplicasToDirsResponseDirectory {
	var dirs []kmsg.AssignReplicasToDirsResponseDirectory
	for _, d := range req.Directories {
		dir := kmsg.NewAssignReplicasToDirsResponseDirectory()
		dir.ID = d.ID
		for _, t := range d.Topics {
			topic := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			topic.TopicID = t.TopicID
			for _, p := range t.Partitions {
				part := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				part.Partition, part.ErrorCode = p.Partition, code(errs[0])
				errs = errs[1:]
				topic.Partitions = append(topic.Partitions, part)
			}
			dir.Topics = append(dir.Topics, topic)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}
