package sim

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// digest is 128 bits over everything that happens. It takes numbers and not text:
// to write down what nobody reads would take most of the time of a run. It is no
// defence against anybody who looks for two stories with one digest.
type digest struct{ a, b uint64 }

func newDigest() digest { return digest{0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f} }

// add mixes a number in.
func (d *digest) add(x uint64) {
	hi, lo := bits.Mul64(d.a^x, 0xff51afd7ed558ccd)
	d.a = hi ^ lo ^ d.b
	d.b = bits.RotateLeft64(d.b+x, 29)*0xc4ceb9fe1a85ec53 + 1
}

func (d *digest) addInt(x int64) { d.add(uint64(x)) }

func (d *digest) addText(s string) {
	d.add(uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		d.add(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	for i := range len(s) {
		d.add(uint64(s[i]))
	}
}

// addAny mixes in what a line of the story is about; what has no case is mixed in
// as it is printed.
func (d *digest) addAny(x any) {
	switch x := x.(type) {
	case int:
		d.addInt(int64(x))
	case int64:
		d.addInt(x)
	case uint64:
		d.add(x)
	case kafka.NodeID:
		d.addInt(int64(x))
	case kafka.Epoch:
		d.addInt(int64(x))
	case kafka.Offset:
		d.addInt(int64(x))
	case raft.Seq:
		d.add(uint64(x))
	case time.Duration:
		d.addInt(int64(x))
	case kerr.Code:
		d.addInt(int64(x))
	case string:
		d.addText(x)
	case raft.Role:
		d.addText(string(x))
	case elected:
		d.addInt(int64(x.Epoch)<<32 | int64(uint32(x.Leader)))
		d.addKey(x.Voted)
	default:
		d.addText(fmt.Sprint(x))
	}
}

func (d *digest) addKey(k kafka.ReplicaKey) {
	d.addInt(int64(k.Node))
	d.add(uint64(k.Dir[13])<<16 | uint64(k.Dir[14])<<8 | uint64(k.Dir[15]))
}

func (d *digest) addHint(h raft.Hint, code kerr.Code) {
	d.addInt(int64(h.Epoch)<<32 | int64(uint32(h.Leader)))
	d.addInt(int64(len(h.Endpoints))<<16 | int64(uint16(code)))
}

// addBody mixes a message in.
func (d *digest) addBody(body raft.Body) {
	switch b := body.(type) {
	case raft.VoteRequest:
		d.addText("Vote")
		d.addKey(b.Candidate)
		d.addKey(b.Voter)
		d.addInt(int64(b.Epoch)<<32 | int64(b.LastEpoch))
		d.addInt(int64(b.End)<<1 | int64(bit(b.PreVote)))
	case raft.VoteAnswer:
		d.addText("Voted")
		d.addHint(b.Hint, b.Err)
		d.addInt(int64(bit(b.Granted)))
	case raft.BeginRequest:
		d.addText("Begin")
		d.addKey(b.Voter)
		d.addInt(int64(b.Epoch)<<32 | int64(uint32(b.Leader)))
	case raft.BeginAnswer:
		d.addText("Begun")
		d.addHint(b.Hint, b.Err)
	case raft.EndRequest:
		d.addText("End")
		d.addInt(int64(b.Epoch)<<32 | int64(uint32(b.Leader)))
		for _, p := range b.Preferred {
			d.addKey(p)
		}
	case raft.EndAnswer:
		d.addText("Ended")
		d.addHint(b.Hint, b.Err)
	case raft.FetchRequest:
		d.addText("Fetch")
		d.addKey(b.Replica)
		d.addInt(int64(b.Epoch)<<32 | int64(b.LastEpoch))
		d.addInt(int64(b.Offset))
		d.addInt(int64(b.HighWatermark))
		d.addInt(int64(b.MaxWait))
	case raft.FetchAnswer:
		d.addFetched(b)
	case raft.SnapshotRequest:
		d.addText("FetchSnapshot")
		d.addKey(b.Replica)
		d.addInt(int64(b.Epoch)<<32 | int64(b.ID.Epoch))
		d.addInt(int64(b.ID.EndOffset))
		d.addInt(b.Position)
	case raft.SnapshotAnswer:
		d.addText("FetchedSnapshot")
		d.addHint(b.Hint, b.Err)
		d.addInt(b.Position)
		d.addInt(int64(b.Bytes))
	default:
		d.addText(fmt.Sprintf("%T%v", body, body))
	}
}

func (d *digest) addFetched(a raft.FetchAnswer) {
	d.addText("Fetched")
	d.addHint(a.Hint, a.Err)
	d.addInt(int64(a.HighWatermark))
	d.addInt(int64(a.LogStart))
	d.addInt(int64(a.Span.Base))
	d.addInt(int64(a.Span.End))
	if e := a.Diverging; e != nil {
		d.addInt(int64(e.Epoch))
		d.addInt(int64(e.End))
	}
	if s := a.Snapshot; s != nil {
		d.addInt(int64(s.Epoch))
		d.addInt(int64(s.EndOffset))
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// String is the digest in hex.
func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.a, d.b) }
