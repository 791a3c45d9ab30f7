package raftnode

import (
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// votesMark is metarec.VotesLostFile. A node whose quorum-state is gone writes a new one
// at once, which says nothing of the votes before:
//
//  1. 1 has voted for 2 in epoch 5, and its file is lost. Its log ends in epoch 4.
//  2. It starts and saves epoch 4. It is stopped.
//  3. It starts again, with a file that names no vote. 3 asks for its vote in epoch 5.
//
// So the mark is durable before the first file that could be taken for the lost one, and
// goes when one is durable that makes up for it. A mark that was left behind by a kill, or
// from before another program followed a leader here, costs an election or two in which
// this node does not vote.
type votesMark struct {
	fs    vfs.FS
	name  string
	there bool
}

// readVotesMark looks for the mark. Whatever has its name is one.
func readVotesMark(fsys vfs.FS, dir string) (*votesMark, error) {
	m := &votesMark{fs: fsys, name: filepath.Join(dir, metarec.VotesLostFile)}
	var err error
	if m.there, err = vfs.Exists(fsys, m.name); err != nil {
		return nil, fmt.Errorf("looking whether votes were lost: %w", err)
	}
	return m, nil
}

// around saves an election state, with the mark on disk before it while votes are lost,
// and without it after it when they are not any more.
func (m *votesMark) around(lost bool, save func() error) error {
	if lost && !m.there {
		if err := vfs.WriteFileAtomic(m.fs, m.name, nil); err != nil {
			return fmt.Errorf("marking that votes were lost: %w", err)
		}
		m.there = true
	}
	if err := save(); err != nil {
		return err
	}
	if lost || !m.there {
		return nil
	}
	err := m.fs.Remove(m.name)
	if err == nil {
		err = m.fs.SyncDir(filepath.Dir(m.name))
	}
	if err != nil {
		return fmt.Errorf("removing the mark that votes were lost: %w", err)
	}
	m.there = false
	return nil
}
