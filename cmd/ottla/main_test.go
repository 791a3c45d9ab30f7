package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// ottla runs the program inside the test.
func ottla(t *testing.T, in string, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(in), &o, &e)
	return status, o.String(), e.String()
}

// succeeds runs the program and returns what it printed.
func succeeds(t *testing.T, in string, args ...string) string {
	t.Helper()
	status, out, errOut := ottla(t, in, args...)
	if status != 0 {
		t.Fatalf("ottla %s: status %d: %s", strings.Join(args, " "), status, errOut)
	}
	return out
}

// refuses runs the program, which must end with status 1 and these lines.
func refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	status, out, errOut := ottla(t, "", args...)
	if status != 1 || errOut != want+"\n" || out != "" {
		t.Errorf("ottla %s: status %d, printed %q\n got %s\nwant %s", strings.Join(args, " "), status, out, errOut, want)
	}
}

// Rule: a mistake on the command line ends with status 1 and one line that says
// what to do.
func TestMistakesOnTheCommandLine(t *testing.T) {
	refuses(t, `ottla: "vrsion" is not a command of "ottla"; did you mean version? (ottla --help lists all)`, "vrsion")
	refuses(t, `ottla: "xyzzy" is not a command of "ottla" (ottla --help lists all)`, "xyzzy")
	refuses(t, `ottla: "frmat" is not a command of "ottla storage"; did you mean format? (ottla storage --help lists all)`, "storage", "frmat")
	refuses(t, `ottla: unknown flag: --nope`, "version", "--nope")
	refuses(t, `ottla: required flag(s) "topic" not set`, "produce")
	refuses(t, `ottla: required flag(s) "cluster-id" not set`, "storage", "format", "-c", "x")
	refuses(t, `ottla: give one properties file: ottla server FILE [flags]`, "server")
	refuses(t, `ottla: give exactly one of: --list, --describe, --create, --alter, --delete`, "topics")
	refuses(t, `ottla: give exactly one of: --list, --describe, --create, --alter, --delete`, "topics", "--list", "--describe")
	refuses(t, `ottla: "lst" is not one of: list, describe, create, alter, delete`, "topics", "lst")
	refuses(t, `ottla: --entity-type "users" is not one of: topics, brokers`, "configs", "--describe", "--entity-type", "users")
	refuses(t, `ottla: --entity-type is missing: topics or brokers; or give --topic, --broker or --broker-defaults`, "configs", "--describe")
	refuses(t, `ottla: "x" is not the id of a broker: --broker ID, or --broker-defaults for all`, "configs", "--describe", "--broker", "x")
	refuses(t, `ottla: --acks "7" is not one of: all, 1, 0`, "produce", "--topic", "t", "--acks", "7")
	refuses(t, `ottla: --compression "rar" is not one of: none, gzip, snappy, lz4, zstd`, "produce", "--topic", "t", "--compression", "rar")
	refuses(t, `ottla: give either --topic or --include`, "consume")
	refuses(t, `ottla: --offset with a number needs --partition`, "consume", "--topic", "t", "--offset", "5")
	refuses(t, `ottla: --offset "x" is not one of: earliest, latest, a number from 0`, "consume", "--topic", "t", "--offset", "x")
	refuses(t, `ottla: --from-beginning and --offset exclude each other`, "consume", "--topic", "t", "--offset", "5", "--from-beginning")
	refuses(t, `ottla: --partition needs --topic and excludes --group`, "consume", "--topic", "t", "--partition", "0", "--group", "g")
	refuses(t, `ottla: --isolation-level "x" is not one of: read_uncommitted, read_committed`, "consume", "--topic", "t", "--isolation-level", "x")
	refuses(t, `ottla: --property print.key must be true or false, not "yes"`, "consume", "--topic", "t", "--property", "print.key=yes")
	refuses(t, `ottla: --property "x" is not of the form key=value`, "consume", "--topic", "t", "--property", "x")
	refuses(t, `ottla: give exactly one of: --status, --replication`, "metadata-quorum", "describe")
	refuses(t, `ottla: --disks must be at least 1, not 0`, "dev", "--disks", "0")
	refuses(t, `ottla: --nodes must be at least 1, not 0`, "dev", "--nodes", "0")
	refuses(t, `ottla: --port must be from 0 to 65530, not 65532`, "dev", "--port", "65532", "--nodes", "3")
	refuses(t, `ottla: --port must be from 0 to 65534, not 70000`, "dev", "--port", "70000")
	refuses(t, `ottla: log level "loud" is not known (allowed: debug, info, warn, error)`, "dev", "--data", t.TempDir(), "--log-level", "loud")
}

// Rule: an address where no node runs is told by name.
func TestNobodyAnswers(t *testing.T) {
	for _, args := range [][]string{{"topics", "--list"}, {"produce", "--topic", "t"}, {"consume", "--topic", "t"}, {"groups", "--list"}, {"log-dirs"}} {
		refuses(t, "ottla: no broker answers at 127.0.0.1:1: dial connect: connection refused; is a node running there? (--bootstrap-server)", append(args, "-b", "127.0.0.1:1")...)
	}
	refuses(t, "ottla: no node at 127.0.0.1:1 describes the quorum: dial connect: connection refused", "metadata-quorum", "describe", "--status", "-b", "127.0.0.1:1")
}

// Rule: the version names Kafka's release and the metadata.version.
func TestVersion(t *testing.T) {
	if got := succeeds(t, "", "version"); !strings.HasPrefix(got, "ottla ") || !strings.HasSuffix(got, "\nKafka 4.4, metadata.version 4.4-IV2 (level 33)\n") {
		t.Error(got)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(succeeds(t, "", "version", "--json")), &v); err != nil || v["kafka"] != "4.4" || v["metadataVersion"] != "4.4-IV2" {
		t.Errorf("%v %v", v, err)
	}
}

// Rule: help lists every command, and each has a line of help and an example or
// an argument-free use.
func TestHelp(t *testing.T) {
	help := succeeds(t, "")
	for _, c := range newRootCmd().Commands() {
		if c.Short == "" {
			t.Errorf("%s has no help", c.Name())
		}
		if !c.Hidden && !strings.Contains(help, "  "+c.Name()+" ") {
			t.Errorf("%s is not listed", c.Name())
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if script := succeeds(t, "", "completion", shell); !strings.Contains(script, "ottla") {
			t.Errorf("no completion for %s", shell)
		}
	}
}

// properties writes a file of a combined node with two directories.
func properties(t *testing.T, more string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "server.properties")
	text := "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\ncontroller.listener.names=CONTROLLER\n" +
		"controller.quorum.bootstrap.servers=127.0.0.1:9093\nlog.dirs=" + dir + "/d1," + dir + "/d2\n" + more
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

// Rule (T-01, T-02): format, info and format again speak as kafka-storage does.
func TestStorage(t *testing.T) {
	file, dir := properties(t, "")
	refuses(t, "ottla: Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, --initial-controllers, or --no-initial-controllers.",
		"storage", "format", "-c", file, "-t", "abc")
	refuses(t, "ottla: No voters given: --initial-controllers wants id@host:port:directoryId,...", "storage", "format", "-c", file, "-t", "abc", "-I", "")
	status, out, errOut := ottla(t, "", "storage", "info", "-c", file)
	if want := "Found problems:\n  " + dir + "/d1 does not exist\n  " + dir + "/d2 does not exist\n\n"; status != 1 || out != want || errOut != "" {
		t.Errorf("info: status %d\n%s", status, out)
	}
	refuses(t, "ottla: group.version=1 is not served by this release, which could not start with it (served levels: 0 to 0)",
		"storage", "format", "-c", file, "-t", "abc", "-s", "-f", "group.version=1")
	if _, err := os.Stat(dir + "/d1"); !os.IsNotExist(err) {
		t.Errorf("a refused format wrote to %s/d1: %v", dir, err)
	}
	want := "Bootstrap metadata: metadata.version=33 (4.4-IV2), kraft.version=1, eligible.leader.replicas.version=1\nFormatting dynamic metadata voter directory " + dir +
		"/d1 with metadata.version 4.4-IV2.\nFormatting data directory " + dir + "/d2 with metadata.version 4.4-IV2.\n"
	if got := succeeds(t, "", "storage", "format", "--config", file, "--cluster-id", "abc", "--standalone", "--feature", "eligible.leader.replicas.version=1", "-f", "share.version=0"); got != want {
		t.Errorf("format: %s", got)
	}
	refuses(t, "ottla: Log directory "+dir+"/d1 is already formatted. Use --ignore-formatted to ignore this directory and format the others.",
		"storage", "format", "-c", file, "-t", "abc", "-s")
	if got := succeeds(t, "", "storage", "format", "-c", file, "-t", "abc", "-s", "-g"); got != "All of the log directories are already formatted.\n" {
		t.Errorf("format again: %s", got)
	}
	if got := succeeds(t, "", "storage", "info", "-c", file); !strings.HasPrefix(got, "Found log directories:\n  "+dir+"/d1\n  "+dir+"/d2\n\nFound metadata: {cluster.id=abc, ") {
		t.Errorf("info: %s", got)
	}
	if id := succeeds(t, "", "storage", "random-uuid"); len(id) != 23 || id[0] == '-' {
		t.Errorf("random-uuid: %q", id)
	}
	if got := succeeds(t, "", "storage", "version-mapping", "-r", "4.0"); got != "metadata.version=25 (4.0-IV3)\neligible.leader.replicas.version=0\ngroup.version=1\nkraft.version=1\nshare.version=0\nstreams.version=0\ntransaction.version=2\n" {
		t.Errorf("version-mapping: %s", got)
	}
	if got := succeeds(t, "", "storage", "feature-dependencies", "-f", "eligible.leader.replicas.version=1", "-f", "group.version=1"); got != "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\ngroup.version=1 has no dependencies.\n" {
		t.Errorf("feature-dependencies: %s", got)
	}
}

// Rule: a server whose file has faults does not start; each fault is one line
// with file, line, key and what is allowed.
func TestServerRefusesFaults(t *testing.T) {
	file, _ := properties(t, "num.partitions=many\nlog.segment.bytes=1\n")
	refuses(t, "ottla: "+file+":7: num.partitions: Invalid value many for configuration num.partitions: Not a number of type INT (allowed: a number of type INT, at least 1)\n"+
		"ottla: "+file+":8: log.segment.bytes: Invalid value 1 for configuration log.segment.bytes: Value must be at least 1048576 (allowed: a number of type INT, at least 1048576)",
		"server", file)
	file, _ = properties(t, "super.users=User:admin\n")
	refuses(t, "ottla: "+file+":7: super.users: this release cannot do that, and the node would be less secure or less durable without it; remove the key, or start with --ignore-unsupported super.users",
		"server", file)
	refuses(t, "ottla: cannot read the configuration: open none.properties: no such file or directory", "server", "none.properties")
}

// Rule: a port that hangs up, as a controller's does on a broker's tools, is
// told as what it is.
func TestSomebodyHangsUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			_, _ = c.Read(make([]byte, 1<<10))
			c.Close()
		}
	})
	defer ended.Wait()
	defer l.Close()
	at := l.Addr().String()
	refuses(t, "ottla: no broker answers at "+at+": the connection was closed without an answer, as on a port that is for controllers or wants TLS or SASL (--bootstrap-server)", "topics", "--list", "-b", at)
}
