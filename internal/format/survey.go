package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Survey looks at directories. It changes nothing.
func Survey(disk vfs.FS, dirs []string) []Found {
	found := make([]Found, len(dirs))
	infos := make([]fs.FileInfo, len(dirs))
	for i, dir := range dirs {
		found[i] = look(disk, dir)
		infos[i], _ = disk.Stat(dir) // of a missing one there is nothing to compare
		for j := range i {
			if infos[i] != nil && infos[j] != nil && os.SameFile(infos[i], infos[j]) {
				found[i].SameAs = dirs[j]
			}
		}
	}
	return found
}

func look(disk vfs.FS, dir string) Found {
	info, err := disk.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Found{Dir: dir}
	case err != nil:
		return Found{Dir: dir, Err: err}
	case !info.IsDir():
		return Found{Dir: dir, Err: fmt.Errorf("%s is not a directory", dir)}
	}
	data, err := vfs.ReadFile(disk, filepath.Join(dir, metaprops.FileName), metaprops.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Found{Dir: dir}
	case err != nil:
		return Found{Dir: dir, Err: err}
	}
	meta, err := metaprops.Parse(data)
	if err != nil {
		return Found{Dir: dir, Err: err}
	}
	return Found{Dir: dir, Meta: &meta}
}
