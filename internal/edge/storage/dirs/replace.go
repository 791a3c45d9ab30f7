package dirs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Find tells about a directory that is offline, by its path; the error says why there
// is none to be replaced or taken back.
func (d *Dirs) Find(path string) (Absent, error) {
	dir := d.at(path)
	switch {
	case dir == nil:
		return Absent{}, fmt.Errorf("%s is no entry of log.dirs", path)
	case dir.offline() == nil:
		return Absent{}, fmt.Errorf("%s is online", path)
	case !dir.isRetired():
		return Absent{}, fmt.Errorf("a write to %s has not returned yet: wait, or start the node again", path)
	}
	for _, a := range d.Absent() {
		if a.Path == dir.path {
			return a, nil
		}
	}
	return Absent{}, fmt.Errorf("%s is online", path)
}

// Replaceable tells why the disk at the path of a directory cannot take its place: it
// has to be a new one, which is mounted there and empty.
func (d *Dirs) Replaceable(path string, sameDevice bool) error {
	entries, err := d.fs.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: mount the new disk there", path)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case "lost+found", lockFile, probeFile:
		case metaprops.FileName:
			if _, err := d.identityOf(d.at(path)); err != nil {
				return fmt.Errorf("%s holds the directory of a node: %w", path, err)
			}
			return fmt.Errorf("%s holds the directory that has failed: it comes back by itself, or by `ottla disks readmit`", path)
		default:
			return fmt.Errorf("%s is not empty: it holds %q; nothing is ever removed to make room", path, e.Name())
		}
	}
	if !sameDevice && device(d.claimed.fs, path) == device(d.claimed.fs, filepath.Dir(filepath.Clean(path))) {
		return fmt.Errorf("%s lies on the same device as its parent, as the folder of a disk that is not mounted does: mount the disk, or say --same-device", path)
	}
	return nil
}

// device tells devices apart, by the part of a BootID that names one.
func device(f vfs.FS, path string) string {
	id := f.BootID(path)
	if slash := strings.LastIndexByte(id, '/'); slash >= 0 {
		return id[:slash] // after it comes the mount
	}
	return id
}

// Replace formats the disk at the path of a directory that is offline, with a new id,
// and opens it. It is as empty as Replaceable has found it.
func (d *Dirs) Replace(path string, sameDevice bool) (*Returning, error) {
	if _, err := d.Find(path); err != nil {
		return nil, err
	}
	if err := d.Replaceable(path, sameDevice); err != nil {
		return nil, err
	}
	if err := d.probe(path); err != nil {
		return nil, err
	}
	p := metaprops.Properties{Version: 1, ClusterID: d.claimed.ClusterID, NodeID: d.claimed.node, DirID: NewDirID()}
	if err := vfs.WriteFileAtomic(d.fs, filepath.Join(path, metaprops.FileName), p.Text(d.opt.Now())); err != nil {
		return nil, fmt.Errorf("format %s: %w", path, err)
	}
	return d.open(d.at(path), p.DirID)
}

// Known tells whether an id is that of one of our directories, online or not.
func (d *Dirs) Known(id kafka.DirID) bool { return d.byID(id) != nil }
