package dirs

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Create makes the log of a new replica in the named directory, or, where id is
// zero, in the one that stands best, and tells which. A directory that
// fails meanwhile goes offline; with a free choice the next one is tried.
func (d *Dirs) Create(tp kafka.TopicPartition, topic kafka.TopicID, id kafka.DirID, c config.LogConfig) (*storage.Log, kafka.DirID, error) {
	return d.create(tp, topic, id, c, storage.Open)
}

// CreateLater is Create of a log whose folder may follow later: a directory then fails
// as in any other write. So of many logs that are made at once, nobody waits for all
// who needs but one; the first of them is to be made by Create, as it shows whether a
// directory takes folders.
func (d *Dirs) CreateLater(tp kafka.TopicPartition, topic kafka.TopicID, id kafka.DirID, c config.LogConfig) (*storage.Log, kafka.DirID, error) {
	return d.create(tp, topic, id, c, func(opt storage.Options) (*storage.Log, error) {
		if there, err := vfs.Exists(d.fs, opt.Dir); there || err != nil {
			return storage.Open(opt)
		}
		return storage.New(opt), nil
	})
}

// open makes a log; it may open one that it finds.
type open func(storage.Options) (*storage.Log, error)

func (d *Dirs) create(tp kafka.TopicPartition, topic kafka.TopicID, id kafka.DirID, c config.LogConfig, open open) (*storage.Log, kafka.DirID, error) {
	choice := d.bestFirst()
	if !id.IsZero() {
		dir := d.byID(id)
		if dir == nil {
			return nil, id, fmt.Errorf("%w: %s is none of ours", ErrDirOffline, id)
		}
		choice = []*directory{dir}
	}
	err := error(ErrDirOffline)
	for _, dir := range choice {
		var l *storage.Log
		if l, err = d.createIn(dir, tp, topic, c, open); err == nil {
			return l, dir.id, nil
		}
		if errors.Is(err, storage.ErrTopicID) || errors.Is(err, errThere) {
			break
		}
	}
	return nil, id, err
}

var errThere = errors.New("the log is there already")

func (d *Dirs) createIn(dir *directory, tp kafka.TopicPartition, topic kafka.TopicID, c config.LogConfig, open open) (*storage.Log, error) {
	dir.mu.Lock()
	err := dir.err
	if _, there := dir.logs[tp]; err == nil && there {
		err = fmt.Errorf("create %s in %s: %w", folderName(tp), dir.path, errThere)
	}
	dir.mu.Unlock()
	if err != nil {
		return nil, err
	}
	opt := d.logOptions(dir, tp)
	opt.TopicID, opt.Config = topic, c
	var l *storage.Log
	err = dir.unlessItHangs(func(dir *directory) error {
		if err := dir.checkpoints.forget(tp); err != nil {
			return err
		}
		made, err := open(opt)
		if err == nil && dir.offline() != nil {
			return errors.Join(dir.offline(), made.Close(false)) // nobody may wait for it any more
		}
		l = made
		return err
	})
	if dir.offline() != nil {
		return nil, dir.offline()
	}
	if errors.Is(err, storage.ErrTopicID) {
		return nil, err
	}
	if err != nil {
		return nil, d.refuse(dir, err)
	}
	dir.mu.Lock()
	defer dir.mu.Unlock()
	dir.put(l)
	if dir.err != nil {
		l.Fail(dir.err)
	}
	return l, nil
}

// refuse gives the error of a creation that failed, after taking the directory
// offline unless it was for want of open files.
func (d *Dirs) refuse(dir *directory, err error) error {
	if d.failOrWait(dir, err); dir.offline() != nil {
		return dir.offline()
	}
	return fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
}

// Delete takes a log out of service at once; its folder is renamed and removed
// after file.delete.delay.ms.
func (d *Dirs) Delete(l *storage.Log) error {
	return d.setAside(l, deleteSuffix)
}

// Stray sets a log aside that the metadata does not know, for people to look
// at. It is never removed.
func (d *Dirs) Stray(l *storage.Log) error {
	return d.setAside(l, straySuffix)
}

func (d *Dirs) setAside(l *storage.Log, suffix string) error {
	dir := d.holder(l)
	if dir == nil {
		return fmt.Errorf("set %s aside: %w", l.Dir(), ErrDirOffline)
	}
	delay := l.Config().FileDeleteDelayMs
	path := filepath.Join(dir.path, asideName(l.TP(), suffix))
	return dir.unlessItHangs(func(dir *directory) error {
		if err := l.Rename(path); err != nil {
			return err
		}
		err := l.Close(false)
		dir.mu.Lock()
		defer dir.mu.Unlock()
		dir.take(l)
		if suffix == deleteSuffix {
			dir.doomed = append(dir.doomed, doomed{path: path, at: d.opt.Now().Add(millis(delay))})
		}
		return err
	})
}
