package dirs

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Movable tells whether the folder of a partition's future replica has a name that
// file systems take: it holds an id and is never cut.
func Movable(tp kafka.TopicPartition) bool {
	return len(folderName(tp))+asideTail+len(futureSuffix) <= maxFolderName
}

// CreateFuture makes the empty log of a replica that is to move to a directory from
// another one. It begins where the other begins, or, where that is within a batch,
// when it is first written to. It is in the checkpoints of its directory from now on,
// but not in service.
func (d *Dirs) CreateFuture(tp kafka.TopicPartition, topic kafka.TopicID, id kafka.DirID, c config.LogConfig) (*storage.Log, error) {
	dir := d.byID(id)
	if dir == nil {
		return nil, fmt.Errorf("%w: %s is none of ours", ErrDirOffline, id)
	}
	dir.mu.Lock()
	err := dir.err
	if dir.logs[tp] != nil || dir.futures[tp] != nil {
		err = errors.Join(err, fmt.Errorf("move %s to %s: %w", folderName(tp), dir.path, errThere))
	}
	dir.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := dir.checkpoints.forget(tp); err != nil {
		return nil, d.refuse(dir, err)
	}
	opt := d.logOptions(dir, tp)
	opt.Dir = filepath.Join(dir.path, asideName(tp, futureSuffix))
	opt.TopicID, opt.Config = topic, c
	l, err := storage.Open(opt)
	if err != nil {
		return nil, d.refuse(dir, err)
	}
	dir.mu.Lock()
	defer dir.mu.Unlock()
	dir.futures[tp] = l
	if dir.err != nil {
		l.Fail(dir.err)
	}
	return l, nil
}

// Promote gives a future replica its place: its folder gets the plain name, and that
// of the current one, unless that is nil, is then renamed for its removal. Everything in the
// future replica must be synced. A crash between the two leaves two plain folders; metadata
// says which counts. Readers of the current log go on until it is removed, after
// file.delete.delay.ms. An error means that nothing was switched; a source that fails
// in the second rename goes offline by itself, and its copy is found by a later start.
func (d *Dirs) Promote(future, current *storage.Log) error {
	to := d.holder(future)
	if to == nil {
		return fmt.Errorf("promote %s: %w", future.Dir(), ErrDirOffline)
	}
	tp := future.TP()
	var from *directory
	if current != nil {
		from = d.holder(current)
	}
	if from != nil {
		if err := to.inherit(tp, from.checkpoints.cleanedTo(tp)); err != nil {
			return d.refuse(to, err)
		}
	}
	if err := future.Rename(filepath.Join(to.path, folderName(tp))); err != nil {
		return err
	}
	to.mu.Lock()
	delete(to.futures, tp)
	to.put(future)
	to.mu.Unlock()
	if from != nil {
		d.replaced(from, current)
	}
	return nil
}

// inherit notes how far the log was compacted where it comes from.
func (dir *directory) inherit(tp kafka.TopicPartition, cleaned kafka.Offset) error {
	if cleaned == dir.checkpoints.cleanedTo(tp) {
		return nil
	}
	return dir.checkpoints.set(CleanerFile, tp, cleaned)
}

// replaced takes a log out of service that readers may still use.
func (d *Dirs) replaced(dir *directory, l *storage.Log) {
	path := filepath.Join(dir.path, asideName(l.TP(), deleteSuffix))
	err := l.Rename(path)
	dir.mu.Lock()
	defer dir.mu.Unlock()
	dir.take(l)
	if err == nil {
		dir.doomed = append(dir.doomed, doomed{path: path, at: d.opt.Now().Add(millis(l.Config().FileDeleteDelayMs)), log: l})
	}
}

// closeDoomed closes the logs that readers might still have used.
func (dir *directory) closeDoomed() {
	var logs []*storage.Log
	dir.mu.Lock()
	for i := range dir.doomed {
		if l := dir.doomed[i].log; l != nil {
			logs = append(logs, l)
			dir.doomed[i].log = nil
		}
	}
	dir.mu.Unlock() // a log that fails takes it
	for _, l := range logs {
		_ = l.Close(false) // nobody wants what it could not write
	}
}
