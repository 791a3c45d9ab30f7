package processes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/itest"
)

// A corrupt batch is refused with CORRUPT_MESSAGE and leaves nothing behind.
func TestACorruptBatchIsRefused(t *testing.T) {
	t.Parallel()
	d := itest.StartDev(t)
	create(t, d.Addr, "t", 1, nil)
	cl := client(t, d.Addr)
	good := idempotentBatch(-1, -1, -1, "good")
	corrupt := bytes.Clone(good)
	corrupt[len(corrupt)-1] ^= 0xff
	produceRaw(t, cl, "t", corrupt, kerr.CorruptMessage)
	produceRaw(t, cl, "t", good[:len(good)-3], kerr.CorruptMessage)
	old := bytes.Clone(good)
	old[16] = 1 // a message format that 4.x no longer takes
	produceRaw(t, cl, "t", old, kerr.InvalidRecord)
	if at := produceRaw(t, cl, "t", good, kerr.ErrorForCode(0)); at != 0 {
		t.Errorf("the first good batch got offset %d", at)
	}
}

// What is not Kafka, or not whole, costs its own connection and nothing else,
// and the log says why. The log has one line for each kind, client host and
// minute: every case has a host of its own, so that none hides another's line.
func TestStrangeBytesCostTheirConnectionOnly(t *testing.T) {
	t.Parallel()
	d := itest.StartDev(t)
	create(t, d.Addr, "t", 1, nil)
	hosts := 1 // 127.0.0.1 is everybody else
	f := func(name string, raw []byte, reason string) {
		t.Helper()
		hosts++
		host := fmt.Sprintf("127.0.0.%d", hosts)
		t.Run(name, func(t *testing.T) {
			endsUnanswered(t, dialFrom(t, host, d.Addr), raw)
			logsOnly(t, d, host, reason)
		})
	}
	f("http", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"frame of 1195725856 bytes (at most 104857600): looks like an HTTP request")
	f("tls hello", append([]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03}, make([]byte, 600)...),
		"frame of 369295618 bytes (at most 104857600): looks like a TLS handshake on a plaintext port")
	f("oversized frame", []byte{0x7f, 0xff, 0xff, 0xff},
		"frame of 2147483647 bytes (at most 104857600): looks like an oversized request or another protocol")
	f("negative frame", []byte{0xff, 0xff, 0xff, 0xfe},
		"frame of -2 bytes (at most 104857600): looks like a negative size")
	f("empty frame", frame(nil), "malformed: request of 0 bytes has no header")
	f("header only in part", frame([]byte{0, 3, 0}), "malformed: request of 3 bytes has no header")
	f("unknown api key", frame(header(9999, 0)), "request of Unknown (key 9999) version 0 is not served here")
	f("unknown version", frame(append(header(3, 99), 0)), "request of Metadata (key 3) version 99 is not served here")
	f("header without its tags", frame(header(3, 99)), "malformed: header: bad or missing varint")
	f("body that does not end", frame(append(header(3, 1), 0x7f, 0xff, 0xff, 0xff)),
		"malformed: Metadata version 1: response did not contain enough data to be valid")
	f("array of two billion", frame(append(header(19, 2), 0x7f, 0xff, 0xff, 0xff, 0, 0)),
		"malformed: CreateTopics version 2: response did not contain enough data to be valid")
	if !d.Running() {
		t.Fatalf("the node ended: %s", d.Output())
	}
	if got := itest.Kcat(t, "", "-b", d.Addr, "-L"); !strings.Contains(got, `topic "t"`) {
		t.Errorf("afterwards kcat sees %s", got)
	}
}

// A client that sends half a frame and then nothing has its connection and may
// take its time. Others do not wait for it, and its end is told as what it is.
func TestStrangeSilenceInsideAFrameHoldsItsConnectionOnly(t *testing.T) {
	t.Parallel()
	metrics := fmt.Sprintf("127.0.0.1:%d", itest.FreePort(t))
	d := itest.StartDev(t, "--metrics", metrics)
	const host = "127.0.0.2"
	awaitConnections(t, metrics, 0)
	c := dialFrom(t, host, d.Addr)
	if _, err := c.Write(frame(header(3, 1))[:9]); err != nil {
		t.Fatal(err)
	}
	awaitConnections(t, metrics, 1)
	if got := itest.Kcat(t, "", "-b", d.Addr, "-L"); !strings.Contains(got, " broker 1 at "+d.Addr) {
		t.Errorf("beside the silent client kcat sees %s", got)
	}
	awaitConnections(t, metrics, 1) // kcat has gone, the silent client has not
	if early := logged(d, host); len(early) > 0 {
		t.Errorf("while the client is silent the node logs %q", early)
	}
	c.Close()
	logsOnly(t, d, host, "connection ended inside a request")
	awaitConnections(t, metrics, 0)
}

func frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// header is a request's, without a client id and without tags.
func header(key, version int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, 7)
	return append(b, 0xff, 0xff)
}

// dialFrom connects from an address of our own choice, by which the node tells
// its clients apart.
func dialFrom(t *testing.T, host, addr string) net.Conn {
	t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	c, err := from.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// endsUnanswered sends bytes, for which the node closes the connection. Bytes
// that it has not read by then make the close a reset.
func endsUnanswered(t *testing.T, c net.Conn, raw []byte) {
	t.Helper()
	if _, err := c.Write(raw); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(itest.Stuck))
	if answer, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(answer) > 0 {
		t.Errorf("answered %q, %v; want a closed connection", answer, err)
	}
}

// logged are the whole lines of the log about one client host, without the time.
func logged(d *itest.Dev, host string) (lines []string) {
	for line := range strings.Lines(d.Output()) {
		_, line, found := strings.Cut(line, " level=")
		line, whole := strings.CutSuffix(line, "\n")
		if found && whole && strings.Contains(line, " client="+host+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// logsOnly waits for the line that says why a connection was closed.
func logsOnly(t *testing.T, d *itest.Dev, host, reason string) {
	t.Helper()
	var got []string
	itest.Eventually(t, func() error {
		if got = logged(d, host); len(got) == 0 {
			return fmt.Errorf("nothing is logged about %s", host)
		}
		return nil
	})
	want := fmt.Sprintf("WARN msg=%q part=network listener=PLAINTEXT client=%s reason=%q", "closed a connection for what it sent", host, reason)
	if !slices.Equal(got, []string{want}) {
		t.Errorf("logged %q\nwant   %q", got, want)
	}
}

// awaitConnections waits until the node counts that many clients.
func awaitConnections(t *testing.T, metrics string, want float64) {
	t.Helper()
	const name = `kafka_server_socket_server_metrics_connection_count{listener="PLAINTEXT"}`
	itest.Eventually(t, func() error {
		p, err := scrape(t, metrics)
		if err != nil {
			return err
		}
		if got := p[name]; got != want { // absent before the first client, which is 0
			return fmt.Errorf("%s is %v, want %v", name, got, want)
		}
		return nil
	})
}

// serverProperties writes the configuration of a combined node.
func serverProperties(t *testing.T, data, more string) (file, addr string) {
	t.Helper()
	client, controller := itest.FreePort(t), itest.FreePort(t)
	return itest.WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d
controller.quorum.voters=1@127.0.0.1:%d
log.dirs=%s
offsets.topic.replication.factor=1
%s
`, client, controller, controller, data, more)), fmt.Sprintf("127.0.0.1:%d", client)
}

const (
	clusterID = "4L6g3nShT-eMCtK--X86sw"
	otherID   = "J7s9e8PPTKOO47PxzI39VA"
)

// home is where one node lives. Its paths and its port differ from run to run.
type home struct{ data, file, addr string }

// newHome configures a node with log directories below its data folder, or with
// the folder itself. more are further settings, one a line.
func newHome(t *testing.T, more string, dirs ...string) home {
	t.Helper()
	data := filepath.Join(itest.Folder(t), "data")
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var all []string
	for _, dir := range dirs {
		all = append(all, filepath.Join(data, dir))
	}
	file, addr := serverProperties(t, strings.Join(all, ","), more)
	return home{data, file, addr}
}

func (h home) format(t *testing.T) {
	t.Helper()
	itest.Ottla(t, "", "storage", "format", "-c", h.file, "-t", clusterID)
}

// named puts names in place of what differs from run to run, and of the two
// cluster ids. It looks for this home's own address: another port stays.
func (h home) named(output string) string {
	return strings.NewReplacer(h.data, "DATA", h.file, "FILE", h.addr, "ADDR", clusterID, "CLUSTER", otherID, "OTHER").Replace(output)
}

// refuses runs a command that must end with status 1 and print one line, want.
func (h home) refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	p := itest.Start(t, "ottla "+args[0], exec.Command(itest.Bin(t), args...))
	if code := p.Wait(t); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if got := h.named(p.Output()); got != want+"\n" {
		t.Errorf("printed %q\nwant    %q", got, want+"\n")
	}
}

// A start that cannot be right ends with status 1 and a line that says what to
// do.
func TestStartsThatCannotBeRightAreRefused(t *testing.T) {
	t.Parallel()
	f := func(name string, spoil func(*testing.T, home), want string, dirs ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "", dirs...)
			spoil(t, h)
			h.refuses(t, want, "server", h.file)
		})
	}
	f("unformatted folder", func(*testing.T, home) {},
		"ottla: no meta.properties can be read: DATA is not formatted: there is no meta.properties in it; run `ottla storage format` with this node's file, or mount the disk")
	f("folder of another node", func(t *testing.T, h home) {
		h.format(t)
		edit(t, filepath.Join(h.data, "meta.properties"), "node.id=1", "node.id=2")
	}, "ottla: DATA/meta.properties says node.id 2, but this node's node.id is 1: correct node.id, or log.dirs")
	f("folders of two clusters", func(t *testing.T, h home) {
		h.format(t)
		edit(t, filepath.Join(h.data, "two", "meta.properties"), clusterID, otherID)
	}, `ottla: DATA/one has cluster.id "CLUSTER" and DATA/two has cluster.id "OTHER": remove the one that is not of this cluster from log.dirs`, "one", "two")
	f("port in use", func(t *testing.T, h home) {
		h.format(t)
		l, err := net.Listen("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}, "ottla: listener PLAINTEXT://ADDR: listen tcp ADDR: bind: address already in use")
	f("folder in use", func(t *testing.T, h home) {
		first, addr := serverProperties(t, h.data, "")
		h.format(t)
		itest.Start(t, "the first", exec.Command(itest.Bin(t), "server", first))
		itest.AwaitPort(t, addr)
	}, "ottla: DATA is used by another process, which holds DATA/.lock: stop it first")
	t.Run("formatting again with another cluster id", func(t *testing.T) {
		h := newHome(t, "")
		h.format(t)
		h.refuses(t, "ottla: Invalid cluster.id in: DATA/meta.properties. Expected OTHER, but read CLUSTER; format with --cluster-id CLUSTER, or empty the directory for a new cluster",
			"storage", "format", "-c", h.file, "-t", otherID, "--ignore-formatted")
	})
}

// A setting that cannot be right is refused with its file, line and key.
func TestStartsWithSettingsThatCannotBeRightAreRefused(t *testing.T) {
	t.Parallel()
	f := func(name, setting, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			h := newHome(t, setting)
			h.refuses(t, "ottla: FILE:8: "+want, "server", h.file)
		})
	}
	f("a number that is none", "num.partitions=many",
		"num.partitions: Invalid value many for configuration num.partitions: Not a number of type INT (allowed: a number of type INT, at least 1)")
	f("a value out of bounds", "num.partitions=0",
		"num.partitions: Invalid value 0 for configuration num.partitions: Value must be at least 1 (allowed: a number of type INT, at least 1)")
	f("a role that is none", "process.roles=brokr",
		"process.roles: Invalid value brokr for configuration process.roles: String must be one of: broker, controller (allowed: a list of: broker, controller)")
	f("an unsupported authorizer", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"authorizer.class.name: this release cannot do that, and the node would be less secure or less durable without it; remove the key, or start with --ignore-unsupported authorizer.class.name")
	f("a listener mapped to SSL", "listener.security.protocol.map=PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
		"listener.security.protocol.map: listener PLAINTEXT wants SSL, which this release does not have (allowed: PLAINTEXT); to serve it unprotected, start with --ignore-unsupported listener.security.protocol.map")
}

// An unknown key may be of a newer release: the node starts, and its first line
// names the nearest key.
func TestStartsWithAnUnknownKeyWarn(t *testing.T) {
	t.Parallel()
	h := newHome(t, "num.partition=3")
	h.format(t)
	p := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", h.file))
	itest.AwaitPort(t, h.addr)
	first, _, _ := strings.Cut(h.named(p.Output()), "\n")
	if want := "ottla: warning: FILE:8: num.partition: is not a key that this release knows; did you mean num.partitions?"; first != want {
		t.Errorf("printed %q\nwant    %q", first, want)
	}
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(raw), from, to)
	if changed == string(raw) {
		t.Fatalf("%s has no %q: %s", file, from, raw)
	}
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A directory that is full fails its own replicas with KAFKA_STORAGE_ERROR;
// those of the other directory go on, and what was acknowledged is there after
// space was made and the node started again.
func TestAFullDiskStopsItsOwnReplicasOnly(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("this test mounts a small file system and needs root")
	}
	dir := t.TempDir()
	small, large := filepath.Join(dir, "small"), filepath.Join(dir, "large")
	for _, d := range []string{small, large} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	props, addr := serverProperties(t, large+","+small, "num.partitions=2\nlog.segment.bytes=1048576")
	itest.Ottla(t, "", "storage", "format", "-c", props, "-t", clusterID)
	node := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", props))
	itest.AwaitPort(t, addr)
	create(t, addr, "t", 2, nil)
	full, healthy := partitionIn(t, small), partitionIn(t, large)
	cl := client(t, addr)
	filler := idempotentBatch(-1, -1, -1, strings.Repeat("x", 200_000))
	acked, refused := 0, false
	for range 60 {
		code := produceTo(t, cl, "t", full, filler)
		if code == nil {
			acked++
			continue
		}
		if code != kerr.KafkaStorageError && code != kerr.NotLeaderForPartition {
			t.Fatalf("the full directory answers %v", code)
		}
		refused = true
		break
	}
	if !refused || acked == 0 {
		t.Fatalf("%d batches taken, refused: %v", acked, refused)
	}
	if code := produceTo(t, cl, "t", healthy, filler); code != nil {
		t.Errorf("the healthy directory answers %v", code)
	}
	if !node.Running() {
		t.Fatal("the node ended")
	}
	node.Stop(t)
	if err := syscall.Mount("none", small, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	again := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", props))
	itest.AwaitPort(t, addr)
	if got := len(readAll(t, addr, "t")[full]); got < acked {
		t.Errorf("%d of %d acknowledged records after the restart", got, acked)
	}
	again.Stop(t)
}

// partitionIn finds the partition of topic t that lies in a directory. The broker
// makes its folder a moment after the controller has acknowledged the topic.
func partitionIn(t *testing.T, dir string) (found int32) {
	t.Helper()
	itest.Eventually(t, func() error {
		for p := range int32(2) {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("t-%d", p))); err == nil {
				found = p
				return nil
			}
		}
		return fmt.Errorf("no partition of t in %s", dir)
	})
	return found
}
