package api

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// DirState is a configured log directory as it is right now.
type DirState struct {
	Path    string // absolute
	ID      kafka.DirID
	Offline bool
	// Total and Usable are bytes of the volume below; -1: not known.
	Total, Usable int64
	Cordoned      bool
	Why           string // it is offline
}

// Tagged fields of a directory in an answer to DescribeLogDirs, from version 2 on,
// which clients that do not know them pass over. Kafka's own begin at 0.
const (
	DirIDTag  = 0x6f74_0001 // the directory's id, 16 bytes
	DirWhyTag = 0x6f74_0002 // why it is offline, text
)

// tag adds what Kafka has no field for.
func (d DirState) tag(t *kmsg.Tags) {
	if !d.ID.IsZero() {
		t.Set(DirIDTag, d.ID[:])
	}
	if d.Offline {
		t.Set(DirWhyTag, []byte(d.Why))
	}
}

// DirLister lists the configured log directories, in their order.
type DirLister interface{ DirStates() []DirState }

// describeLogDirs answers DescribeLogDirs: one result for each configured
// directory, always.
type describeLogDirs struct {
	parts *partitions.Manager
	dirs  DirLister
}

func (h describeLogDirs) serve(c Context, req *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	held := h.held(req)
	for _, d := range h.dirs.DirStates() {
		out := kmsg.NewDescribeLogDirsResponseDir()
		out.Dir, out.TotalBytes, out.UsableBytes, out.IsCordoned = d.Path, d.Total, d.Usable, d.Cordoned
		if d.Offline {
			out.ErrorCode, out.TotalBytes, out.UsableBytes = int16(kerr.KafkaStorageError), -1, -1
		} else {
			out.Topics = held[d.ID]
		}
		d.tag(&out.UnknownTags)
		resp.Dirs = append(resp.Dirs, out)
	}
	return resp
}

// held are the replicas that were asked for, by directory.
func (h describeLogDirs) held(req *kmsg.DescribeLogDirsRequest) map[kafka.DirID][]kmsg.DescribeLogDirsResponseDirTopic {
	all := h.parts.All()
	if req.Topics != nil {
		wanted := wantedReplicas(req)
		all = slices.DeleteFunc(all, func(p *partitions.Partition) bool { return !wanted[p.Name] })
	}
	slices.SortFunc(all, func(a, b *partitions.Partition) int {
		return cmp.Or(cmp.Compare(a.Name.Topic, b.Name.Topic), cmp.Compare(a.Name.Partition, b.Name.Partition))
	})
	held := map[kafka.DirID][]kmsg.DescribeLogDirsResponseDirTopic{}
	for _, p := range all {
		s := p.Status()
		if s.Offline {
			continue
		}
		n := int32(p.Name.Partition)
		held[s.Dir] = withReplica(held[s.Dir], p.Name.Topic, kmsg.DescribeLogDirsResponseDirTopicPartition{
			Partition: n, Size: s.Size, OffsetLag: max(int64(s.HighWatermark-s.LogEnd), 0),
		})
		if f := s.Future; f != nil {
			held[f.Dir] = withReplica(held[f.Dir], p.Name.Topic, kmsg.DescribeLogDirsResponseDirTopicPartition{
				Partition: n, Size: f.Size, OffsetLag: int64(s.LogEnd - f.End), IsFuture: true,
			})
		}
	}
	return held
}

// withReplica adds a replica to the topics of a directory, whose last one may be its.
func withReplica(topics []kmsg.DescribeLogDirsResponseDirTopic, topic string, p kmsg.DescribeLogDirsResponseDirTopicPartition) []kmsg.DescribeLogDirsResponseDirTopic {
	if n := len(topics); n == 0 || topics[n-1].Topic != topic {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = topic
		topics = append(topics, t)
	}
	t := &topics[len(topics)-1]
	t.Partitions = append(t.Partitions, p)
	return topics
}

func wantedReplicas(req *kmsg.DescribeLogDirsRequest) map[kafka.TopicPartition]bool {
	wanted := map[kafka.TopicPartition]bool{}
	for i := range req.Topics {
		for _, n := range req.Topics[i].Partitions {
			wanted[kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: kafka.PartitionID(n)}] = true
		}
	}
	return wanted
}
