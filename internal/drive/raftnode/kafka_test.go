package raftnode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// kafkaDir copies a metadata directory that Apache Kafka 4.4 wrote.
func kafkaDir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "__cluster_metadata-0")
	if err := os.CopyFS(dir, os.DirFS("testdata/"+name)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kafkaNode is the configuration of the node whose folders they are.
func kafkaNode(t *testing.T, name string) Config {
	t.Helper()
	cfg := lone(vfs.OS{}, kafkaDir(t, name))
	cfg.ClusterID = "AAAAAAAAAAAAAAAAAAAAAg"
	cfg.Self.Node = 11
	cfg.Voters = raft.NewVoters(raft.Voter{Key: kafka.ReplicaKey{Node: 11}, Endpoints: endpoints(9093)})
	if name == "standalone-dynamic-quorum" {
		dir, err := kafka.ParseUUID("6Ds_5JP6THiBCSI_EKTflw")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Self.Dir, cfg.Voters = dir, nil
	}
	return cfg
}

func TestKafkasFoldersOpenAndGoOn(t *testing.T) {
	f := func(name string, snapshot SnapshotID, end kafka.Offset, level int16) {
		t.Helper()
		cfg := kafkaNode(t, name)
		n := start(t, cfg)
		defer stop(t, n)
		v := n.View()
		if v.Role != raft.RoleLeader || v.Epoch != 2 || v.Level != level || len(v.Voters) != 1 || v.Voters[0].Key.Node != 11 {
			t.Fatalf("%s: %+v", name, v)
		}
		e := listen(n)
		e.awaitLeader(t, LeaderAndEpoch{11, 2})
		if len(e.loaded) != 1 || e.loaded[0] != snapshot {
			t.Errorf("%s: loaded %v, want %v", name, e.loaded, snapshot)
		}
		if e.atLeader[len(e.atLeader)-1] <= end {
			t.Errorf("%s: leader at %d, the log of Kafka ends at %d", name, e.atLeader, end)
		}
		e.awaitEnd(t, mustAppend(t, n, record(t, 1)))
	}
	f("standalone-dynamic-quorum", SnapshotID{EndOffset: 183, Epoch: 1}, 185, 1)
	f("static-quorum", SnapshotID{EndOffset: 172, Epoch: 1}, 220, 0)
}

// A voter whose endpoints have changed writes its entry anew at the start of
// its epoch; one whose entry is right does not.
func TestTheLeaderCorrectsItsOwnEntry(t *testing.T) {
	cfg := kafkaNode(t, "standalone-dynamic-quorum")
	n := start(t, cfg)
	if got := n.View().Voters[0].Endpoints; len(got) != 1 || got[0] != cfg.Endpoints[0] {
		t.Errorf("entry has %v", got)
	}
	first := n.View().LogEnd
	stop(t, n)
	n = start(t, cfg)
	defer stop(t, n)
	if grown := n.View().LogEnd - first; grown != 1 {
		t.Errorf("a second start wrote %d records, want the change of leader alone", grown)
	}
}

// The whole log of Kafka, without its snapshots, brings the same records as
// snapshot and tail do in number of batches.
func TestKafkasLogReplaysFromItsBeginning(t *testing.T) {
	cfg := kafkaNode(t, "static-quorum")
	names, err := filepath.Glob(cfg.Dir + "/*1.checkpoint")
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	n := start(t, cfg)
	defer stop(t, n)
	e := listen(n)
	e.awaitEnd(t, 221)
	if len(e.loaded) != 0 || len(e.heard()) < 150 {
		t.Errorf("loaded %v, heard %d records", e.loaded, len(e.heard()))
	}
}

func TestBootstrapRecordsComeFromTheCheckpointOfFormatTime(t *testing.T) {
	f := func(file string, want int) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "__cluster_metadata-0")
		raw, err := os.ReadFile("testdata/format/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, vfs.OS{}, dir+"/00000000000000000000-0000000000.checkpoint", raw)
		records, err := ReadBootstrap(vfs.OS{}, dir)
		if err != nil || len(records) != want {
			t.Errorf("%s: %d records, %v", file, len(records), err)
		}
		// As it was called before 4.4.
		if err := os.Rename(dir+"/00000000000000000000-0000000000.checkpoint", filepath.Dir(dir)+"/bootstrap.checkpoint"); err != nil {
			t.Fatal(err)
		}
		records, err = ReadBootstrap(vfs.OS{}, dir)
		if err != nil || len(records) != want {
			t.Errorf("%s as bootstrap.checkpoint: %d records, %v", file, len(records), err)
		}
	}
	f("initial.checkpoint", 6)
	f("static.checkpoint", 6)
	if records, err := ReadBootstrap(vfs.OS{}, t.TempDir()+"/x"); err != nil || records != nil {
		t.Errorf("without either file: %v %v", records, err)
	}
}

// A node formatted with initial controllers knows them before anything is in
// the log, and is a voter only with the right directory.
func TestInitialControllersAreTheVoters(t *testing.T) {
	mem := vfs.NewMem()
	raw, err := os.ReadFile("testdata/format/initial.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	cfg := lone(mem, "/d/__cluster_metadata-0")
	cfg.Self, cfg.Voters = kafka.ReplicaKey{Node: 11, Dir: kafka.DirID{9}}, nil
	if err := vfs.MkdirAllSync(mem, cfg.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, mem, cfg.Dir+"/00000000000000000000-0000000000.checkpoint", raw)
	n := start(t, cfg)
	v := n.View()
	if len(v.Voters) != 3 || v.Level != 1 || !v.Observer {
		t.Fatalf("with another directory: %+v", v)
	}
	leave(t, n)
	cfg.Self = v.Voters[0].Key
	n = start(t, cfg)
	defer leave(t, n)
	if v := n.View(); v.Observer || v.Role != raft.RoleUnattached {
		t.Errorf("with its own directory: %+v", v)
	}
}
