package dirs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
)

// lockFile is held for as long as the node runs.
const lockFile = ".lock"

// Want says which directories a node is to run on.
type Want struct {
	FS       vfs.FS
	Node     kafka.NodeID
	LogDirs  []string // of a broker; empty on a controller
	Metadata string   // the directory of the metadata log
	Now      func() time.Time
}

// Directory is one claimed directory.
type Directory struct {
	Path string
	ID   kafka.DirID // zero when it could not be read
	// Err is why the directory is offline from the beginning, or nil.
	Err error
	// Logs tells whether it is one of log.dirs.
	Logs bool

	lock io.Closer // guarded by Claimed.mu
	kept bool      // the lock ends with the process; guarded by Claimed.mu
}

// Claimed are the directories of this process, locked against others.
type Claimed struct {
	ClusterID   string
	Directories []*Directory // log.dirs in their order, then the metadata directory if it is none of them
	Metadata    *Directory

	fs   vfs.FS
	node kafka.NodeID
	mu   sync.Mutex
}

// Claim reads the identity of every directory, takes its lock and refuses, with
// a line that says what to do, what would end in the wrong data being used: a
// directory that belongs to another node or cluster, that is there twice, or that
// another process uses. A directory that cannot be read, is not there or is not
// formatted, as where a disk is missing or new, is offline and no reason to refuse,
// unless the metadata log is in it or none is left.
func Claim(w Want) (*Claimed, error) {
	c := &Claimed{fs: w.FS, node: w.Node}
	for _, path := range w.LogDirs {
		c.Directories = append(c.Directories, &Directory{Path: path, Logs: true})
	}
	i := slices.IndexFunc(c.Directories, func(d *Directory) bool { return filepath.Clean(d.Path) == filepath.Clean(w.Metadata) })
	if i < 0 {
		i = len(c.Directories)
		c.Directories = append(c.Directories, &Directory{Path: w.Metadata})
	}
	c.Metadata = c.Directories[i]
	if err := c.claim(w); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Claimed) claim(w Want) error {
	found := make([]metaprops.Properties, len(c.Directories))
	for i, d := range c.Directories {
		p, err := read(w.FS, d.Path)
		if errors.Is(err, fs.ErrNotExist) {
			err = unformatted(w, d)
		}
		if d.Err = err; err == nil {
			found[i] = p
		}
	}
	if err := c.identify(w, found); err != nil {
		return err
	}
	return c.lockAll()
}

// ErrUnformatted says that a directory has no identity: its disk is missing, or new.
var ErrUnformatted = errors.New("not formatted")

// unformatted tells what to do about a directory without an identity.
func unformatted(w Want, d *Directory) error {
	cure := "mount its disk, or, if that is new, run `ottla disks replace " + d.Path + "`"
	if filepath.Clean(d.Path) == filepath.Clean(w.Metadata) {
		cure = "run `ottla storage format` with this node's file, or mount the disk"
	}
	return fmt.Errorf("%s is %w: there is no %s in it; %s", d.Path, ErrUnformatted, metaprops.FileName, cure)
}

func read(f vfs.FS, dir string) (metaprops.Properties, error) {
	b, err := vfs.ReadFile(f, filepath.Join(dir, metaprops.FileName), metaprops.MaxSize)
	if err != nil {
		return metaprops.Properties{}, err
	}
	return metaprops.Parse(b)
}

// identify compares what the directories say with each other and the node.
func (c *Claimed) identify(w Want, found []metaprops.Properties) error {
	first := -1
	for i, d := range c.Directories {
		p := found[i]
		if d.Err != nil {
			continue
		}
		if err := c.fits(d, p, w.Node); err != nil {
			return err
		}
		if first < 0 {
			first, c.ClusterID = i, p.ClusterID
		}
		if p.ClusterID != c.ClusterID {
			return fmt.Errorf("%s has cluster.id %q and %s has cluster.id %q: remove the one that is not of this cluster from log.dirs",
				c.Directories[first].Path, c.ClusterID, d.Path, p.ClusterID)
		}
		if err := c.ensureID(d, p, w); err != nil {
			return err
		}
	}
	if first < 0 {
		return fmt.Errorf("no %s can be read: %w", metaprops.FileName, c.Directories[0].Err)
	}
	if c.Metadata.Err != nil {
		return fmt.Errorf("the metadata log's directory %s cannot be read: %w", c.Metadata.Path, c.Metadata.Err)
	}
	return c.noForeignMetadata()
}

func (c *Claimed) fits(d *Directory, p metaprops.Properties, node kafka.NodeID) error {
	name := filepath.Join(d.Path, metaprops.FileName)
	switch {
	case p.NodeID == kafka.NoNode || p.ClusterID == "":
		return fmt.Errorf("%s is of version %d and names no node or no cluster: format the directory", name, p.Version)
	case p.NodeID != node:
		return fmt.Errorf("%s says node.id %d, but this node's node.id is %d: correct node.id, or log.dirs", name, p.NodeID, node)
	case p.DirID.Reserved() && !p.DirID.IsZero():
		return fmt.Errorf("%s has the reserved directory.id %s: remove that line, and a new one is given", name, p.DirID)
	}
	for _, other := range c.Directories {
		if other != d && !p.DirID.IsZero() && other.ID == p.DirID {
			return fmt.Errorf("%s and %s have the same directory.id %s: one is a copy of the other; remove it from log.dirs",
				other.Path, d.Path, p.DirID)
		}
	}
	return nil
}

// ensureID gives a directory of an older release an id.
func (c *Claimed) ensureID(d *Directory, p metaprops.Properties, w Want) error {
	if p.DirID.IsZero() {
		p.DirID = NewDirID()
		p.Version = 1
		if err := vfs.WriteFileAtomic(w.FS, filepath.Join(d.Path, metaprops.FileName), p.Text(w.Now())); err != nil {
			return fmt.Errorf("give %s a directory.id: %w", d.Path, err)
		}
	}
	d.ID = p.DirID
	return nil
}

// NewDirID makes a random id for a directory: none that is reserved, and none
// whose text begins with a dash, which command lines would take for a flag.
func NewDirID() kafka.DirID {
	for {
		var id kafka.DirID
		_, _ = rand.Read(id[:]) // never fails
		if !id.Reserved() && id.String()[0] != '-' {
			return id
		}
	}
}

// noForeignMetadata refuses a metadata log outside of the metadata directory:
// somebody has changed metadata.log.dir, and the node would begin with an empty
// log as if it had never voted.
func (c *Claimed) noForeignMetadata() error {
	for _, d := range c.Directories {
		if d == c.Metadata || d.Err != nil {
			continue
		}
		name := filepath.Join(d.Path, folderName(kafka.MetadataPartition))
		there, err := vfs.Exists(c.fs, name)
		if err == nil && there {
			return fmt.Errorf("a metadata log lies in %s, but metadata.log.dir is %s: correct metadata.log.dir, or move the folder", name, c.Metadata.Path)
		}
	}
	return nil
}

func (c *Claimed) lockAll() error {
	for _, d := range c.Directories {
		if d.Err != nil {
			continue
		}
		err := c.take(d)
		if errors.Is(err, vfs.ErrLocked) {
			return err
		}
		if err != nil && d == c.Metadata {
			return fmt.Errorf("lock the metadata log's directory: %w", err)
		}
		d.Err = err
	}
	return nil
}

// inUse says that another process holds the lock of a directory. It is a
// vfs.ErrLocked.
type inUse struct{ path string }

func (e inUse) Error() string {
	return fmt.Sprintf("%s is used by another process, which holds %s: stop it first", e.path, filepath.Join(e.path, lockFile))
}

func (inUse) Is(target error) bool { return target == vfs.ErrLocked }

// take takes the lock of a directory.
func (c *Claimed) take(d *Directory) error {
	lock, err := c.fs.Lock(filepath.Join(d.Path, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return inUse{d.Path}
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.lock = lock
	return nil
}

// giveUp gives the lock of a directory up.
func (c *Claimed) giveUp(d *Directory) {
	c.mu.Lock()
	lock := d.lock
	if d.kept {
		lock = nil
	} else {
		d.lock = nil
	}
	c.mu.Unlock()
	if lock != nil {
		_ = lock.Close() // the end of the process does it too
	}
}

// keep has the lock of a directory end with the process.
func (c *Claimed) keep(d *Directory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d.kept = true
}

func (c *Claimed) at(path string) *Directory {
	for _, d := range c.Directories {
		if d.Path == path {
			return d
		}
	}
	return nil
}

// Close gives the locks up.
func (c *Claimed) Close() {
	for _, d := range c.Directories {
		c.giveUp(d)
	}
}

// PreviousBrokerEpoch is the epoch under which the broker was stopped in order.
// It is known only if every log directory works and says the same, and before
// Load, which removes the markers; else NoBrokerEpoch.
func (c *Claimed) PreviousBrokerEpoch() kafka.BrokerEpoch {
	epoch, first := kafka.NoBrokerEpoch, true
	for _, d := range c.Directories {
		if !d.Logs {
			continue
		}
		if d.Err != nil {
			return kafka.NoBrokerEpoch
		}
		clean, e, err := readMarker(c.fs, d.Path)
		if err != nil || !clean || !first && e != epoch {
			return kafka.NoBrokerEpoch
		}
		epoch, first = e, false
	}
	return epoch
}
