package raftnode

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// P6 of docs/kip-996.md: Vote carries PreVote in the form in which Apache Kafka
// shipped it: a bool at the end of the partition, from version 2 on. The other
// statements are tested in package raft.
func TestKIP996_P6(t *testing.T) {
	w := translator{clusterID: "AAAAAAAAAAAAAAAAAAAAAg", listener: "CONTROLLER"}
	ask := raft.VoteRequest{
		Voter:     kafka.ReplicaKey{Node: 13, Dir: kafka.DirID{15: 0x15}},
		Candidate: kafka.ReplicaKey{Node: 14, Dir: kafka.DirID{15: 0x0b}},
		Epoch:     5, LastEpoch: 4, End: 1234567, PreVote: true,
	}
	before := "17" + hex.EncodeToString([]byte(w.clusterID)) + "0000000d" + "02" +
		"13" + hex.EncodeToString([]byte("__cluster_metadata")) + "02" + "00000000" + // index
		"00000005" + "0000000e" + strings.Repeat("00", 15) + "0b" + strings.Repeat("00", 15) + "15" + // epoch, who, directories
		"00000004" + "000000000012d687" // last epoch, end
	for preVote, flag := range map[bool]string{true: "01", false: "00"} {
		ask.PreVote = preVote
		req := w.askVote(ask)
		req.SetVersion(2)
		if got, want := hex.EncodeToString(req.AppendTo(nil)), before+flag+"00"+"00"+"00"; got != want {
			t.Errorf("version 2 with PreVote=%v is\n%s, not\n%s", preVote, got, want)
		}
		if body, _ := w.receiveVote(again(req, 2).(*kmsg.VoteRequest)); body != raft.Body(ask) {
			t.Errorf("version 2 arrives as %+v, not %+v", body, ask)
		}
	}
	// Below version 2 there is no place for it: what arrives is a vote. So it must
	// not be sent there (P9).
	ask.PreVote = true
	body, _ := w.receiveVote(again(w.askVote(ask), 1).(*kmsg.VoteRequest))
	if body.(raft.VoteRequest).PreVote {
		t.Error("version 1 carries a pre-vote")
	}
}
