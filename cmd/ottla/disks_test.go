package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
)

func TestDisksAreShown(t *testing.T) {
	topics := kadm.TopicDetails{"t": {Partitions: kadm.PartitionDetails{0: {Leader: 1}, 1: {Leader: 2}}}}
	works := kmsg.NewDescribeLogDirsResponseDir()
	works.Dir, works.TotalBytes, works.UsableBytes = "/d1", 4<<30, 1<<30
	works.Topics = []kmsg.DescribeLogDirsResponseDirTopic{{Topic: "t", Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{
		{Partition: 0, Size: 1000}, {Partition: 1, Size: 600}, {Partition: 2, Size: 500, IsFuture: true},
	}}}
	works.UnknownTags.Set(api.DirIDTag, []byte("0123456789abcdef"))
	broken := kmsg.NewDescribeLogDirsResponseDir()
	broken.Dir, broken.ErrorCode = "/d2", 56
	broken.UnknownTags.Set(api.DirWhyTag, []byte("write x:\n  no space"))
	other := kmsg.NewDescribeLogDirsResponseDir() // of Apache Kafka
	other.Dir, other.ErrorCode, other.IsCordoned = "/d3", 56, true
	full := kmsg.NewDescribeLogDirsResponseDir()
	full.Dir, full.TotalBytes, full.UsableBytes, full.IsCordoned = "/d4", 100, 0, true
	var list []disk
	for _, dir := range []kmsg.DescribeLogDirsResponseDir{works, broken, other, full} {
		list = append(list, newDisk(1, dir, topics))
	}
	list = append(list, disk{Broker: 2, State: "unreachable", Why: "no answer", Total: -1, Usable: -1})
	var out strings.Builder
	if err := disksTable(list).print(&out); err != nil {
		t.Fatal(err)
	}
	want := `BROKER  DIRECTORY  STATE        VOLUME           USED     TOTAL    LOGS     REPLICAS  LEADERS  ID                      WHY
1       /d1        online       ████████░░  75%  3.0 GiB  4.0 GiB  2.1 KiB  2         1        MDEyMzQ1Njc4OWFiY2RlZg
1       /d2        offline      ··········       -        -        -        -         -        -                       write x: no space
1       /d3        offline      ··········       -        -        -        -         -        -                       KAFKA_STORAGE_ERROR: Disk error when trying to access log file on the disk
1       /d4        cordoned     ██████████ 100%  100 B    100 B    0 B      0         0        -
2       -          unreachable  ··········       -        -        -        -         -        -                       no answer
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
