package dirs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

var (
	topicID = kafka.TopicID{1, 2, 3}
	ids     = []kafka.DirID{{0xd1}, {0xd2}, {0xd3}}
	paths   = []string{"/d1", "/d2", "/d3"}
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testConfig() config.LogConfig {
	return config.LogConfig{
		CleanupDelete: true, SegmentBytes: 1 << 30, SegmentMs: math.MaxInt64, SegmentIndexBytes: 10 << 20,
		IndexIntervalBytes: 4096, RetentionMs: -1, RetentionBytes: -1, FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64,
		FileDeleteDelayMs: 1000, MaxMessageBytes: 1 << 20, DeleteRetentionMs: 86_400_000, MaxCompactionLagMs: math.MaxInt64,
		MinCleanableDirtyRatio: 0.5,
	}
}

// node is a broker's disks and its directories.
type node struct {
	t                testing.TB
	disk             *vfs.Mem
	fault            *vfs.Fault
	clock            time.Time
	claimed          *Claimed
	failed           chan kafka.DirID
	marks            map[kafka.TopicPartition]kafka.Offset
	trimmed          []kafka.TopicPartition
	hangLimit, grace time.Duration
	asked            uint64 // how often HighWatermarkMoves was
	*Dirs
}

func (n *node) HighWatermark(tp kafka.TopicPartition) (kafka.Offset, bool) {
	hw, ok := n.marks[tp]
	return hw, ok
}

func (n *node) HighWatermarkMoves() uint64 {
	n.asked++
	return n.asked
}

func (n *node) Trimmed(tp kafka.TopicPartition) { n.trimmed = append(n.trimmed, tp) }

// formatted is a disk with three formatted directories.
func formatted(t testing.TB) *node {
	n := &node{
		t: t, disk: vfs.NewMem(), clock: time.Unix(1_800_000_000, 0),
		failed: make(chan kafka.DirID, 9), marks: map[kafka.TopicPartition]kafka.Offset{},
	}
	for i, path := range paths {
		n.format(path, metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: ids[i]})
	}
	n.fault = vfs.NewFault(n.disk)
	return n
}

func (n *node) format(path string, p metaprops.Properties) {
	n.t.Helper()
	must(n.t, vfs.MkdirAllSync(n.disk, path, 0o755))
	must(n.t, vfs.WriteFileAtomic(n.disk, filepath.Join(path, metaprops.FileName), p.Text(n.clock)))
}

func (n *node) claim() error {
	c, err := Claim(Want{FS: n.fault, Node: 1, LogDirs: paths, Metadata: paths[0], Now: func() time.Time { return n.clock }})
	n.claimed = c
	return err
}

func (n *node) load() error {
	d, err := Load(n.claimed, Options{
		Config: testConfig(), Live: Live{Threads: 2, Cleaners: 1, KeyBytes: 1 << 20, CleanRate: math.MaxFloat64}, Now: func() time.Time { return n.clock },
		HangLimit: n.hangLimit,
		OnFailed:  func(id kafka.DirID, _ string, _ error) { n.failed <- id },
	})
	if n.Dirs = d; err == nil && n.grace > 0 {
		d.grace = n.grace
	}
	return err
}

func (n *node) start() {
	n.t.Helper()
	must(n.t, n.claim())
	must(n.t, n.load())
}

// crash loses power and starts again.
func (n *node) crash() {
	n.t.Helper()
	n.disk = n.disk.Crash()
	n.fault = vfs.NewFault(n.disk)
	n.start()
}

func (n *node) upkeep() *upkeep { return &upkeep{Dirs: n.Dirs, owner: n} }

func (n *node) cleanedTo(l *storage.Log) kafka.Offset {
	return n.holder(l).checkpoints.cleanedTo(l.TP())
}

func tp(topic string, partition kafka.PartitionID) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: topic, Partition: partition}
}

func (n *node) create(topic string, partition kafka.PartitionID, dir kafka.DirID) *storage.Log {
	n.t.Helper()
	l, _, err := n.Create(tp(topic, partition), topicID, dir, testConfig())
	must(n.t, err)
	n.marks[l.TP()] = 0
	return l
}

func (n *node) append(l *storage.Log, values ...string) {
	n.t.Helper()
	for _, v := range values {
		b := batch.NewBuilder(batch.Options{})
		b.Add(n.clock.UnixMilli(), []byte("k"), []byte(v))
		_, err := l.AppendLeader(b.Build(nil), 1)
		must(n.t, err)
		n.marks[l.TP()] = l.End()
	}
}

// found describes what was loaded: "name dir end hw" words.
func (n *node) found() string {
	var out []string
	for _, l := range n.Loaded() {
		i := slices.Index(ids, l.Dir)
		out = append(out, fmt.Sprintf("%s-%d@d%d:%d/%d", l.Name.Topic, l.Name.Partition, i+1, l.Log.End(), l.HighWatermark))
	}
	return strings.Join(out, " ")
}

func (n *node) wants(want string) {
	n.t.Helper()
	if got := n.found(); got != want {
		n.t.Errorf("loaded %q, want %q", got, want)
	}
}

func TestLogsAndCheckpointsOutliveAStop(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	b := n.create("b", 1, ids[0])
	n.append(a, "1", "2", "3")
	n.append(b, "1")
	n.marks[a.TP()] = 2
	must(t, a.SetStart(1))
	n.Close(true, 42, n)

	must(t, n.claim())
	if e := n.claimed.PreviousBrokerEpoch(); e != 42 {
		t.Errorf("the previous broker epoch is %d, want 42", e)
	}
	must(t, n.load())
	n.wants("a-0@d2:3/2 b-1@d1:1/1")
	if l := n.Loaded()[0]; l.Log.Start() != 1 || l.Topic != topicID || l.Log.RecoveryPoint() != 3 {
		t.Errorf("a-0 starts at %d, topic %s, recovery point %d", l.Log.Start(), l.Topic, l.Log.RecoveryPoint())
	}
	if e := n.claimed.PreviousBrokerEpoch(); e != kafka.NoBrokerEpoch {
		t.Errorf("while it runs the marker is still there: epoch %d", e)
	}
}

func TestACrashLosesOnlyWhatWasNotSynced(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	n.append(a, "1", "2")
	_, err := a.Sync()
	must(t, err)
	n.upkeep().highWatermarks()
	n.upkeep().recoveryPoints()
	n.append(a, "3")
	n.crash()
	n.wants("a-0@d2:2/2")
	if e := n.claimed.PreviousBrokerEpoch(); e != kafka.NoBrokerEpoch {
		t.Errorf("a crash left the epoch %d", e)
	}
}

func TestAKillLosesNothing(t *testing.T) {
	n := formatted(t)
	n.start()
	n.append(n.create("a", 0, ids[1]), "1", "2")
	n.claimed.Close() // what the end of a process does
	n.start()
	n.wants("a-0@d2:2/0")
}

func TestAClaimIsRefused(t *testing.T) {
	f := func(break_ func(*node), words ...string) {
		t.Helper()
		n := formatted(t)
		break_(n)
		err := n.claim()
		if err == nil {
			t.Errorf("claimed, want an error with %q", words)
			return
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q lacks %q", err, w)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q has more than one line", err)
		}
	}
	props := func(p metaprops.Properties) func(*node) { return func(n *node) { n.format("/d3", p) } }
	f(func(n *node) { must(t, n.disk.Remove("/d1/meta.properties")) }, "metadata", "/d1", "not formatted", "storage format")
	f(func(n *node) { must(t, n.disk.RemoveAll("/d1")) }, "metadata", "/d1", "not formatted")
	f(func(n *node) {
		for _, path := range paths {
			must(t, n.disk.Remove(path+"/meta.properties"))
		}
	}, "no meta.properties", "/d1", "not formatted")
	f(props(metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1389, DirID: ids[2]}), "1389", "node.id is 1", "/d3/meta.properties")
	f(props(metaprops.Properties{Version: 1, ClusterID: "other", NodeID: 1, DirID: ids[2]}), "/d1", `"c"`, "/d3", `"other"`)
	f(props(metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: ids[1]}), "/d2", "/d3", "same directory.id")
	f(props(metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, DirID: kafka.DirLost}), "reserved", "/d3")
	f(props(metaprops.Properties{Version: 0, NodeID: 1}), "version 0", "/d3")
	f(func(n *node) { must(t, vfs.MkdirAllSync(n.disk, "/d2/__cluster_metadata-0", 0o755)) }, "/d2/__cluster_metadata-0", "metadata.log.dir")
	f(func(n *node) {
		_, err := n.disk.Lock("/d2/.lock")
		must(t, err)
	}, "/d2/.lock", "another process")
	f(func(n *node) { n.fault.Inject(vfs.Rule{Ops: vfs.OpAny, Path: "/d1", Err: vfs.ErrIO}) }, "/d1", "metadata")
}

func TestARefusedClaimGivesItsLocksUp(t *testing.T) {
	n := formatted(t)
	lock, err := n.disk.Lock("/d3/.lock")
	must(t, err)
	if n.claim() == nil {
		t.Fatal("claimed a directory that is locked")
	}
	must(t, lock.Close())
	must(t, n.claim())
}

func TestADirectoryWithoutAnIDGetsOne(t *testing.T) {
	n := formatted(t)
	n.format("/d3", metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1})
	n.start()
	id := n.claimed.Directories[2].ID
	if id.IsZero() || id.Reserved() {
		t.Errorf("the id is %s", id)
	}
	n.Close(true, 1, n)
	must(t, n.claim())
	if n.claimed.Directories[2].ID != id {
		t.Errorf("the id changed from %s to %s", id, n.claimed.Directories[2].ID)
	}
}

func TestADirectoryThatCannotBeReadIsOffline(t *testing.T) {
	n := formatted(t)
	n.fault.Inject(vfs.Rule{Ops: vfs.OpAny, Path: "/d2", Err: vfs.ErrIO})
	n.start()
	if len(n.failed) != 0 {
		t.Error("what failed before the node runs is told as if it failed now")
	}
	if n.Online(ids[1]) || !n.Online(ids[0]) || !n.AnyOffline() {
		t.Error("d2 should be offline and d1 online")
	}
	if got := n.OnlineIDs(); !slices.Equal(got, []kafka.DirID{ids[0], ids[2]}) {
		t.Errorf("online are %v", got)
	}
	info := n.Describe()
	if info[1].Err == nil || info[1].Total != -1 || info[0].Err != nil || info[0].Total <= 0 {
		t.Errorf("described as %+v", info)
	}
	if _, _, err := n.Create(tp("a", 0), topicID, ids[1], testConfig()); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("creation in an offline directory: %v", err)
	}
}

func TestAFailedWriteTakesTheDirectoryOffline(t *testing.T) {
	n := formatted(t)
	n.start()
	a, b, c := n.create("a", 0, ids[1]), n.create("b", 0, ids[1]), n.create("c", 0, ids[2])
	n.append(a, "1")
	n.fault.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: "/d2/a-0/00000000000000000000.log", Err: vfs.ErrIO})
	builder := batch.NewBuilder(batch.Options{})
	builder.Add(1, nil, nil)
	if _, err := a.AppendLeader(builder.Build(nil), 1); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("the append gives %v", err)
	}
	if id := <-n.failed; id != ids[1] {
		t.Errorf("told of %s, want d2", id)
	}
	if _, err := b.AppendLeader(builder.Build(nil), 1); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("another log of the directory takes appends: %v", err)
	}
	n.append(c, "1") // other directories go on
	if n.Online(ids[1]) || len(n.Describe()[1].Logs) != 0 {
		t.Error("the directory is still in service")
	}
	n.Close(true, 5, n)
	if len(n.failed) != 0 {
		t.Error("told more than once")
	}
	for path, want := range map[string]bool{"/d1": true, "/d2": false, "/d3": true} {
		if there, _ := vfs.Exists(n.disk, markerPath(path)); there != want {
			t.Errorf("marker of a clean shutdown in %s: %v, want %v", path, there, want)
		}
	}
	n.fault.Heal()
	n.start() // a restart brings it back
	n.wants("a-0@d2:1/0 b-0@d2:0/0 c-0@d3:1/1")
}

func TestAFailedCheckpointTakesTheDirectoryOffline(t *testing.T) {
	n := formatted(t)
	n.start()
	n.append(n.create("a", 0, ids[1]), "1")
	n.fault.Inject(vfs.Rule{Ops: vfs.OpSync, Path: "/d2/" + HighWatermarkFile, Err: vfs.ErrIO})
	n.upkeep().highWatermarks()
	if id := <-n.failed; id != ids[1] {
		t.Errorf("told of %s, want d2", id)
	}
}

func TestFoldersThatAreNoPartitions(t *testing.T) {
	n := formatted(t)
	for _, name := range []string{"lost+found", ".snapshots", "remote-log-index-cache", "old-0." + strings.Repeat("a1", 16) + "-stray"} {
		must(t, vfs.MkdirAllSync(n.disk, "/d1/"+name, 0o755))
	}
	n.start()
	n.wants("")
	n.Close(true, 1, n)
	must(t, vfs.MkdirAllSync(n.disk, "/d1/data", 0o755))
	must(t, n.claim())
	if err := n.load(); err == nil || !strings.Contains(err.Error(), "/d1/data") {
		t.Errorf("error %v does not name the folder", err)
	}
}

// Which copy of a partition counts is said by metadata, so all are shown.
func TestAPartitionInTwoDirectoriesIsShownTwice(t *testing.T) {
	n := formatted(t)
	hex := strings.Repeat("0f", 16)
	for _, d := range []string{"/d1/a-0", "/d2/a-0", "/d3/a-0." + hex + "-future", "/d2/a-0." + hex + "-future", "/d3/a-0." + hex[1:] + "1-future"} {
		must(t, vfs.MkdirAllSync(n.disk, d, 0o755))
	}
	n.start()
	var got []string
	for _, l := range n.Loaded() {
		got = append(got, fmt.Sprint(filepath.Dir(l.Log.Dir()), " ", l.Future))
	}
	if want := []string{"/d1 false", "/d2 false", "/d3 true"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestANewReplicaGoesWhereTheFewestAre(t *testing.T) {
	n := formatted(t)
	n.start()
	n.create("a", 0, ids[0])
	n.create("a", 1, ids[0])
	n.create("a", 2, ids[1])
	_, dir, err := n.Create(tp("a", 3), topicID, kafka.DirID{}, testConfig())
	must(t, err)
	if dir != ids[2] {
		t.Errorf("went to %s, want d3", dir)
	}
	n.fault.Inject(vfs.Rule{Ops: vfs.OpMkdir, Path: "/d2", Err: vfs.ErrNoSpace})
	_, dir, err = n.Create(tp("a", 4), topicID, kafka.DirID{}, testConfig())
	must(t, err)
	if dir != ids[2] && dir != ids[0] {
		t.Errorf("went to %s although d2 fails", dir)
	}
	if _, _, err := n.Create(tp("a", 0), topicID, ids[0], testConfig()); err == nil {
		t.Error("a log was made twice")
	}
}

// Rule: a log whose folder follows later is in service at once, and a clean stop
// leaves it to the next start.
func TestALogThatIsMadeLaterIsFoundAgain(t *testing.T) {
	n := formatted(t)
	n.start()
	for i := range kafka.PartitionID(20) {
		l, dir, err := n.CreateLater(tp("a", i), topicID, ids[1], testConfig())
		must(t, err)
		if dir != ids[1] || l.TopicID() != topicID {
			t.Fatalf("log of topic %s in %s", l.TopicID(), dir)
		}
		n.marks[l.TP()] = 0
	}
	if _, _, err := n.CreateLater(tp("a", 3), topicID, ids[1], testConfig()); err == nil {
		t.Error("a log was made twice")
	}
	n.Close(true, 1, n)
	n.start()
	loaded := n.Loaded()
	if len(loaded) != 20 {
		t.Errorf("%d logs were found, want 20", len(loaded))
	}
	for _, l := range loaded {
		if l.Topic != topicID || l.Dir != ids[1] {
			t.Errorf("%v is of topic %s in %s", l.Name, l.Topic, l.Dir)
		}
	}
}

// A folder that is there, as one that could not be renamed when its topic was
// deleted, is opened and told from a new one.
func TestALogMadeLaterDoesNotTakeAnothersFolder(t *testing.T) {
	n := formatted(t)
	n.start()
	n.append(n.create("a", 0, ids[1]), "1")
	must(t, n.disk.Rename(paths[1]+"/a-0", paths[1]+"/b-0"))
	_, _, err := n.CreateLater(tp("b", 0), kafka.TopicID{7}, ids[1], testConfig())
	if !errors.Is(err, storage.ErrTopicID) {
		t.Errorf("%v, want ErrTopicID", err)
	}
}

func TestADeletedLogLeavesNothingToItsSuccessor(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	n.append(a, "1", "2", "3")
	_, err := a.Sync()
	must(t, err)
	must(t, a.SetStart(2))
	n.upkeep().recoveryPoints()
	n.upkeep().logStarts()
	n.upkeep().highWatermarks()
	must(t, n.Delete(a))
	delete(n.marks, a.TP())

	again := n.create("a", 0, ids[1])
	if again.Start() != 0 || again.End() != 0 {
		t.Errorf("the new log is [%d, %d)", again.Start(), again.End())
	}
	_, err = again.Sync()
	must(t, err)
	n.crash()
	n.wants("a-0@d2:0/0")
	if l := n.Loaded()[0].Log; l.Start() != 0 || l.RecoveryPoint() != 0 {
		t.Errorf("the new log starts at %d with recovery point %d", l.Start(), l.RecoveryPoint())
	}
}

func (n *node) folders(dir string) string {
	n.t.Helper()
	list, err := n.disk.ReadDir(dir)
	must(n.t, err)
	var out []string
	for _, e := range list {
		if e.IsDir() {
			name, _, _ := strings.Cut(e.Name(), ".")
			out = append(out, name+"..."+e.Name()[strings.LastIndexByte(e.Name(), '-'):])
		}
	}
	return strings.Join(out, " ")
}

func TestDeletedFoldersGoAfterTheirDelayAndStraysStay(t *testing.T) {
	n := formatted(t)
	n.start()
	a, b := n.create("a", 0, ids[1]), n.create("b", 0, ids[1])
	must(t, n.Delete(a))
	must(t, n.Stray(b))
	f := func(want string) {
		t.Helper()
		n.upkeep().tick()
		if got := n.folders("/d2"); got != want {
			t.Errorf("folders are %q, want %q", got, want)
		}
	}
	f("a-0...-delete b-0...-stray")
	n.clock = n.clock.Add(time.Second)
	f("b-0...-stray")
	n.append(n.create("a", 0, ids[1]), "1")
	must(t, n.Delete(n.Loaded()[0].Log))
	n.claimed.Close()
	n.start() // what a restart finds goes at once
	f("b-0...-stray")
	n.wants("")
}

func TestALongNameIsCutWhenItIsSetAside(t *testing.T) {
	long := tp(strings.Repeat("x", kafka.MaxTopicNameLength), 12345)
	name := asideName(long, deleteSuffix)
	if len(name) != maxFolderName {
		t.Errorf("the name has %d characters", len(name))
	}
	if k, _ := classify(name); k != deletedFolder {
		t.Errorf("%q is read as %d", name, k)
	}
}

func TestFolderNames(t *testing.T) {
	hex := strings.Repeat("0f", 16)
	f := func(name string, k kind, want kafka.TopicPartition) {
		t.Helper()
		if got, tp := classify(name); got != k || tp != want {
			t.Errorf("%q is %d %v, want %d %v", name, got, tp, k, want)
		}
	}
	none := kafka.TopicPartition{}
	f("alpha-0", plainFolder, tp("alpha", 0))
	f("a-b-12", plainFolder, tp("a-b", 12))
	f("a.b-12", plainFolder, tp("a.b", 12))
	f("x-delete-0", plainFolder, tp("x-delete", 0))
	f("a-0."+hex+"-delete", deletedFolder, none)
	f("a-0."+hex+"-stray", strayFolder, none)
	f("a-0."+hex+"-future", futureFolder, tp("a", 0))
	f("a."+hex+"-future", unknownFolder, none)
	f("a-0.beef-delete", unknownFolder, none)
	f("__cluster_metadata-0", metadataFolder, kafka.MetadataPartition)
	f("a--1", plainFolder, tp("a-", 1))
	for _, name := range []string{"data", "a-", "-1", "a-x", "a/b-1", "a-99999999999", "a-+1", "a-01"} {
		f(name, unknownFolder, none)
	}
}

func TestRetentionTellsTheOwner(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	c := testConfig()
	c.RetentionMs = 1000
	a.SetConfig(c)
	n.append(a, "1")
	n.clock = n.clock.Add(2 * time.Second)
	n.upkeep().retainAll()
	if a.Start() != 1 || !slices.Equal(n.trimmed, []kafka.TopicPartition{a.TP()}) {
		t.Errorf("log start %d, told %v", a.Start(), n.trimmed)
	}
}

func TestKafkasFilesAreRead(t *testing.T) {
	root := t.TempDir()
	must(t, os.CopyFS(root, os.DirFS("testdata/kafka")))
	d1, d2 := filepath.Join(root, "disk1"), filepath.Join(root, "disk2")
	c, err := Claim(Want{FS: vfs.OS{}, Node: 11, LogDirs: []string{d1, d2}, Metadata: d1, Now: time.Now})
	must(t, err)
	defer c.Close()
	if c.ClusterID != "AAAAAAAAAAAAAAAAAAAAAg" || c.Metadata.ID.String() != "yZcH9xkzZsU-eBpMEkMEhA" {
		t.Errorf("cluster %q, metadata directory %s", c.ClusterID, c.Metadata.ID)
	}
	if e := c.PreviousBrokerEpoch(); e != 11 {
		t.Errorf("the previous broker epoch is %d, want 11", e)
	}
	marks, err := storage.ReadOffsets(vfs.OS{}, filepath.Join(d1, HighWatermarkFile))
	must(t, err)
	if len(marks) != 5 || marks[tp("alpha", 0)] != 19 {
		t.Errorf("high watermarks are %v", marks)
	}
	want, err := os.ReadFile(filepath.Join(d1, CleanShutdownFile))
	must(t, err)
	if got := encodeMarker(11); string(got) != string(want) {
		t.Errorf("the marker is %q, Kafka's is %q", got, want)
	}
}

func FuzzCleanShutdownMarker(f *testing.F) {
	f.Add([]byte(`{"version":0,"brokerEpoch":11}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e := decodeMarker(b); decodeMarker(encodeMarker(e)) != e {
			t.Errorf("epoch %d does not come back", e)
		}
	})
}

func noSpaceFor(path string) vfs.Rule {
	return vfs.Rule{Ops: vfs.OpWrite, Path: path, Err: vfs.ErrNoSpace}
}

func TestALogDeletedMeanwhileIsNoFailure(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	n.append(a, "1")
	hw := n.marks[a.TP()]
	must(t, n.Delete(a))
	n.marks[a.TP()] = hw
	dir := n.byID(ids[1])
	dir.put(a) // as the periodic work sees it that took its list before
	n.upkeep().tick()
	n.upkeep().retainAll()
	n.upkeep().recoveryPoints()
	newCleaning(n.Dirs, n).once(t.Context())
	if err := dir.offline(); err != nil {
		t.Error(err)
	}
}
