package processes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// What is not Kafka, or not whole, costs its own connection and nothing else.
func TestStrangeBytesCostTheirConnectionOnly(t *testing.T) {
	t.Parallel()
	d := itest.StartDev(t)
	create(t, d.Addr, "t", 1, nil)
	frame := func(payload []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
	}
	header := func(key, version int16) []byte {
		b := binary.BigEndian.AppendUint16(nil, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		b = binary.BigEndian.AppendUint32(b, 7)
		return append(b, 0xff, 0xff) // no client id
	}
	strange := map[string][]byte{
		"http":                   []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"tls hello":              append([]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03}, make([]byte, 600)...),
		"oversized frame":        {0x7f, 0xff, 0xff, 0xff},
		"negative frame":         {0xff, 0xff, 0xff, 0xfe},
		"empty frame":            frame(nil),
		"header only in part":    frame([]byte{0, 3, 0}),
		"unknown api key":        frame(header(9999, 0)),
		"unknown version":        frame(header(3, 99)),
		"body that does not end": frame(append(header(3, 1), 0x7f, 0xff, 0xff, 0xff)),
		"array of two billion":   frame(append(header(19, 2), 0x7f, 0xff, 0xff, 0xff, 0, 0)),
	}
	for name, raw := range strange {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", d.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write(raw); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(itest.Stuck))
			if answer, err := io.ReadAll(c); err != nil && !isReset(err) || len(answer) > 0 {
				t.Errorf("answered %q, %v; want a closed connection", answer, err)
			}
		})
	}
	t.Run("half a frame and silence", func(t *testing.T) {
		c, err := net.Dial("tcp", d.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(frame(header(3, 1))[:9]); err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
	if !d.Running() {
		t.Fatalf("the node ended: %s", d.Output())
	}
	if got := itest.Kcat(t, "", "-b", d.Addr, "-L"); !strings.Contains(got, `topic "t"`) {
		t.Errorf("afterwards kcat sees %s", got)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

// refusedStart runs a server that must not start, and gives its last line.
func refusedStart(t *testing.T, properties string, flags ...string) string {
	t.Helper()
	p := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), append([]string{"server", properties}, flags...)...))
	if code := p.Wait(t); code != 1 {
		t.Fatalf("exit status %d, want 1; it printed:\n%s", code, p.Output())
	}
	return strings.TrimSpace(p.Output())
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

func wants(t *testing.T, line string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("no %q in %q", w, line)
		}
	}
	if strings.Contains(line, "goroutine ") {
		t.Errorf("a stack is no answer: %q", line)
	}
}

// A start that cannot be right ends with status 1 and a line that says what to
// do.
func TestStartsThatCannotBeRightAreRefused(t *testing.T) {
	t.Parallel()
	format := func(t *testing.T, props, id string) {
		t.Helper()
		itest.Ottla(t, "", "storage", "format", "-c", props, "-t", id)
	}
	t.Run("unformatted folder", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		props, _ := serverProperties(t, data, "")
		wants(t, refusedStart(t, props), data, "storage format")
	})
	t.Run("folder of another node", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		props, _ := serverProperties(t, data, "")
		format(t, props, clusterID)
		edit(t, filepath.Join(data, "meta.properties"), "node.id=1", "node.id=2")
		wants(t, refusedStart(t, props), "node.id", "1", "2", data)
	})
	t.Run("folders of two clusters", func(t *testing.T) {
		dir := t.TempDir()
		one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
		props, _ := serverProperties(t, one+","+two, "")
		format(t, props, clusterID)
		edit(t, filepath.Join(two, "meta.properties"), clusterID, otherID)
		wants(t, refusedStart(t, props), "cluster.id", clusterID, otherID)
	})
	t.Run("formatting again with another cluster id", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		props, _ := serverProperties(t, data, "")
		format(t, props, clusterID)
		out, err := itest.Run("", exec.Command(itest.Bin(t), "storage", "format", "-c", props, "-t", otherID, "--ignore-formatted"))
		if err == nil {
			t.Errorf("formatted: %s", out)
		}
		wants(t, out, clusterID, otherID)
	})
	t.Run("port in use", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		props, addr := serverProperties(t, data, "")
		format(t, props, clusterID)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		wants(t, refusedStart(t, props), addr, "in use")
	})
	t.Run("folder in use", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		props, addr := serverProperties(t, data, "")
		format(t, props, clusterID)
		itest.Start(t, "the first", exec.Command(itest.Bin(t), "server", props))
		itest.AwaitPort(t, addr)
		second, _ := serverProperties(t, data, "")
		wants(t, refusedStart(t, second), data, ".lock")
	})
	typos := map[string]struct {
		line  string
		words []string
	}{
		"a number that is none":     {"num.partitions=many", []string{"server.properties", "num.partitions", "many"}},
		"a value out of bounds":     {"num.partitions=0", []string{"num.partitions", "0"}},
		"a role that is none":       {"process.roles=brokr", []string{"process.roles", "brokr"}},
		"an unsupported authorizer": {"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", []string{"authorizer.class.name", "--ignore-unsupported"}},
		"a listener mapped to SSL":  {"listener.security.protocol.map=PLAINTEXT:SSL,CONTROLLER:PLAINTEXT", []string{"listener.security.protocol.map", "SSL"}},
	}
	for name, typo := range typos {
		t.Run(name, func(t *testing.T) {
			props, _ := serverProperties(t, filepath.Join(t.TempDir(), "data"), typo.line)
			out := refusedStart(t, props)
			wants(t, out, typo.words...)
			if n := strings.Count(out, "\n"); n > 0 {
				t.Errorf("%d lines, want one: %s", n+1, out)
			}
		})
	}
	t.Run("an unknown key is a warning that names the nearest", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		props, addr := serverProperties(t, data, "num.partition=3")
		format(t, props, clusterID)
		p := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", props))
		itest.AwaitPort(t, addr)
		wants(t, p.Output(), "num.partition", "num.partitions")
	})
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

// partitionIn finds the partition of topic t that lies in a directory.
func partitionIn(t *testing.T, dir string) int32 {
	t.Helper()
	for p := range int32(2) {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("t-%d", p))); err == nil {
			return p
		}
	}
	t.Fatalf("no partition of t in %s", dir)
	return -1
}
