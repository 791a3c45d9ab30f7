package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// quorumStateName is the file of the election state: one line of JSON.
const quorumStateName = "quorum-state"

// maxQuorumState bounds the file; it holds a few numbers and, in version 0,
// the ids of the voters.
const maxQuorumState = 1 << 20

// loadElection reads the election state. exists is false when there is no
// file; one that cannot be read is an error, never an empty state (KAFKA-15412).
// level is that of kraft.version that the form of the file stands for; where there is
// none it is 1, whose form says more.
func loadElection(fsys vfs.FS, dir string) (e raft.Election, level int16, exists bool, err error) {
	name := filepath.Join(dir, quorumStateName)
	text, err := vfs.ReadFile(fsys, name, maxQuorumState)
	if errors.Is(err, fs.ErrNotExist) {
		return raft.NoElection(), 1, false, nil
	}
	if err != nil {
		return raft.Election{}, 0, false, fmt.Errorf("reading election state: %w", err)
	}
	e, level, err = parseElection(text)
	if err != nil {
		return raft.Election{}, 0, false, fmt.Errorf("%s: %w", name, err)
	}
	return e, level, true, nil
}

func parseElection(text []byte) (raft.Election, int16, error) {
	state, version, err := metarec.ReadQuorumState(text)
	if err != nil {
		return raft.Election{}, 0, err
	}
	if state.LeaderEpoch < 0 {
		return raft.Election{}, 0, fmt.Errorf("leaderEpoch is %d", state.LeaderEpoch)
	}
	e := raft.Election{Epoch: kafka.Epoch(state.LeaderEpoch), Leader: kafka.NodeID(state.LeaderId), Voted: raft.NoVote}
	if state.VotedId >= 0 {
		e.Voted = kafka.ReplicaKey{Node: kafka.NodeID(state.VotedId), Dir: state.VotedDirectoryId}
	}
	return e, version, nil
}

// formatElection writes version 0 while kraft.version is 0, else version 1.
func formatElection(e raft.Election, level int16, voters raft.Voters) ([]byte, error) {
	state := metarec.NewQuorumStateData()
	state.LeaderId, state.LeaderEpoch = int32(e.Leader), int32(e.Epoch)
	state.VotedId, state.VotedDirectoryId = int32(e.Voted.Node), e.Voted.Dir
	version := int16(1)
	if level < 1 {
		version, state.VotedDirectoryId = 0, kafka.UUID{}
		state.CurrentVoters = make([]metarec.QuorumStateDataVoter, 0, len(voters))
		for _, v := range voters {
			state.CurrentVoters = append(state.CurrentVoters, metarec.QuorumStateDataVoter{VoterId: int32(v.Key.Node)})
		}
	}
	return metarec.AppendQuorumState(nil, state, version)
}

// saveElection returns when the state is durable.
func saveElection(fsys vfs.FS, dir string, e raft.Election, level int16, voters raft.Voters) error {
	text, err := formatElection(e, level, voters)
	if err == nil {
		err = vfs.WriteFileAtomic(fsys, filepath.Join(dir, quorumStateName), text)
	}
	if err != nil {
		return fmt.Errorf("saving election state of epoch %d: %w", e.Epoch, err)
	}
	return nil
}
