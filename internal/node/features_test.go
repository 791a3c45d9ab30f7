package node

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
)

// unpack writes folders that Apache Kafka 4.4 left behind to disk; zeros at the
// end of a file take no room.
func unpack(t *testing.T, world string) string {
	t.Helper()
	f, err := os.Open("../dumplog/testdata/" + world + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(zipped); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, world)
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, bytes.TrimRight(b, "\x00"), 0o644)
		}
		if err == nil {
			err = os.Truncate(path, int64(len(b)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sums are the checksums of all files below dir, by path, but for the locks.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == ".lock" {
			return err
		}
		if e.IsDir() {
			all[path] = "folder"
			return nil
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%x", md5.Sum(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// "refuses the folder of a cluster that this release does not serve, before
// anything in it is changed."
func TestAFolderOfUnservedFeaturesIsRefusedUnchanged(t *testing.T) {
	f := func(world, dir, voters, remedy string) {
		t.Helper()
		root := filepath.Join(unpack(t, world), dir)
		text := fmt.Sprintf(`process.roles=broker,controller
node.id=11
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0
controller.listener.names=CONTROLLER
controller.quorum.%s
log.dirs=%s,%s
`, voters, filepath.Join(root, "disk1"), filepath.Join(root, "disk2"))
		cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := sums(t, root)
		err = Run(t.Context(), Options{Config: cfg, Ready: func(Addresses) { t.Errorf("%s/%s: started", world, dir) }})
		if err == nil {
			t.Fatalf("%s/%s: no error", world, dir)
		}
		for _, part := range []string{
			remedy, "group.version 1 (served: 0), share.version 2 (served: 0), streams.version 1 (served: 0), transaction.version 2 (served: 0)",
			" --feature group.version=0 --feature share.version=0 --feature streams.version=0 --feature transaction.version=0",
		} {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s/%s: no %q in %v", world, dir, part, err)
			}
		}
		if diff := cmp.Diff(before, sums(t, root)); diff != "" {
			t.Errorf("%s/%s: before -, after +\n%s", world, dir, diff)
		}
	}
	const static, dynamic = "voters=11@127.0.0.1:1", "bootstrap.servers=127.0.0.1:1"
	f("static-quorum", "", static, "kafka-features.sh")
	f("standalone-dynamic-quorum", "", dynamic, "kafka-features.sh")
	f("format-only", "standalone", dynamic, "kafka-storage.sh format")
	f("format-only", "static", static, "kafka-storage.sh format")
}

// "An empty folder tells what a new cluster would begin with, where this node
// may be the one to begin it."
func TestWhoBeginsNoClusterIsNotAskedForIt(t *testing.T) {
	root := filepath.Join(unpack(t, "format-only"), "standalone")
	f := func(roles, listeners string, refused bool) {
		t.Helper()
		text := fmt.Sprintf("process.roles=%s\nnode.id=11\nlisteners=%s\ncontroller.listener.names=CONTROLLER\n"+
			"controller.quorum.bootstrap.servers=127.0.0.1:1\nlog.dirs=%s\n", roles, listeners, filepath.Join(root, "disk1"))
		cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkFolder(vfs.OS{}, cfg.Node()); (err != nil) != refused {
			t.Errorf("%s: %v", roles, err)
		}
	}
	f("broker", "PLAINTEXT://127.0.0.1:0", false)
	f("controller", "CONTROLLER://127.0.0.1:0", true)
}

// "a node that is refused does not learn of it."
func TestAMereBrokerIsToldToReadTheMetadataAnew(t *testing.T) {
	root := unpack(t, "static-quorum")
	text := fmt.Sprintf("process.roles=broker\nnode.id=11\nlisteners=PLAINTEXT://127.0.0.1:0\ncontroller.listener.names=CONTROLLER\n"+
		"controller.quorum.voters=1@127.0.0.1:1\nlog.dirs=%s\n", filepath.Join(root, "disk1"))
	cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkFolder(vfs.OS{}, cfg.Node()); err == nil || !strings.Contains(err.Error(), "remove this folder") {
		t.Error(err)
	}
}

func TestMisfits(t *testing.T) {
	f := func(name string, level int16, want bool) {
		t.Helper()
		if got := unserved(map[string]int16{name: level}); (got != nil) != want {
			t.Errorf("%s %d: %v", name, level, got)
		}
	}
	f(image.MetadataVersion, int16(image.LatestLevel), false)
	f(image.MetadataVersion, int16(image.LatestLevel)+1, true)
	f(image.ElrVersion, 1, false)
	f(image.GroupVersion, 1, true)
	f("never.heard.of", 1, true)
}
