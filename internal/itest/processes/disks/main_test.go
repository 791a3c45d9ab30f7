// Package disks shows the statements of KIP-858 with real processes: what their
// folders hold is read and held against docs/kip-858.md.
package disks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/itest"
)

const clusterID = "4L6g3nShT-eMCtK--X86sw"

// cluster is controllers and brokers that are nodes of their own.
type cluster struct {
	controllers []*node // ids 1 to 3
	brokers     []*node // ids from 4 on
}

// node is one process and its folders.
type node struct {
	*itest.Proc
	id      kafka.NodeID
	addr    string   // of its only listener
	metrics string   // where /metrics is
	dirs    []string // the metadata log is in the first
	file    string
	common  string // the lines of its properties but log.dirs
}

// start formats three controllers and so many brokers for a release, with one
// directory each, and waits until the brokers serve clients. more are further
// settings of all, one a line.
func start(t *testing.T, release string, brokers int, more string) *cluster {
	t.Helper()
	c := &cluster{}
	ports := itest.FreePorts(t, 2*(3+brokers))
	var voters []string
	for i := range 3 {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports+2*i))
	}
	for i := range 3 + brokers {
		n := &node{id: kafka.NodeID(i + 1), addr: fmt.Sprintf("127.0.0.1:%d", ports+2*i), metrics: fmt.Sprintf("127.0.0.1:%d", ports+2*i+1)}
		role, listener := "controller", "CONTROLLER"
		if i >= 3 {
			role, listener = "broker", "PLAINTEXT"
		}
		n.common = fmt.Sprintf(`process.roles=%s
node.id=%d
controller.quorum.voters=%s
controller.listener.names=CONTROLLER
listeners=%s://%s
ottla.metrics.listener=%s
%s
`, role, n.id, strings.Join(voters, ","), listener, n.addr, n.metrics, more)
		n.file = itest.WriteFile(t, "server.properties", "")
		n.addDirs(t, 1, "--release-version", release)
		n.again(t)
		if role == "controller" {
			c.controllers = append(c.controllers, n)
		} else {
			c.brokers = append(c.brokers, n)
		}
	}
	for _, b := range c.brokers {
		b.Says(t, "Kafka Server started")
	}
	return c
}

// addDirs gives a node that does not run more directories, and formats them.
func (n *node) addDirs(t *testing.T, more int, flags ...string) {
	t.Helper()
	for range more {
		n.dirs = append(n.dirs, filepath.Join(itest.Folder(t), "data"))
	}
	if err := os.WriteFile(n.file, []byte(n.common+"log.dirs="+strings.Join(n.dirs, ",")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	itest.Ottla(t, "", append([]string{"storage", "format", "-c", n.file, "-t", clusterID, "-g"}, flags...)...)
}

// again starts a node that does not run.
func (n *node) again(t *testing.T) {
	t.Helper()
	n.Proc = itest.Start(t, fmt.Sprintf("node %d", n.id), exec.Command(itest.Bin(t), "server", n.file))
}

// dir is the id of the node's i-th directory.
func (n *node) dir(t *testing.T, i int) kafka.DirID {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(n.dirs[i], "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "directory.id="); ok {
			id, err := kafka.ParseUUID(text)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
	}
	t.Fatalf("%s has no id", n.dirs[i])
	return kafka.DirID{}
}

// moveByHand moves the folder of a replica from the first directory to another one.
func (n *node) moveByHand(t *testing.T, folder string, to int) {
	t.Helper()
	if err := os.Rename(filepath.Join(n.dirs[0], folder), filepath.Join(n.dirs[to], folder)); err != nil {
		t.Fatal(err)
	}
}

// patience bounds everything that a client does in a test.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*itest.Stuck)
	t.Cleanup(cancel)
	return ctx
}

// client connects to a node.
func (n *node) client(t *testing.T) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.addr), kgo.RetryTimeout(itest.Stuck))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// create makes a topic whose partitions all have their replicas on the same brokers,
// asking one that serves.
func (n *node) create(t *testing.T, name string, partitions int32, on ...kafka.NodeID) {
	t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for p := range partitions {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = p, image.Int32s(on)
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(itest.Stuck.Milliseconds())
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(patience(t), n.client(t))
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
}

// raise finalizes a level of a feature.
func (n *node) raise(t *testing.T, feature string, level int16) {
	t.Helper()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.TimeoutMillis = int32(itest.Stuck.Milliseconds())
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = feature, level, 1
	req.FeatureUpdates = append(req.FeatureUpdates, u)
	resp, err := req.RequestWith(patience(t), n.client(t))
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		t.Fatalf("raise %s: %v", feature, err)
	}
}

// quorum is the active controller, the others, and the offset below which all of the
// metadata log is committed.
func (c *cluster) quorum(t *testing.T) (active *node, standbys []*node, committed kafka.Offset) {
	t.Helper()
	itest.Eventually(t, func() error {
		for i, n := range c.controllers {
			p, err := n.quorum(t)
			if err != nil || kafka.NodeID(p.LeaderID) != n.id {
				continue // only the leader answers
			}
			active, committed = n, kafka.Offset(p.HighWatermark)
			standbys = slices.Delete(slices.Clone(c.controllers), i, i+1)
			return nil
		}
		return errors.New("no controller is active")
	})
	return active, standbys, committed
}

// quorum is what the active controller says of the metadata log. Another one refuses.
func (n *node) quorum(t *testing.T) (p kmsg.DescribeQuorumResponseTopicPartition, err error) {
	t.Helper()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = kafka.MetadataTopic
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = append(req.Topics, topic)
	got, err := n.client(t).SeedBrokers()[0].Request(patience(t), req)
	if err != nil {
		return p, err
	}
	resp := got.(*kmsg.DescribeQuorumResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return p, err
	}
	p = resp.Topics[0].Partitions[0]
	return p, kerr.ErrorForCode(p.ErrorCode)
}
