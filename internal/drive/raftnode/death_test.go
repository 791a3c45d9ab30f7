package raftnode

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Proof of a leader's death is told to who leads a later epoch, and not for long.
func TestProofOfDeathIsToldForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{}
		f := func(epoch kafka.Epoch, want kafka.NodeID) {
			t.Helper()
			got, ok := n.Bereaved(epoch)
			if got != want || ok != (want != kafka.NoNode) {
				t.Errorf("bereaved of %d in epoch %d: %d %v", want, epoch, got, ok)
			}
		}
		f(8, kafka.NoNode)
		n.mourned.Store(&proof{leader: 2, epoch: 7, at: time.Now()})
		f(7, kafka.NoNode) // it led that one
		f(8, 2)
		f(9, 2) // after a split vote
		time.Sleep(proofLasts + 1)
		f(8, kafka.NoNode)
	})
}
