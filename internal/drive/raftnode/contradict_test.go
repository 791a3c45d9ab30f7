package raftnode

import (
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// threeEpochs is a disk with a log of the epochs 1, 2 and 3, some batches each, of
// whose durable end as little is saved as a loss of power leaves.
func threeEpochs(t testing.TB, controller bool) (*vfs.Mem, Config) {
	t.Helper()
	mem := vfs.NewMem()
	cfg := lone(mem, metadataDir)
	for i := range 3 {
		n := start(t, cfg)
		e := listen(n)
		for k := range 4 {
			e.awaitEnd(t, mustAppend(t, n, record(t, 4*i+k)))
		}
		stop(t, n)
	}
	cfg.Controller = controller
	lag(t, mem, 1)
	remove(t, mem, markFile)
	return mem, cfg
}

// positions are those of the batches of a log.
func positions(b []byte) (at []int) {
	pos := 0
	for _, one := range batch.All(b) {
		at = append(at, pos)
		pos += len(one)
	}
	return at
}

// verification.md V5: "The batch checksum does not cover base offset, length,
// leader epoch and magic: offset continuity, epoch order and a side checksum must."
// Each bit of each of these fields is flipped, in each batch. Either the start
// says where the damage is, or, where it may be a torn end, it is cut; an epoch that
// was changed is never believed.
func TestNoFlippedBitOutsideTheChecksumIsBelieved(t *testing.T) {
	mem, _ := threeEpochs(t, true)
	log := segments(t, mem)[0]
	whole := bytesOf(t, mem, log)
	all := positions(whole)
	election := bytesOf(t, mem, metadataDir+"/"+quorumStateName)
	noted := bytesOf(t, mem, metadataDir+"/leader-epoch-checkpoint")
	believed := 0
	for i, pos := range all {
		for bit := range 17 * 8 { // base offset, length, leader epoch, magic
			b := slices.Clone(whole)
			b[pos+bit/8] ^= 1 << (bit % 8)
			disk := vfs.NewMem()
			if err := disk.MkdirAll(metadataDir, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, disk, log, b)
			write(t, disk, metadataDir+"/"+quorumStateName, election)
			write(t, disk, metadataDir+"/leader-epoch-checkpoint", noted)
			o, err := openDir(lone(disk, metadataDir).withDefaults())
			if err != nil {
				if !strings.Contains(err.Error(), metadataDir+"/") || !strings.Contains(err.Error(), "offset") || !strings.Contains(err.Error(), "add-controller") {
					t.Errorf("batch %d, bit %d: %v", i, bit, err)
				}
				continue
			}
			inEpoch := bit/8 >= 12 && bit/8 < 16
			if inEpoch {
				believed++
				t.Errorf("batch %d, bit %d of the epoch: the epochs are %v", i, bit-12*8, o.stored.Epochs)
			}
			if cut := o.stored.LogEnd; !inEpoch && cut > kafka.Offset(i) {
				// What comes before the damage is what it was.
				if got := bytesOf(t, disk, log); !slices.Equal(got, whole[:len(got)]) {
					t.Errorf("batch %d, bit %d: the log is another", i, bit)
				}
			}
			if err := o.log.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The election state of an epoch is durable before there is a record of it.
func TestALogAheadOfItsElectionStateDoesNotStart(t *testing.T) {
	f := func(epoch kafka.Epoch, lost, starts bool) {
		t.Helper()
		mem, cfg := threeEpochs(t, true)
		var err error
		if lost {
			err = mem.Remove(metadataDir + "/" + quorumStateName)
		} else {
			err = saveElection(mem, metadataDir, raft.Election{Epoch: epoch, Leader: kafka.NoNode, Voted: raft.NoVote}, 0, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		o, err := openDir(cfg.withDefaults())
		if err == nil {
			err = o.log.Close()
		}
		if (err == nil) != starts || !starts && !strings.Contains(err.Error(), quorumStateName) {
			t.Errorf("quorum-state of epoch %d, gone %v: %v", epoch, lost, err)
		}
	}
	f(0, false, false)
	f(1, false, false)
	f(2, false, false)
	f(3, false, true)
	f(9, false, true)
	f(0, true, true) // whom it voted for is not known, see lostVotes
}

// leader-epoch-checkpoint may lag behind the log, or name what was cut away.
func TestTheEpochFileMayLag(t *testing.T) {
	f := func(what, text string, starts bool) {
		t.Helper()
		mem, cfg := threeEpochs(t, true)
		write(t, mem, metadataDir+"/leader-epoch-checkpoint", []byte(text))
		o, err := openDir(cfg.withDefaults())
		if err == nil {
			err = o.log.Close()
		}
		if (err == nil) != starts || !starts && !strings.Contains(err.Error(), "leader-epoch-checkpoint") {
			t.Errorf("%s: %v", what, err)
		}
	}
	mem, _ := threeEpochs(t, true)
	right := string(bytesOf(t, mem, metadataDir+"/leader-epoch-checkpoint"))
	if !strings.HasPrefix(right, "0\n3\n1 0\n") {
		t.Fatalf("%q", right)
	}
	lines := strings.Split(right, "\n")
	f("as it is", right, true)
	f("two epochs behind", "0\n1\n1 0\n", true)
	f("an epoch that was cut away", "0\n4\n"+strings.Join(lines[2:5], "\n")+"\n4 999\n", true)
	f("damaged", "0\n9\n1 0\n", true)
	f("empty", "", true)
	f("another start of an epoch", "0\n3\n1 0\n2 2\n"+lines[4]+"\n", false)
}

// A peer's batches are held against each other as those on our disk are.
func TestASpanEndsBeforeAnEpochThatFalls(t *testing.T) {
	mem, _ := threeEpochs(t, true)
	whole := bytesOf(t, mem, segments(t, mem)[0])
	all := positions(whole)
	middle := all[len(all)/2]
	batch.SetLeaderEpoch(whole[middle:], 7)
	span, good, err := spanOf(whole)
	if err == nil || len(good) <= middle || len(span.Epochs) == 0 || span.Epochs[len(span.Epochs)-1].Epoch != 7 {
		t.Errorf("%v, %d bytes, %v", span, len(good), err)
	}
	if _, good, err := spanOf(whole[:all[len(all)/2+1]]); err != nil || len(good) != all[len(all)/2+1] {
		t.Errorf("%d bytes, %v", len(good), err) // the core cuts at its leader's epoch
	}
}
