package processes

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

// createOn makes a topic whose partitions have one replica each, on one broker.
func createOn(t *testing.T, cl *kgo.Client, topic string, broker int32, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, -1, -1
	for p := range partitions {
		at := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		at.Partition, at.Replicas = p, []int32{broker}
		one.ReplicaAssignment = append(one.ReplicaAssignment, at)
	}
	req.Topics = append(req.Topics, one)
	got, err := req.RequestWith(patience(t), cl)
	if err != nil || got.Topics[0].ErrorCode != 0 {
		t.Fatal(err, got)
	}
}

// A disk dies under load, and a new one is mounted in its place: `ottla disks replace`
// has the running broker take it in and fill it. It refuses the empty folder of a disk
// that is not mounted, and to give up silently what no other broker has.
func TestADiskIsReplacedWithoutARestart(t *testing.T) {
	t.Parallel()
	disk := itest.NewDisk(t, 16)
	d1 := filepath.Join(itest.Folder(t), "d1")
	c := itest.StartClusterOf(t, 3, func(id int) string {
		more := quick + "ottla.disks.probe.interval.ms=200\n"
		if id == 1 {
			more += "log.dirs=" + d1 + "," + disk.Dir
		}
		return more
	}, nil)
	node := c.Nodes[0]
	createReplicated(t, c.Addrs(), "t", 6)
	cl := client(t, c.Addrs())
	createOn(t, cl, "only", 1, 4)
	l := startLedger(t, c.Addrs(), "t")
	l.grows(t)
	if len(folders(t, disk.Dir)) == 0 {
		t.Fatal("nothing lies on the disk")
	}
	disk.Fill(t)
	node.Says(t, "log directory is offline")
	l.grows(t)

	replace := func(flags ...string) (string, error) {
		args := append([]string{"disks", "replace", disk.Dir, "--config", node.File()}, flags...)
		return itest.Run("", exec.Command(itest.Bin(t), args...))
	}
	refused := func(words ...string) {
		t.Helper()
		out, err := replace()
		if err == nil {
			t.Fatalf("replaced: %s", out)
		}
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("%q lacks %q", out, w)
			}
		}
	}
	refused("not empty")
	disk.Unmount(t) // fails while the broker has files open there
	refused("same device", "--same-device")
	disk.Mount(t)
	refused("only-", "--accept-data-loss")
	if got := folders(t, disk.Dir); len(got) > 0 {
		t.Errorf("the new disk holds %v", got)
	}
	out, err := replace("--accept-data-loss")
	if err != nil {
		t.Fatal(out, err)
	}
	for _, step := range []string{"recorded in the directory", "recorded that they are lost", "is formatted as directory", "is registered"} {
		if !strings.Contains(out, step) {
			t.Errorf("%q lacks %q", out, step)
		}
	}
	itest.Eventually(t, func() error { return errors.Join(everyISR(t, cl, "t"), everyISR(t, cl, "only")) })
	if len(folders(t, disk.Dir)) == 0 {
		t.Error("the new disk holds nothing")
	}
	l.grows(t)
	// The broker leads again, from the new disk too, with all that was acknowledged.
	c.Nodes[1].Stop(t)
	l.grows(t)
	if _, err := kadm.NewClient(client(t, node.Addr)).ElectLeaders(patience(t), kadm.ElectPreferredReplica, nil); err != nil {
		t.Fatal(err)
	}
	l.wants(t, fmt.Sprintf("%s,%s", node.Addr, c.Nodes[2].Addr), "t")
	t.Logf("%s\n%s", out, itest.Ottla(t, "", "disks", "--bootstrap-server", node.Addr))
}
