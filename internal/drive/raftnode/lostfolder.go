package raftnode

import (
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
)

// lostFolder refuses to start a controller whose metadata directory is gone or
// empty although its log directory was formatted: it would vote as if it had never
// acknowledged anything.
//
//  1. Of three voters 3 lags; 1 and 2 commit.
//  2. 1 loses its folder and 2 is down. 1 and 3 start; 1 votes for 3, whose log is
//     longer than none.
//  3. 2 comes back, and 3 has it cut what was committed.
//
// Kafka's format has put a checkpoint into the folder since 4.2, and whenever the
// voters are dynamic; before, it put bootstrap.checkpoint beside the folder. Where
// only that is there, a first start looks the same as a loss, see
// docs/design/lost-folder.md.
func (c Config) lostFolder() error {
	if !c.Formatted {
		return nil
	}
	something, err := holdsAnything(c.FS, c.Dir)
	if err != nil || something {
		return err
	}
	beside, err := vfs.Exists(c.FS, filepath.Join(filepath.Dir(c.Dir), bootstrapName))
	if err != nil {
		return fmt.Errorf("looking for bootstrap records: %w", err)
	}
	if beside {
		return nil
	}
	return fmt.Errorf("%s is missing or empty although its directory was formatted: what this controller has voted and acknowledged is gone; if it lies on another disk, mount that, else %s", c.Dir, replaceVoter)
}

// holdsAnything tells whether there is a checkpoint or a record in a metadata
// directory, or a log that begins after 0: that was there, whatever it holds now.
func holdsAnything(fsys vfs.FS, dir string) (bool, error) {
	there, err := vfs.Exists(fsys, dir)
	if err != nil || !there {
		return false, err
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("looking at the metadata directory: %w", err)
	}
	for _, e := range entries {
		_, snapshot := parseSnapshotName(e.Name())
		base := segmentBase(e.Name())
		segment := base >= 0 && fileSize(fsys, filepath.Join(dir, e.Name())) > 0
		if snapshot || segment || base > 0 {
			return true, nil
		}
	}
	return false, nil
}
