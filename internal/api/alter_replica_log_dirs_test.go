package api

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// Rule (jbod.md 6.1, case J-11): what AlterReplicaLogDirs answers, entry by entry.
func TestAlterReplicaLogDirs(t *testing.T) {
	r := newDataRigOver(t, testbed.New(t, vfs.NewMem(), "/data", 2))
	id := r.Topic("t", 1)
	r.Apply(testbed.Partition(id, 1, testbed.Other))
	r.Publish()
	r.append("t", 0, lines(batch.Options{}, "value"))
	dirs := dirList{
		{Path: "/data/disk0", ID: testbed.DirID(0)}, {Path: "/data/disk1", ID: testbed.DirID(1)},
		{Path: "/data/lost", ID: testbed.DirID(9), Offline: true}, {Path: "/data/cordoned", ID: testbed.DirID(1), Cordoned: true},
	}
	routes := DataRoutes(DataDeps{Partitions: r.Manager, Timers: r.Timers, Dirs: dirs})
	route := routeOf(routes, 34)
	if route.Min != 1 || route.Max != 2 || route.Scope != OnBroker {
		t.Fatalf("served as %+v", route)
	}
	here := r.Find("t", 0).Status().Dir
	own, other := "/data/disk0", "/data/disk1"
	if here == testbed.DirID(1) {
		own, other = other, own
	}
	f := func(path, topic string, partition int32, want kerr.Code) {
		t.Helper()
		for v := int16(1); v <= 2; v++ {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: path, Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: []int32{partition}}}}}
			got := readBack(t, do[*kmsg.AlterReplicaLogDirsResponse](r, route, req, v))
			if len(got.Topics) != 1 || got.Topics[0].Topic != topic || len(got.Topics[0].Partitions) != 1 || got.Topics[0].Partitions[0].Partition != partition {
				t.Fatalf("%+v", got)
			}
			codeIs(t, path+" "+topic, got.Topics[0].Partitions[0].ErrorCode, want)
		}
	}
	f(own, "t", 0, kerr.None)
	f("/data/unknown", "t", 0, kerr.LogDirNotFound)
	f("data/disk0", "t", 0, kerr.LogDirNotFound)
	f(own+"/", "t", 0, kerr.LogDirNotFound)
	f("/data/lost", "t", 0, kerr.KafkaStorageError)
	f(own, "t", 1, kerr.ReplicaNotAvailable)
	f(own, "t", 2, kerr.UnknownTopicOrPartition)
	f(own, "u", 0, kerr.UnknownTopicOrPartition)
	f(own, strings.Repeat("x", kafka.MaxTopicNameLength), 0, kerr.InvalidTopicException)
	if own == "/data/disk0" {
		f("/data/cordoned", "t", 0, kerr.InvalidReplicaAssignment)
	}
	f(other, "t", 0, kerr.None)

	describe := routeOf(routes, 35)
	got := readBack(t, do[*kmsg.DescribeLogDirsResponse](r, describe, kmsg.NewPtrDescribeLogDirsRequest(), 4))
	for _, d := range got.Dirs[:2] {
		p := d.Topics[0].Partitions[0]
		if p.IsFuture != (d.Dir == other) || p.IsFuture && (p.OffsetLag != 1 || p.Size != 0) {
			t.Errorf("%s: %+v", d.Dir, p)
		}
	}
}

func routeOf(all []Route, key int16) Route {
	for _, r := range all {
		if r.Key == key {
			return r
		}
	}
	return Route{}
}
