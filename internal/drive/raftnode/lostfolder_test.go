package raftnode

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/vfs"
)

// kraft.md 11: "never auto-format". better.md B10: "A missing metadata directory
// still does" stop the node.
func TestAControllerWithoutItsFolderDoesNotStart(t *testing.T) {
	f := func(what string, formatted, starts bool, lay func(mem *vfs.Mem)) {
		t.Helper()
		mem := vfs.NewMem()
		if err := mem.MkdirAll("/d", 0o755); err != nil {
			t.Fatal(err)
		}
		lay(mem)
		cfg := lone(mem, metadataDir)
		cfg.Formatted = formatted
		there, _ := vfs.Exists(mem, metadataDir)
		n, err := Start(t.Context(), cfg)
		if err == nil {
			stop(t, n)
		}
		if (err == nil) != starts || !starts && (!strings.Contains(err.Error(), metadataDir) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "add-controller")) {
			t.Errorf("%s: %v", what, err)
		}
		if now, _ := vfs.Exists(mem, metadataDir); !starts && now != there {
			t.Errorf("%s: the folder was made", what)
		}
	}
	folder := func(mem *vfs.Mem) {
		if err := mem.MkdirAll(metadataDir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lived := func(mem *vfs.Mem) {
		n := start(t, lone(mem, metadataDir))
		stop(t, n)
	}
	checkpoint := bytesOf(t, vfs.OS{}, "testdata/format/initial.checkpoint")
	f("nothing", true, false, func(*vfs.Mem) {})
	f("an empty folder", true, false, folder)
	f("an empty segment", true, false, func(mem *vfs.Mem) {
		folder(mem)
		write(t, mem, metadataDir+"/00000000000000000000.log", nil)
	})
	f("an election state alone", true, false, func(mem *vfs.Mem) {
		lived(mem)
		for _, name := range names(t, mem, metadataDir) {
			if name != quorumStateName {
				if err := mem.Remove(metadataDir + "/" + name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	f("formatted by 4.2 or later", true, true, func(mem *vfs.Mem) {
		folder(mem)
		write(t, mem, metadataDir+"/"+snapshotStem(SnapshotID{})+snapshotSuffix, checkpoint)
	})
	f("formatted with static voters before 4.2", true, true, func(mem *vfs.Mem) { write(t, mem, "/d/"+bootstrapName, checkpoint) })
	f("a log", true, true, lived)
	f("a node that was not formatted as controller", false, true, func(*vfs.Mem) {})
}
