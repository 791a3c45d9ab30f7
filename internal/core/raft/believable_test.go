package raft

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// "A stored epoch that leaves no room ends the start with a line."
func TestTheLastEpochEndsTheStart(t *testing.T) {
	f := func(st Stored) {
		t.Helper()
		cfg := Config{Self: kafka.ReplicaKey{Node: 1}, Static: five(), Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 1))}
		if _, _, err := New(0, cfg, st); err == nil || !strings.Contains(err.Error(), "2147483647") {
			t.Errorf("%+v: %v", st, err)
		}
	}
	last := NoElection()
	last.Epoch = lastEpoch
	f(Stored{Election: last})
	f(Stored{Election: NoElection(), LogEnd: 5, Epochs: []EpochStart{{lastEpoch, 0}}})
	f(Stored{Election: NoElection(), LogStart: 5, LogEnd: 5, Snapshots: []Snapshot{{ID: SnapshotID{5, lastEpoch}}}})
}

// Where epochs are far, peers that are a few ahead are believed: they have held
// elections meanwhile.
func TestFarEpochsAreReachedStepByStep(t *testing.T) {
	f := func(own, named kafka.Epoch, want bool) {
		t.Helper()
		if believable(&Core{election: Election{Epoch: own}}, named) != want {
			t.Errorf("in epoch %d, epoch %d is believed: %v", own, named, !want)
		}
	}
	f(0, farEpoch, true)
	f(0, farEpoch+1, false)
	f(farEpoch, farEpoch+1, true)
	f(farEpoch, farEpoch+stride+1, false)
	f(lastEpoch-1, lastEpoch, true)
	f(lastEpoch, 3, true)
}
