package format

import (
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
)

// Write carries a plan out. After an error no file of the plan is left, so that
// the command can be given again; folders it made stay. The checkpoint is
// written before the meta.properties that would vouch for it.
func Write(disk vfs.FS, p Plan) error {
	for i, file := range p.Files {
		err := vfs.MkdirAllSync(disk, filepath.Dir(file.Path), 0o755)
		if err == nil {
			err = vfs.WriteFileAtomic(disk, file.Path, file.Data)
		}
		if err != nil {
			undo(disk, p.Files[:i+1])
			return fmt.Errorf("nothing was formatted, for %s cannot be written: %w", file.Path, err)
		}
	}
	return nil
}

// undo takes back files of a plan that cannot be finished. What cannot be taken
// back stays as a formatted directory, which the next attempt reports.
func undo(disk vfs.FS, files []File) {
	for _, file := range files {
		if there, _ := vfs.Exists(disk, file.Path); there && disk.Remove(file.Path) == nil {
			_ = disk.SyncDir(filepath.Dir(file.Path))
		}
	}
}
