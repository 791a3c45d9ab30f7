package raftnode

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A peer of another cluster refuses every request, and each is repeated after
// 20 ms.
func TestAComplaintIsNotMadeWithEachRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := translator{"ours", "CONTROLLER", &complaints{log: slog.New(slog.NewTextHandler(&out, nil))}}
		refusal := kmsg.NewPtrVoteResponse()
		refusal.ErrorCode = int16(kerr.InconsistentClusterId)
		for range 3001 { // a minute of them
			w.outcome(raft.Message{To: 3}, "three:9093", refusal, nil)
			w.outcome(raft.Message{To: 2}, "two:9093", refusal, nil)
			time.Sleep(20 * time.Millisecond)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 4 {
			t.Fatalf("%d lines:\n%s", len(lines), out.String())
		}
		for _, part := range []string{"peer=3", "addr=three:9093", "api=Vote", "error=INCONSISTENT_CLUSTER_ID", "cluster=ours"} {
			if !strings.Contains(lines[0], part) {
				t.Errorf("%q does not say %s", lines[0], part)
			}
		}
		if !strings.Contains(lines[2], "repeated=2999") {
			t.Errorf("%q", lines[2])
		}
	})
}

// "logs both ids": the request tells who asks for which cluster.
func TestARequestForAnotherClusterIsNamedWithBothIds(t *testing.T) {
	var out bytes.Buffer
	w := translator{"ours", "CONTROLLER", &complaints{log: slog.New(slog.NewTextHandler(&out, nil))}}
	stray := translator{clusterID: "theirs"}
	for range 5 {
		_, refusal := w.receive(stray.askVote(raft.VoteRequest{Candidate: kafka.ReplicaKey{Node: 7}}))
		if refusal == nil {
			t.Fatal("it is taken")
		}
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "theirs") || !strings.Contains(got, "ours") {
		t.Errorf("%s", got)
	}
}

// Whoever can reach the port can name cluster ids without end.
func TestComplaintsTakeNoMemoryWithoutBound(t *testing.T) {
	c := &complaints{log: slog.New(slog.DiscardHandler)}
	for i := range 10 * maxComplaints {
		c.warn(i, "wrong")
	}
	if len(c.made) > maxComplaints {
		t.Errorf("%d are kept", len(c.made))
	}
}
