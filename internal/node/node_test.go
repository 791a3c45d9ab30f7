package node

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/format"
)

const testCluster = "4L6g3nShT-eMCtK--X86sw"

// settings of a combined node on ports that the system chooses.
func settings(t *testing.T, dir string, more string) *config.Config {
	t.Helper()
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:1
log.dirs=%s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
%s
`, filepath.Join(dir, "data"), more)
	cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func formatted(t *testing.T, cfg *config.Config) {
	t.Helper()
	found := format.Survey(vfs.OS{}, format.Dirs(cfg.Node()))
	plan, err := format.Decide(format.Request{Node: cfg.Node(), ClusterID: testCluster}, found, rand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Write(vfs.OS{}, plan); err != nil {
		t.Fatal(err)
	}
}

// started is a node that runs inside the test.
type started struct {
	addr    string
	stop    func() error
	metrics string // address of /metrics, if it was asked for
}

func startNode(t *testing.T, cfg *config.Config) started {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Config: cfg, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Ready: func(a Addresses) { ready <- a }})
	}()
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			t.Fatal("the node does not stop")
			return nil
		}
	}
	select {
	case a := <-ready:
		t.Cleanup(func() { _ = stop() })
		return started{a.Listeners["PLAINTEXT"], stop, a.Metrics}
	case err := <-ended:
		cancel()
		t.Fatalf("ended before it was ready: %v", err)
	case <-time.After(time.Minute):
		cancel()
		t.Fatal("not ready")
	}
	return started{}
}

func connect(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// A start that fails undoes what it has done: others can have the sockets.
func TestAFailedStartUndoesItself(t *testing.T) {
	addr := freeAddr(t)
	cfg := settings(t, t.TempDir(), "ottla.metrics.listener="+addr)
	err := Run(t.Context(), Options{Config: cfg, Ready: func(Addresses) { t.Error("ready") }})
	if err == nil || !strings.Contains(err.Error(), "not formatted") {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

// The whole way once: create, produce, consume in a group, stop, start again.
func TestANodeServesKeepsAndServesAgain(t *testing.T) {
	cfg := settings(t, t.TempDir(), "")
	formatted(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := startNode(t, cfg)
	if _, err := kadm.NewClient(connect(t, n.addr)).CreateTopic(ctx, 2, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	write := func(addr, value string) {
		t.Helper()
		cl := connect(t, addr, kgo.DefaultProduceTopic("t"))
		if err := cl.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(addr string) string {
		t.Helper()
		cl := connect(t, addr, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer cl.Close()
		for {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatal(err)
			}
			for _, r := range fetches.Records() {
				if err := cl.CommitRecords(ctx, r); err != nil {
					t.Fatal(err)
				}
				cl.LeaveGroup()
				return string(r.Value)
			}
		}
	}
	write(n.addr, "one")
	if got := read(n.addr); got != "one" {
		t.Errorf("read %q", got)
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	n = startNode(t, cfg)
	write(n.addr, "two")
	if got := read(n.addr); got != "two" {
		t.Errorf("after the restart the group reads %q", got)
	}
}
