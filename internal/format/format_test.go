package format

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
)

// counter is a source of ids that anybody can follow.
type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

// node is what a properties file says, with some keys changed.
func node(t *testing.T, changes ...string) *config.Node {
	t.Helper()
	file := "process.roles=broker,controller\nnode.id=11\ncontroller.quorum.bootstrap.servers=127.0.0.1:29093\n" +
		"listeners=PLAINTEXT://127.0.0.1:29092,CONTROLLER://127.0.0.1:29093\ncontroller.listener.names=CONTROLLER\nlog.dirs=/disk1,/disk2\n"
	c, _, err := config.Parse("f", []byte(file), changes, config.Options{Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	return c.Node()
}

func static(t *testing.T) *config.Node {
	return node(t, "controller.quorum.bootstrap.servers=", "controller.quorum.voters=11@127.0.0.1:29093")
}

func broker(t *testing.T) *config.Node {
	return node(t, "process.roles=broker", "listeners=PLAINTEXT://127.0.0.1:29092")
}

const allFeatures = "eligible.leader.replicas.version=1 group.version=1 share.version=2 streams.version=1 transaction.version=2"

func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Rule: the checkpoint is Kafka's byte for byte, but for the moments at which
// Kafka wrote each batch.
func TestCheckpointIsKafkas(t *testing.T) {
	f := func(name string, r Request) {
		t.Helper()
		want := golden(t, "kafka-"+name)
		var dir kafka.DirID
		if name == "standalone" {
			dir = mustUUID(t, "KnYXlkAFTAy4bVsCRvcVVA")
		}
		r.ClusterID = "x"
		// Past the check of what this release serves: Kafka serves more.
		voters, err := quorumOf(r)
		if err != nil {
			t.Fatal(err)
		}
		l, err := chooseLevels(r, len(r.Node.Voters) == 0)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planFor(r, voters, l, []Found{{Dir: "/disk1"}, {Dir: "/disk2"}}, idFirst{dir, &counter{}}, time.UnixMilli(1))
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Files[0]; got.Path != "/disk1/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint" || !bytes.Equal(timeless(t, got.Data), timeless(t, want)) {
			t.Errorf("%s: %s\n got %x\nwant %x", name, got.Path, timeless(t, got.Data), timeless(t, want))
		}
	}
	f("standalone", Request{Node: node(t), Standalone: true, Features: strings.Fields(allFeatures)})
	f("static", Request{Node: static(t), Features: strings.Fields(allFeatures)})
	f("noinit", Request{Node: node(t), NoInitial: true, Release: "4.0", Features: []string{"group.version=1", "transaction.version=2"}})

	// The ids in the fourth file are reserved ones, which no request may name.
	l, err := chooseLevels(Request{Features: strings.Fields(allFeatures)}, true)
	if err != nil {
		t.Fatal(err)
	}
	var voters []Voter
	for i := range byte(3) {
		voters = append(voters, Voter{kafka.ReplicaKey{Node: kafka.NodeID(11 + i), Dir: kafka.DirID{15: 11 + i}}, "127.0.0.1", 29093 + 2*uint16(i)})
	}
	got, err := checkpoint(l, voters, "CONTROLLER", nil, time.UnixMilli(1))
	if err != nil || !bytes.Equal(timeless(t, got), timeless(t, golden(t, "kafka-initial"))) {
		t.Errorf("initial: %x %v", got, err)
	}
}

// idFirst gives one id that is wanted, then what follows.
type idFirst struct {
	id   kafka.DirID
	rest *counter
}

func (f idFirst) Read(p []byte) (int, error) {
	if f.rest.n++; f.rest.n == 1 && !f.id.IsZero() {
		return copy(p, f.id[:]), nil
	}
	return f.rest.Read(p)
}

// timeless is a file of batches without what depends on the clock: timestamps
// of batches, deltas of records are 0 in ours, checksums, and the time in the
// snapshot's header.
func timeless(t *testing.T, file []byte) []byte {
	t.Helper()
	out := bytes.Clone(file)
	first := true
	for h, b := range batch.All(out) {
		if !batch.CheckCRC(b) {
			t.Fatalf("batch at offset %d has a wrong checksum", h.BaseOffset)
		}
		clear(b[17:21]) // CRC
		clear(b[27:43]) // base and max timestamp
		if first {
			// 61 bytes of header, then the record: length, attributes, timestamp
			// and offset deltas, key length, 4 bytes of key, value length,
			// version (2), time (8).
			clear(b[73:81])
		}
		first = false
	}
	return out
}

func mustUUID(t *testing.T, text string) kafka.UUID {
	t.Helper()
	u, err := kafka.ParseUUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Rule: a request that cannot be is refused with what to do about it, and
// nothing is planned.
func TestRefusals(t *testing.T) {
	f := func(want string, r Request) {
		t.Helper()
		if r.Node == nil {
			r.Node = node(t)
		}
		if r.ClusterID == "" {
			r.ClusterID = "abc"
		}
		plan, err := Decide(r, []Found{{Dir: "/disk1"}, {Dir: "/disk2"}}, &counter{}, time.UnixMilli(1))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || err != nil && plan.Files != nil {
			t.Errorf("got  %s\nwant %s\n%d files", got, want, len(plan.Files))
		}
	}
	const (
		noFlag      = "Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, --initial-controllers, or --no-initial-controllers."
		votersSet   = "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."
		dirID       = "JEXY6aqzQY-32P5TStzaFg"
		allReleases = "3.3-IV3, 3.4-IV0, 3.5-IV0, 3.5-IV1, 3.5-IV2, 3.6-IV0, 3.6-IV1, 3.6-IV2, 3.7-IV0, 3.7-IV1, 3.7-IV2, 3.7-IV3, 3.7-IV4, 3.8-IV0, 3.9-IV0, 4.0-IV0, 4.0-IV1, 4.0-IV2, 4.0-IV3, 4.1-IV0, 4.1-IV1, 4.2-IV0, 4.2-IV1, 4.3-IV0, 4.4-IV0, 4.4-IV1, 4.4-IV2"
	)
	f(noFlag, Request{})
	f("", Request{Standalone: true})
	f("", Request{NoInitial: true})
	f("--standalone and --no-initial-controllers exclude each other: give one of them", Request{Standalone: true, NoInitial: true})
	f("--standalone and --initial-controllers and --no-initial-controllers exclude each other: give one of them", Request{Standalone: true, NoInitial: true, InitialControllers: "x"})
	f("", Request{Node: static(t)})
	f("", Request{Node: static(t), NoInitial: true})
	f(votersSet, Request{Node: static(t), Standalone: true})
	f(votersSet, Request{Node: static(t), InitialControllers: "1@localhost:9093:" + dirID})
	f("", Request{Node: broker(t)})
	f("", Request{Node: broker(t), NoInitial: true})
	f("You can only use --standalone on a controller.", Request{Node: broker(t), Standalone: true})

	f("No voters given: --initial-controllers wants id@host:port:directoryId,...", Request{InitialControllers: " "})
	f("Node id 1 was specified more than once.", Request{InitialControllers: "1@localhost:9093:" + dirID + ",1@localhost:9094:JEXY6aqzQY-32P5TStzaFA"})
	f("Directory id "+dirID+" was specified more than once.", Request{InitialControllers: "1@localhost:9093:" + dirID + ",2@localhost:9094:" + dirID})
	f(`--initial-controllers: "1@localhost:9093:xx": Failed to parse directory ID in dynamic voter string: "xx" is not an id: want 22 characters of URL-safe base64`, Request{InitialControllers: "1@localhost:9093:xx"})
	f(`--initial-controllers: "1@h:1:AAAAAAAAAAAAAAAAAAAACw": directory id AAAAAAAAAAAAAAAAAAAACw is reserved`, Request{InitialControllers: "1@h:1:AAAAAAAAAAAAAAAAAAAACw"})
	f(`--initial-controllers: "1@localhost:`+dirID+`": want id@host:port:directoryId`, Request{InitialControllers: "1@localhost:" + dirID})
	f(`--initial-controllers: "x@h:1:`+dirID+`": the node id must be a number from 0, not "x"`, Request{InitialControllers: "x@h:1:" + dirID})
	f("", Request{InitialControllers: "11@[::1]:9093:" + dirID})

	f("Cannot set kraft.version to 1 unless controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, --initial-controllers, or --no-initial-controllers and removing controller.quorum.voters.",
		Request{Node: static(t), Features: []string{"kraft.version=1"}})
	f("Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version.",
		Request{Standalone: true, Features: []string{"kraft.version=0"}})
	f("Unknown metadata.version '3.2'. Supported metadata.version are: "+allReleases, Request{Standalone: true, Release: "3.2"})
	f("Unknown metadata.version 'nonsense'. Supported metadata.version are: "+allReleases, Request{Standalone: true, Release: "nonsense"})
	f("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.", Request{Standalone: true, Release: "4.0", Features: []string{"metadata.version=33"}})
	f("metadata.version level 34 is not yet stable; the newest level is 33 (4.4-IV2)", Request{Standalone: true, Features: []string{"metadata.version=34"}})
	f("No MetadataVersion with feature level 6. Valid feature levels are from 7 to 33.", Request{Standalone: true, Features: []string{"metadata.version=6"}})
	f("Unsupported feature: foo. Supported features are: eligible.leader.replicas.version, group.version, kraft.version, share.version, streams.version, transaction.version", Request{Standalone: true, Features: []string{"foo=1"}})
	for _, level := range []string{"group.version=1", "share.version=1", "share.version=2", "streams.version=1", "transaction.version=1", "transaction.version=2"} {
		f(level+" is not served by this release, which could not start with it (served levels: 0 to 0)", Request{Standalone: true, Features: []string{level}})
	}
	f("No feature:group.version with feature level 9; levels are 0 to 1", Request{Standalone: true, Features: []string{"group.version=9"}})
	f(`--feature group.version=x: the level must be a number, not "x"`, Request{Standalone: true, Features: []string{"group.version=x"}})
	f("--feature group.version: equals sign not found; use --feature name=level", Request{Standalone: true, Features: []string{"group.version"}})
	f("eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23 (4.0-IV1)", Request{Standalone: true, Release: "4.0-IV0", Features: []string{"eligible.leader.replicas.version=1"}})

	scram := func(text string) Request { return Request{Standalone: true, Scram: []string{text}} }
	f("", scram("SCRAM-SHA-256=[name=alice,password=alice]"))
	f("", scram(`SCRAM-SHA-512=[name=alice,password="a=b,c] é d",salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5eTFrN3E=",iterations=8192]`))
	f("You must supply one of 'password' or 'saltedpassword' to add-scram", scram("SCRAM-SHA-256=[name=alice]"))
	f("You must supply one of 'password' or 'saltedpassword' to add-scram", scram("SCRAM-SHA-256=[name=alice,password=x,saltedpassword=eA==,salt=eA==]"))
	f("The add-scram mechanism SCRAM-SHA-1 is not supported. (allowed: SCRAM-SHA-256, SCRAM-SHA-512)", scram("SCRAM-SHA-1=[name=alice,password=x]"))
	f("Failed to find equals sign in SCRAM argument 'x'", scram("x"))
	f("Expected configuration string to start with [", scram("SCRAM-SHA-256=name=alice,password=x"))
	f("Expected configuration string to end with ]", scram("SCRAM-SHA-256=[name=alice,password=x"))
	f("The 'iterations' value must be >= 4096 for add-scram using SCRAM_SHA_256", scram("SCRAM-SHA-256=[name=alice,password=x,iterations=5]"))
	f("The 'iterations' value must be <= 16384 for add-scram using SCRAM_SHA_512", scram("SCRAM-SHA-512=[name=alice,password=x,iterations=99999]"))
	f("Unknown SCRAM configurations: foo", scram("SCRAM-SHA-256=[name=alice,password=x,foo=1]"))
	f("'name' is given twice to add-scram", scram("SCRAM-SHA-256=[name=alice,name=bob,password=x]"))
	f("You must supply 'name' to add-scram", scram("SCRAM-SHA-256=[password=x]"))
	f("You must supply 'salt' with 'saltedpassword' to add-scram", scram(`SCRAM-SHA-256=[name=alice,saltedpassword="mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE="]`))
	f("No equals sign found in SCRAM component: alice", scram("SCRAM-SHA-256=[alice]"))
	f("The value of 'password' has no closing quote, or something behind it", scram(`SCRAM-SHA-256=[name=alice,password="x]`))
	f("SCRAM is only supported in metadata.version 3.5-IV2 or later.", Request{Standalone: true, Release: "3.4", Scram: []string{"SCRAM-SHA-256=[name=alice,password=x]"}})
}

// Rule: a credential is that of RFC 7677, 3: the keys verify the proof and give
// the server signature of its exchange.
func TestScramCredential(t *testing.T) {
	record, err := ParseScram(`SCRAM-SHA-256=[name=user,password=pencil,salt="W22ZaJ0SNY7soEsUEjb6gQ=="]`, &counter{})
	if err != nil {
		t.Fatal(err)
	}
	if record.Iterations != 4096 || record.Mechanism != 1 || record.Name != "user" {
		t.Errorf("%+v", record)
	}
	const exchange = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096," +
		"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	if got := base64.StdEncoding.EncodeToString(mac(record.ServerKey, exchange)); got != "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Errorf("server signature %s", got)
	}
	clientKey, err := base64.StdEncoding.DecodeString("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range mac(record.StoredKey, exchange) {
		clientKey[i] ^= b
	}
	if stored := sha256.Sum256(clientKey); !bytes.Equal(stored[:], record.StoredKey) {
		t.Errorf("stored key %x", record.StoredKey)
	}
}

// Rule: a release is read by its first two numbers and means its newest level.
func TestParseRelease(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		level, err := ParseRelease(text)
		if err != nil || level.String() != want {
			t.Errorf("%s is %v, want %s: %v", text, level, want, err)
		}
	}
	f("4.4", "4.4-IV2")
	f("4.4.0", "4.4-IV2")
	f("4.0", "4.0-IV3")
	f("4.3.1", "4.3-IV0")
	f("3.3", "3.3-IV3")
	f("4.0-IV1", "4.0-IV1")
}

// Rule (T-01, T-02, T-03, S-02): formatting is whole or nothing, never changes
// what is formatted, and the next attempt is told what to do.
func TestFormatOnDisk(t *testing.T) {
	disk := vfs.NewMem()
	format := func(r Request) (notes string, err error) {
		t.Helper()
		if r.ClusterID == "" {
			r.ClusterID = "abc"
		}
		plan, err := Decide(r, Survey(disk, Dirs(r.Node)), &counter{byte(len(tree(t, disk)))}, time.UnixMilli(1))
		if err == nil {
			err = Write(disk, plan)
		}
		return strings.Join(plan.Notes, "\n"), err
	}
	refused := func(want string, r Request) {
		t.Helper()
		before := tree(t, disk)
		if _, err := format(r); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if after := tree(t, disk); after != before {
			t.Errorf("changed:\n%s\nto:\n%s", before, after)
		}
	}

	notes, err := format(Request{Node: node(t), Standalone: true})
	if want := "Bootstrap metadata: metadata.version=33 (4.4-IV2), kraft.version=1, eligible.leader.replicas.version=1\nFormatting dynamic metadata voter directory /disk1 with metadata.version 4.4-IV2.\nFormatting data directory /disk2 with metadata.version 4.4-IV2."; err != nil || notes != want {
		t.Errorf("%s %v", notes, err)
	}
	if got := tree(t, disk); strings.Count(got, "meta.properties") != 2 || strings.Count(got, ".checkpoint") != 1 {
		t.Errorf("files:\n%s", got)
	}
	refused("Log directory /disk1 is already formatted. Use --ignore-formatted to ignore this directory and format the others.", Request{Node: node(t), Standalone: true})
	before := tree(t, disk)
	if notes, err := format(Request{Node: node(t), Standalone: true, IgnoreFormatted: true}); err != nil || notes != "All of the log directories are already formatted." || tree(t, disk) != before {
		t.Errorf("%s %v", notes, err)
	}
	three := node(t, "log.dirs=/disk1,/disk2,/disk3")
	refused("Log directory /disk1 is already formatted. Use --ignore-formatted to ignore this directory and format the others.", Request{Node: three, Standalone: true})
	if _, err := format(Request{Node: three, Standalone: true, IgnoreFormatted: true}); err != nil || !strings.HasPrefix(tree(t, disk), before) {
		t.Errorf("%v, files:\n%s", err, tree(t, disk))
	}
	refused("Invalid cluster.id in: /disk1/meta.properties. Expected abd, but read abc; format with --cluster-id abc, or empty the directory for a new cluster",
		Request{Node: three, Standalone: true, IgnoreFormatted: true, ClusterID: "abd"})
	refused("Stored node id 11 doesn't match the configured node id 1001 in /disk1/meta.properties. If you moved your data, set node.id to 11. If you intend to create a new node, you should remove all data in your data directories.",
		Request{Node: node(t, "node.id=1001"), Standalone: true, IgnoreFormatted: true})

	ids := map[kafka.DirID]bool{}
	for _, f := range Survey(disk, Dirs(three)) {
		if f.Meta == nil || f.Meta.ClusterID != "abc" || f.Meta.NodeID != 11 || f.Meta.Version != 1 || ids[f.Meta.DirID] {
			t.Errorf("%s: %+v", f.Dir, f.Meta)
		}
		ids[f.Meta.DirID] = true
	}
}

// tree lists all files of a disk with their bytes, by name.
func tree(t *testing.T, disk vfs.FS) string {
	t.Helper()
	text := ""
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := disk.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.IsDir() {
				walk(path)
				continue
			}
			data, err := vfs.ReadFile(disk, path, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprintf("%s %x\n", path, data)
		}
	}
	walk("/")
	return text
}

// Rule: a directory that cannot be read is passed over, but not the metadata
// directory of a controller, nor all of them; two names of one directory are
// refused.
// A cluster begins with the levels that Kafka gives it at its metadata.version, as
// far as this release serves them: without ELR a lossy crash of the last replica in
// sync loses what was acknowledged (KIP-966).
func TestAClusterBeginsWithTheUsualLevelsThatAreServed(t *testing.T) {
	f := func(want string, release string, asked ...string) {
		t.Helper()
		l, err := chooseLevels(Request{Release: release, Features: asked}, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(l.others); got != want {
			t.Errorf("%s %s: %s, want %s", release, asked, got, want)
		}
	}
	f("[{eligible.leader.replicas.version 1}]", "")
	f("[]", "4.0")
	f("[{eligible.leader.replicas.version 1}]", "4.0", "eligible.leader.replicas.version=1")
	f("[{eligible.leader.replicas.version 1}]", "4.1")
	f("[]", "", "eligible.leader.replicas.version=0")
	f("[{eligible.leader.replicas.version 1} {group.version 1}]", "", "group.version=1")
}

func TestUnreadableDirectories(t *testing.T) {
	broken := errors.New("I/O error")
	f := func(want string, n *config.Node, found ...Found) {
		t.Helper()
		plan, err := Decide(Request{Node: n, ClusterID: "x", NoInitial: true}, found, &counter{}, time.UnixMilli(1))
		got := strings.Join(plan.Notes, "|")
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const bootstrap = "Bootstrap metadata: metadata.version=33 (4.4-IV2), kraft.version=1, eligible.leader.replicas.version=1"
	f("I/O error trying to read log directory /disk2. Ignoring... (I/O error)|"+bootstrap+"|Formatting metadata directory /disk1 with metadata.version 4.4-IV2.", node(t), Found{Dir: "/disk1"}, Found{Dir: "/disk2", Err: broken})
	f("! the metadata directory /disk1 cannot be read: I/O error", node(t), Found{Dir: "/disk1", Err: broken}, Found{Dir: "/disk2"})
	f("! No available log directories to format.", broker(t), Found{Dir: "/disk1", Err: broken}, Found{Dir: "/disk2", Err: broken})
	f("! /disk1 and /disk2 are the same directory; name it once in log.dirs", node(t), Found{Dir: "/disk1"}, Found{Dir: "/disk2", SameAs: "/disk1"})
}

// Rule: links to one directory are seen through.
func TestSurveySeesLinks(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.Mkdir(a, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(a, b); err != nil {
		t.Fatal(err)
	}
	if found := Survey(vfs.OS{}, []string{a, b}); found[1].SameAs != a {
		t.Errorf("%+v", found)
	}
}

// Rule: whatever step fails, no file of the plan stays, and the same command
// succeeds afterwards.
func TestWriteIsWholeOrNothing(t *testing.T) {
	plan, err := Decide(Request{Node: node(t), ClusterID: "x", Standalone: true}, []Found{{Dir: "/disk1"}, {Dir: "/disk2"}}, &counter{}, time.UnixMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for step := 1; ; step++ {
		mem := vfs.NewMem()
		faulty := vfs.NewFault(mem)
		faulty.Inject(vfs.Rule{Ops: vfs.OpChange, Skip: step - 1, Only: 1, Err: vfs.ErrIO})
		if err := Write(faulty, plan); err == nil {
			break
		}
		failed++
		for line := range strings.Lines(tree(t, mem)) {
			if !strings.Contains(line, ".tmp ") {
				t.Errorf("step %d left %s", step, line)
			}
		}
		if err := Write(mem, plan); err != nil {
			t.Errorf("step %d: the next attempt: %v", step, err)
		}
	}
	if failed < 10 {
		t.Errorf("only %d steps failed", failed)
	}
}

// Rule: the report names every directory and every problem.
func TestDescribe(t *testing.T) {
	disk := vfs.NewMem()
	put := func(dir string, p metaprops.Properties) {
		if err := vfs.MkdirAllSync(disk, dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(disk, dir+"/meta.properties", p.Text(time.UnixMilli(1))); err != nil {
			t.Fatal(err)
		}
	}
	report := func(n *config.Node) string {
		var b bytes.Buffer
		if err := Describe(disk, n).Print(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := report(node(t)); got != "Found problems:\n  /disk1 does not exist\n  /disk2 does not exist\n\n" {
		t.Error(got)
	}
	first := metaprops.Properties{Version: 1, ClusterID: "abc", NodeID: 11, DirID: mustUUID(t, "KnYXlkAFTAy4bVsCRvcVVA")}
	put("/disk1", first)
	second := first
	second.DirID = mustUUID(t, "yZcH9xkzZsU-eBpMEkMEhA")
	put("/disk2", second)
	const found = "Found log directories:\n  /disk1\n  /disk2\n\nFound metadata: {cluster.id=abc, directory.id=KnYXlkAFTAy4bVsCRvcVVA, node.id=11, version=1}\n\n"
	if got := report(node(t)); got != found {
		t.Error(got)
	}
	put("/disk2", first)
	if got := report(node(t)); got != found+"Found problem:\n  /disk1/meta.properties and /disk2/meta.properties have the same directory.id KnYXlkAFTAy4bVsCRvcVVA: one is a copy of the other\n\n" {
		t.Error(got)
	}
	second.ClusterID = "xyz"
	put("/disk2", second)
	if got := report(node(t, "node.id=12")); got != found+"Found problems:\n  /disk1/meta.properties has node.id 11, the configuration 12\n  Mismatched cluster IDs between storage directories: \"abc\" in /disk1/meta.properties, \"xyz\" in /disk2/meta.properties\n\n" {
		t.Error(got)
	}
}
