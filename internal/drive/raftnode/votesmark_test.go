package raftnode

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const votesMarkFile = metadataDir + "/" + metarec.VotesLostFile

// withoutVotes is a voter of three whose log ends in epoch 1 and whose quorum-state is
// gone, for good. It meets nobody but who asks for its vote.
func withoutVotes(t testing.TB, mem *vfs.Mem, fsys vfs.FS) Config {
	t.Helper()
	cfg := lone(mem, metadataDir)
	n := start(t, cfg)
	listen(n).awaitEnd(t, mustAppend(t, n, record(t, 1)))
	stop(t, n)
	remove(t, mem, metadataDir+"/"+quorumStateName)
	if err := mem.SyncDir(metadataDir); err != nil {
		t.Fatal(err)
	}
	cfg.FS = fsys
	for id := kafka.NodeID(2); id <= 3; id++ {
		cfg.Voters = cfg.Voters.With(raft.Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpoints(uint16(9092 + id))})
	}
	return cfg
}

// votesFor asks for a vote with a log that is long enough. There is none from a node
// whose disk fails, which closes died before it answers, or does not answer.
func votesFor(t *testing.T, n *Node, died <-chan struct{}, candidate kafka.NodeID, epoch kafka.Epoch) bool {
	t.Helper()
	got := make(chan bool, 1)
	req := again(aVote(n, func(r *kmsg.VoteRequest) {
		p := &r.Topics[0].Partitions[0]
		p.CandidateID, p.CandidateEpoch, p.PreVote = int32(candidate), int32(epoch), false
		p.LastOffsetEpoch, p.LastOffset = int32(epoch-1), 1000
	}), 2)
	n.Handle(context.Background(), RequestInfo{Listener: "CONTROLLER"}, req, func(r kmsg.Response) {
		vote := r.(*kmsg.VoteResponse)
		got <- len(vote.Topics) > 0 && vote.Topics[0].Partitions[0].VoteGranted
	})
	select {
	case granted := <-got:
		return granted
	case <-died:
		leaveAnyway(n) // answers whoever waits
		return <-got
	case <-time.After(patience):
		t.Fatalf("node %d does not answer a vote of epoch %d", n.cfg.Self.Node, epoch)
		return false
	}
}

// dies has a channel closed when a node fails.
func (c *Config) dies() <-chan struct{} {
	died := make(chan struct{})
	c.Fatal = func(error) { close(died) }
	return died
}

// lost-folder.md: "votes for nobody in the epoch it has and in the next one that it
// comes to", however often it is started before that.
func TestLostVotesStayLostOverStarts(t *testing.T) {
	mem := vfs.NewMem()
	cfg := withoutVotes(t, mem, mem)
	var n *Node
	f := func(what string, starts bool, candidate kafka.NodeID, epoch kafka.Epoch, votes, marked bool) {
		t.Helper()
		if starts {
			if n != nil {
				leave(t, n)
			}
			n = start(t, cfg)
		}
		if got := votesFor(t, n, nil, candidate, epoch); got != votes {
			t.Errorf("%s: votes for %d in epoch %d: %t", what, candidate, epoch, got)
		}
		if there, err := vfs.Exists(mem, votesMarkFile); there != marked || err != nil {
			t.Errorf("%s: the mark is there: %t, %v", what, there, err)
		}
	}
	f("in the epoch of its log", true, 2, 1, false, true)
	f("in the next one, after a second start", true, 2, 2, false, true)
	f("in the same, after a third", true, 3, 2, false, true)
	f("in the one after, which is the first that it meets", false, 3, 3, false, true)
	f("in the one after that", false, 3, 4, true, false)
	f("in that one for another, after a start", true, 2, 4, false, false)
	f("and it is a voter like any other", false, 2, 5, true, false)
	leave(t, n)
}

// An only voter has nobody to wait for. It takes an epoch in which it cannot have led,
// and leaves no mark.
func TestAnOnlyVoterLeadsWithoutItsVotes(t *testing.T) {
	mem := vfs.NewMem()
	cfg := withoutVotes(t, mem, mem)
	cfg.Voters = lone(mem, metadataDir).Voters
	n := start(t, cfg)
	if v := n.View(); v.Epoch != 3 || v.Leader != 1 {
		t.Errorf("node %d leads epoch %d", v.Leader, v.Epoch)
	}
	if there, err := vfs.Exists(mem, votesMarkFile); there || err != nil {
		t.Errorf("the mark is there: %t, %v", there, err)
	}
	stop(t, n)
}

// A mark that cannot be looked for, written or removed never becomes a vote.
func TestAMarkThatFailsIsNoVote(t *testing.T) {
	mem := vfs.NewMem()
	disk := vfs.NewFault(mem)
	cfg := withoutVotes(t, mem, disk)
	refuses := func(what string, ops vfs.Op, path string) {
		t.Helper()
		disk.Inject(vfs.Rule{Ops: ops, Path: path, Err: vfs.ErrIO, Only: 1})
		if n, err := Start(t.Context(), cfg); !errors.Is(err, vfs.ErrIO) {
			t.Errorf("%s: it starts: %v", what, err)
			if err == nil {
				leaveAnyway(n)
			}
		}
		if there, err := vfs.Exists(mem, metadataDir+"/"+quorumStateName); there || err != nil {
			t.Errorf("%s: there is an election state without a mark: %t, %v", what, there, err)
		}
	}
	refuses("a look", vfs.OpRead, metarec.VotesLostFile)
	refuses("a new file", vfs.OpCreate, metarec.VotesLostFile)
	refuses("its sync", vfs.OpSync, metarec.VotesLostFile)
	refuses("its name", vfs.OpRename, metarec.VotesLostFile)
	refuses("the folder's sync", vfs.OpSyncDir, filepath.Base(metadataDir))

	for _, ops := range []vfs.Op{vfs.OpRemove, vfs.OpSyncDir} {
		died := cfg.dies()
		n := start(t, cfg)
		first := n.View().Epoch + 1
		if votesFor(t, n, died, 2, first) {
			t.Error("it votes in the first epoch that it meets")
		}
		rule := vfs.Rule{Ops: ops, Path: metarec.VotesLostFile, Err: vfs.ErrIO, Only: 1}
		if ops == vfs.OpSyncDir { // the first is that of the election state
			rule.Path, rule.Skip = filepath.Base(metadataDir), 1
		}
		disk.Inject(rule)
		if votesFor(t, n, died, 2, first+1) {
			t.Errorf("a vote is given although its mark stays, %v", ops)
		}
		<-died
		leaveAnyway(n)
		died = cfg.dies()
		n = start(t, cfg)
		if votesFor(t, n, died, 3, first+1) || !votesFor(t, n, died, 2, first+1) {
			t.Error("the vote that was saved does not hold")
		}
		leaveAnyway(n)
		write(t, mem, votesMarkFile, nil)
	}
}

// Whatever has the name of the mark is one, and Apache Kafka's own program leaves it
// alone: it may be there beside an election state of a later epoch.
func TestAMarkOfAnyKindCounts(t *testing.T) {
	f := func(what string, removable bool, mark func(mem *vfs.Mem) error) {
		t.Helper()
		mem := vfs.NewMem()
		cfg := withoutVotes(t, mem, mem)
		e := raft.Election{Epoch: 7, Leader: kafka.NoNode, Voted: raft.NoVote}
		if err := errors.Join(saveElection(mem, metadataDir, e, 0, nil), mark(mem)); err != nil {
			t.Fatal(err)
		}
		died := cfg.dies()
		n := start(t, cfg)
		if votesFor(t, n, died, 2, 7) || votesFor(t, n, died, 2, 8) {
			t.Errorf("%s: it votes", what)
		}
		if got := votesFor(t, n, died, 2, 9); got != removable {
			t.Errorf("%s: it votes later on: %t", what, got)
		}
		leaveAnyway(n)
	}
	f("a file", true, func(mem *vfs.Mem) error { return vfs.WriteFileAtomic(mem, votesMarkFile, nil) })
	f("with content", true, func(mem *vfs.Mem) error { return vfs.WriteFileAtomic(mem, votesMarkFile, []byte("\x00\xff7")) })
	f("a folder that is not empty", false, func(mem *vfs.Mem) error { return mem.MkdirAll(votesMarkFile+"/x", 0o755) })
}

// tellForgetful: what a voter without its election state refuses, and what it grants
// later on, holds over a crash. In the end it votes again.
func tellForgetful(t *testing.T, d *persistDisk) func(left *vfs.Mem) error {
	cfg := withoutVotes(t, d.Mem, d)
	granted := map[kafka.Epoch]bool{} // for 2
	for _, epochs := range [][]kafka.Epoch{{2}, {2, 3}, {3, 4, 5}, {6}} {
		died := cfg.dies()
		n, err := Start(context.Background(), cfg)
		if err != nil {
			break
		}
		for _, epoch := range epochs {
			if votesFor(t, n, died, 2, epoch) {
				granted[epoch] = true
			}
		}
		leaveAnyway(n)
	}
	return func(left *vfs.Mem) error {
		cfg.FS = left
		died := cfg.dies()
		n, err := Start(context.Background(), cfg)
		if err != nil {
			return err
		}
		defer leaveAnyway(n)
		if granted[2] {
			return errors.New("it votes in the next epoch after that of its log")
		}
		votes := false
		for epoch := kafka.Epoch(1); epoch <= 9; epoch++ {
			if votes = votesFor(t, n, died, 3, epoch); votes && (epoch < 3 || granted[epoch]) {
				return fmt.Errorf("it votes again in epoch %d", epoch)
			}
		}
		if !votes {
			return errors.New("it does not vote any more")
		}
		return nil
	}
}
