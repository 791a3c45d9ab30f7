package raftnode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// The texts were written by Apache Kafka 4.4.
func TestQuorumStateIsKafkasText(t *testing.T) {
	raw, err := os.ReadFile("testdata/quorum-state-files.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var voters raft.Voters
	for _, id := range []kafka.NodeID{11, 12, 13} {
		voters = voters.With(raft.Voter{Key: kafka.ReplicaKey{Node: id}})
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		var c struct {
			State        string
			KraftVersion int16
			Text         string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		e, _, err := parseElection([]byte(c.Text))
		if err != nil {
			t.Errorf("%s: %v", c.State, err)
			continue
		}
		if e.Epoch != 5 || strings.Contains(c.State, "leader 12") != (e.Leader == 12) ||
			strings.Contains(c.State, "voted 13") != (e.Voted.Node == 13) {
			t.Errorf("%s is read as %+v", c.State, e)
		}
		got, err := formatElection(e, c.KraftVersion, voters)
		if err != nil || string(got) != c.Text {
			t.Errorf("%s is written as\n%s, %v, want\n%s", c.State, got, err, c.Text)
		}
	}
}

// "Empty or unreadable: no start; the message names the file" (KAFKA-15412).
func TestAQuorumStateThatCannotBeReadStopsTheStart(t *testing.T) {
	whole := `{"leaderId":-1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`
	for _, text := range []string{
		"", whole[:40], "[]", "5", `{"leaderId":1,"leaderEpoch":5,"votedId":-1}`,
		strings.Replace(whole, `:1}`, `:2}`, 1), strings.Replace(whole, `:5`, `:-5`, 1),
	} {
		mem := vfs.NewMem()
		cfg := lone(mem, "/d/__cluster_metadata-0")
		if err := vfs.MkdirAllSync(mem, cfg.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, mem, cfg.Dir+"/quorum-state", []byte(text))
		if n, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "quorum-state") {
			t.Errorf("%q: %v", text, err)
			if err == nil {
				stop(t, n)
			}
		}
	}
}

// The version of the file is that of the finalized kraft.version.
func TestQuorumStateFollowsTheKRaftVersion(t *testing.T) {
	mem := vfs.NewMem()
	cfg := lone(mem, "/d/__cluster_metadata-0")
	n := start(t, cfg)
	stop(t, n)
	text, err := vfs.ReadFile(mem, cfg.Dir+"/quorum-state", 1000)
	want := `{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}
