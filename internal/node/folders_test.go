package node

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// diskWith has formatted directories of node 1.
func diskWith(t *testing.T, paths ...string) vfs.FS {
	t.Helper()
	disk := vfs.NewMem()
	for i, path := range paths {
		p := metaprops.Properties{Version: 1, ClusterID: testCluster, NodeID: 1, DirID: kafka.DirID{byte(0xd0 + i)}}
		err := vfs.MkdirAllSync(disk, path, 0o755)
		if err == nil {
			err = vfs.WriteFileAtomic(disk, filepath.Join(path, metaprops.FileName), p.Text(time.Unix(0, 0)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// opened are the folders of a node whose properties name these log.dirs.
func opened(t *testing.T, disk vfs.FS, roles string, logDirs ...string) *folders {
	t.Helper()
	text := "process.roles=" + roles + "\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n" +
		"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:1\nlog.dirs=" + strings.Join(logDirs, ",") + "\n"
	cfg, _, err := config.Parse("server.properties", []byte(text), nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := openFolders(newEnv(Options{Config: cfg, FS: disk, Log: slog.New(slog.DiscardHandler)}), 100)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// "While something of ours may still write, all of that has to wait: another
// process that was given the directories would not expect it."
func TestDirectoriesStayLockedWhileSomethingWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := diskWith(t, "/a", "/b")
		f := opened(t, disk, "broker,controller", "/a", "/b")
		writing := make(chan struct{})
		f.close(departure{orderly: true, epoch: 7, writing: writing})
		synctest.Wait()
		for _, dir := range []string{"/a", "/b"} {
			if _, err := disk.Lock(filepath.Join(dir, ".lock")); !errors.Is(err, vfs.ErrLocked) {
				t.Errorf("%s was given up: %v", dir, err)
			}
			if clean, err := vfs.Exists(disk, filepath.Join(dir, dirs.CleanShutdownFile)); clean || err != nil {
				t.Errorf("%s is marked as clean: %v", dir, err)
			}
		}
		close(writing)
		synctest.Wait()
		if again := opened(t, disk, "broker,controller", "/a", "/b"); again.previousEpoch != 7 {
			t.Errorf("left under epoch %d", again.previousEpoch)
		}
	})
}

// "The directory of the metadata log, and the last one of all, take the node
// along."; another one is told, also to who asks later.
func TestWhatAFailedDirectoryTakesAlong(t *testing.T) {
	f := func(failing []string, wants string, offline int) {
		t.Helper()
		folders := opened(t, diskWith(t, "/a", "/b", "/c"), "broker,controller", "/a", "/b", "/c")
		for _, dir := range failing {
			folders.failed(dirFailure{path: dir, err: vfs.ErrIO})
		}
		said := ""
		select {
		case err := <-folders.failure.why:
			said = err.Error()
		default:
		}
		if (said == "") != (wants == "") || !strings.Contains(said, wants) {
			t.Errorf("%v: the node ends with %q, not %q", failing, said, wants)
		}
		told := 0
		folders.offline.take(func(dirFailure) { told++ })
		if told != offline {
			t.Errorf("%v: %d told", failing, told)
		}
	}
	f([]string{"/b"}, "", 1)
	f([]string{"/b", "/c"}, "", 2)
	f([]string{"/a/"}, "the directory of the metadata log failed: /a/", 0)
}
