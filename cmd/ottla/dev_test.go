package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/vfs"
)

// runDev runs "ottla dev" on a folder until it is ready, and stops it. It
// returns the disks that are formatted then.
func runDev(t *testing.T, data string, args ...string) (disks string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	go func() {
		defer stop()
		text := make([]byte, 4<<10)
		for said := ""; !strings.Contains(said, "Ctrl-C stops it."); {
			n, err := reader.Read(text)
			if err != nil {
				return
			}
			said += string(text[:n])
		}
		stop()
		_, _ = io.Copy(io.Discard, reader)
	}()
	var errOut strings.Builder
	status := run(ctx, append([]string{"dev", "--data", data, "--port", "0", "--log-level", "error"}, args...), nil, writer, &errOut)
	writer.Close()
	if status != 0 {
		t.Fatalf("dev %v: status %d: %s", args, status, errOut.String())
	}
	found, err := filepath.Glob(filepath.Join(data, "disk*", "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		disks += filepath.Base(filepath.Dir(file)) + " "
	}
	return strings.TrimSpace(disks)
}

// Rule: a folder that was started with several disks keeps all of them: without
// --disks all are used, with more some are added, and with fewer the start is
// refused, since replicas on the others would be made anew, empty.
func TestDevKeepsItsDisks(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	f := func(want string, args ...string) {
		t.Helper()
		if got := runDev(t, data, args...); got != want {
			t.Errorf("dev %v: %s are formatted, want %s", args, got, want)
		}
	}
	f("disk1 disk2", "--disks", "2")
	at := startDev(t, "--data", data)
	if dirs := succeeds(t, "", "log-dirs", "-b", at); !strings.Contains(dirs, "/disk2") {
		t.Errorf("without --disks:\n%s", dirs)
	}
}

func TestDevAddsDisksAndRefusesFewer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if got := runDev(t, data); got != "disk1" {
		t.Errorf("at first %s", got)
	}
	if got := runDev(t, data, "--disks", "3"); got != "disk1 disk2 disk3" {
		t.Errorf("with more %s", got)
	}
	refuses(t, "ottla: "+data+" has data on disk2, disk3 too, which --disks 1 would leave out; start without --disks to use all of them", "dev", "--data", data, "--port", "0", "--disks", "1")
}

// Rule: a port in use is told before anything is written.
func TestDevLooksAtPortsFirst(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	data := filepath.Join(t.TempDir(), "data")
	refuses(t, "ottla: listener PLAINTEXT://"+taken.Addr().String()+": listen tcp "+taken.Addr().String()+": bind: address already in use", "dev", "--data", data, "--port", port)
	refuses(t, "ottla: --metrics: listen tcp "+taken.Addr().String()+": bind: address already in use", "dev", "--data", data, "--port", "0", "--metrics", taken.Addr().String())
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("it wrote to %s: %v", data, err)
	}
}

// Rule: what dev decides itself cannot be set beside it.
func TestDevRefusesOverridesOfItsOwn(t *testing.T) {
	for _, key := range []string{"log.dirs", "log.dir", "metadata.log.dir", "listeners", "advertised.listeners", "node.id", "broker.id", "process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers", "controller.listener.names"} {
		refuses(t, "ottla: --override "+key+": ottla dev decides this itself (--data, --disks, --port, --listen and --advertise change what can be changed); for anything else use ottla server with a file",
			"dev", "--data", t.TempDir(), "--port", "0", "--override", key+"=/x")
	}
}

// Rule: a folder belongs to the number of nodes that first used it. Others would
// begin a second cluster beside the first, or leave voters of it out.
func TestDevKeepsItsNodes(t *testing.T) {
	f := func(first, then string) {
		t.Helper()
		data := filepath.Join(t.TempDir(), "data")
		d := devFlags{data: data, disks: 1, nodes: int(first[0] - '0'), listen: "127.0.0.1"}
		defer d.closeHeld()
		settings, _, err := d.settings()
		if err != nil {
			t.Fatal(err)
		}
		if err := formatOnce(vfs.OS{}, settings); err != nil {
			t.Fatal(err)
		}
		if err := d.sameNumber(); err != nil {
			t.Errorf("%s nodes again: %v", first, err)
		}
		refuses(t, "ottla: the nodes in "+data+" are "+first+", not "+then+": start with --nodes "+first+", or name another folder with --data",
			"dev", "--data", data, "--nodes", then)
	}
	f("1", "3")
	f("3", "1")
	f("3", "2")
	f("2", "3")
}
