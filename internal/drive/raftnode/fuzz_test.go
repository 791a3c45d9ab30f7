package raftnode

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch/batchtest"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/base/wire"
	"github.com/ottla/ottla/internal/core/raft"
)

// fuzzedKeys are the APIs that peers of a quorum use: Fetch, Vote,
// BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot, AddRaftVoter, RemoveRaftVoter,
// UpdateRaftVoter.
var fuzzedKeys = []int16{1, 52, 53, 54, 59, 80, 81, 82}

// quorumVersion picks an API and one of its versions.
func quorumVersion(keys []int16, pick uint8, version int16) (key, at int16) {
	key = keys[int(pick)%len(keys)]
	lowest, highest, _ := wire.Known(key)
	return key, lowest + version&0x7f%(highest-lowest+1)
}

var fuzzTranslator = translator{clusterID: "c", listener: "CONTROLLER"}

// quorumRequests are one request of each API, as we write it.
func quorumRequests() []kmsg.Request {
	w := fuzzTranslator
	peer := kafka.ReplicaKey{Node: 2, Dir: kafka.DirID{3}}
	return []kmsg.Request{
		w.askFetch(raft.FetchRequest{Replica: peer, Epoch: 5, Offset: 7, LastEpoch: 4, MaxBytes: 1 << 20}),
		w.askVote(raft.VoteRequest{Voter: peer, Candidate: peer, Epoch: 6, LastEpoch: 5, End: 9, PreVote: true}),
		w.askBegin(raft.BeginRequest{Voter: peer, Leader: 2, Epoch: 6, Endpoints: endpoints(9093)}),
		w.askEnd(raft.EndRequest{Leader: 2, Epoch: 6, Preferred: []kafka.ReplicaKey{peer}, Endpoints: endpoints(9093)}),
		w.askFetchSnapshot(raft.SnapshotRequest{Replica: peer, Epoch: 6, ID: raft.SnapshotID{EndOffset: 9, Epoch: 5}, MaxBytes: 1 << 20}),
		w.askAddVoter(raft.AddVoterRequest{Voter: peer, Endpoints: endpoints(9093)}),
		w.askRemoveVoter(raft.RemoveVoterRequest{Voter: peer}),
		w.askUpdateVoter(raft.UpdateVoterRequest{Voter: peer, Epoch: 6, Endpoints: endpoints(9093)}),
	}
}

// FuzzPeerRequest: whatever a peer asks is a question for the core or is
// refused, and both kinds of answer can be written and read.
func FuzzPeerRequest(f *testing.F) {
	for i, req := range quorumRequests() {
		lowest, highest, _ := wire.Known(req.Key())
		for version := lowest; version <= highest; version++ {
			req.SetVersion(version)
			f.Add(uint8(i), version-lowest, req.AppendTo(nil))
		}
	}
	hint := raft.Hint{Epoch: 7, Leader: 3, Endpoints: endpoints(9094)}
	f.Fuzz(func(t *testing.T, pick uint8, version int16, b []byte) {
		key, version := quorumVersion(fuzzedKeys, pick, version)
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		if memory, err := wire.RequestMemory(key, version, b); err != nil || memory > 1<<20 || req.ReadFrom(b) != nil {
			return
		}
		body, answer := fuzzTranslator.receive(req)
		if (body == nil) == (answer == nil) {
			t.Fatalf("%T is a question, %v, and refused, %v", req, body, answer)
		}
		if answer == nil {
			answer = respond(RequestInfo{Listener: "CONTROLLER"}, req, raft.Refuse(body, kerr.FencedLeaderEpoch, hint), nil)
		}
		again := kmsg.ResponseForKey(key)
		again.SetVersion(version)
		if err := again.ReadFrom(answer.AppendTo(nil)); err != nil {
			t.Errorf("the answer to %T version %d is not readable: %v", req, version, err)
		}
	})
}

// FuzzPeerAnswer: whatever a peer answers is something for the core, whose parts
// are in order, or an error.
func FuzzPeerAnswer(f *testing.F) {
	log, err := os.ReadFile("testdata/standalone-dynamic-quorum/00000000000000000000.log")
	if err != nil {
		f.Fatal(err)
	}
	hint := raft.Hint{Epoch: 7, Leader: 3, Endpoints: endpoints(9094)}
	bodies := []raft.Body{
		raft.FetchAnswer{Hint: hint, HighWatermark: 3, Diverging: &raft.EpochEnd{Epoch: 3, End: 5}, Snapshot: &raft.SnapshotID{EndOffset: 4, Epoch: 2}},
		raft.VoteAnswer{Hint: hint, Granted: true}, raft.BeginAnswer{Hint: hint}, raft.EndAnswer{Hint: hint},
		raft.SnapshotAnswer{Hint: hint, ID: raft.SnapshotID{EndOffset: 4, Epoch: 2}, Size: 100, Bytes: 3},
		raft.ChangeAnswer{}, raft.ChangeAnswer{}, raft.UpdateVoterAnswer{Hint: hint},
	}
	for i, req := range quorumRequests() {
		lowest, highest, _ := wire.Known(req.Key())
		for version := lowest; version <= highest; version++ {
			req.SetVersion(version)
			answer := respond(RequestInfo{Listener: "CONTROLLER"}, req, bodies[i], log[:1000])
			f.Add(uint8(i), version-lowest, answer.AppendTo(nil))
		}
	}
	keys := append(fuzzedKeys[:len(fuzzedKeys):len(fuzzedKeys)], 18) // ApiVersions tells what a new voter supports
	versions := kmsg.NewPtrApiVersionsResponse()
	feature := kmsg.NewApiVersionsResponseSupportedFeature()
	feature.Name, feature.MaxVersion = "kraft.version", 1
	versions.SupportedFeatures = append(versions.SupportedFeatures, feature)
	for version := range int16(5) {
		versions.SetVersion(version)
		f.Add(uint8(len(fuzzedKeys)), version, versions.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, pick uint8, version int16, b []byte) {
		key, version := quorumVersion(keys, pick, version)
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(version)
		if memory, err := wire.ResponseMemory(key, version, b); err != nil || memory > 1<<20 || resp.ReadFrom(b) != nil {
			return
		}
		body, raw, code := fuzzTranslator.readAnswer(resp)
		if (body == nil) == (code == kerr.None) || len(raw) > len(b) {
			t.Fatalf("%T is an answer, %v with %d bytes, and refused, %v", resp, body, len(raw), code)
		}
		if a, ok := body.(raft.FetchAnswer); ok && (a.Span.End < a.Span.Base || len(raw) > 0 && len(a.Span.Epochs) == 0) {
			t.Errorf("%d bytes are %+v", len(raw), a.Span)
		}
	})
}

// FuzzSnapshotName: a name stands for one snapshot.
func FuzzSnapshotName(f *testing.F) {
	f.Add("00000000000000000062-0000000001.checkpoint")
	f.Add("00000000000000000062-0000000001.checkpoint.part")
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := parseSnapshotName(name); ok && snapshotName(id) != name {
			t.Errorf("%q is %+v, whose name is %q", name, id, snapshotName(id))
		}
		if base := segmentBase(name); base < kafka.NoOffset {
			t.Errorf("%q begins at %d", name, base)
		}
	})
}

// fuzzBytes bounds what one execution reads.
const fuzzBytes = 8 << 10

// damagedLog is a fuzzed log or snapshot: as it is, or with the checksums of
// its batches made right, so that damage reaches what lies behind them.
func damagedLog(b []byte, sealed bool) []byte {
	b = b[:min(len(b), fuzzBytes)]
	if sealed {
		return batchtest.Resealed(b)
	}
	return b
}

// FuzzInspect: any bytes in a segment give an end and a place, never a panic or
// a large allocation.
func FuzzInspect(f *testing.F) {
	b, err := os.ReadFile("testdata/standalone-dynamic-quorum/00000000000000000000.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:2000], false)
	f.Add(b[:2000], true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		b = damagedLog(b, sealed)
		mem := vfs.NewMem()
		if err := mem.MkdirAll("/d", 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, mem, "/d/00000000000000000000.log", b)
		found, err := inspect(mem, "/d", math.MaxInt32)
		if err != nil || found.damage != nil && found.damage.pos > int64(len(b)) {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// FuzzSnapshot: any bytes give records or an error, never a panic or a large
// allocation.
func FuzzSnapshot(f *testing.F) {
	for _, name := range []string{"static-quorum/00000000000000000062-0000000001.checkpoint", "format/initial.checkpoint"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		b = damagedLog(b, sealed)
		r := &SnapshotReader{}
		err := r.walk(bytes.NewReader(b), func([][]byte, error) bool { return true })
		if errors.Is(err, io.EOF) && len(b) > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("end of file where there was something: %v", err)
		}
	})
}

// FuzzSpan: the batches a peer sends give a span that is in order.
func FuzzSpan(f *testing.F) {
	b, err := os.ReadFile("testdata/standalone-dynamic-quorum/00000000000000000000.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:2000], false)
	f.Add(b[:2000], true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		b = damagedLog(b, sealed)
		s, whole, _ := spanOf(b)
		if s.End < s.Base || len(whole) > len(b) || len(whole) > 0 && len(s.Epochs) == 0 {
			t.Errorf("%+v, %d bytes", s, len(whole))
		}
		if got := cutAt(whole, s.End); len(got) != len(whole) {
			t.Errorf("cut at its end, %d of %d bytes are left", len(got), len(whole))
		}
	})
}

// FuzzElection: any text is an election state or an error.
func FuzzElection(f *testing.F) {
	f.Add([]byte(`{"leaderId":-1,"leaderEpoch":5,"votedId":13,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAADQ","data_version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, _, err := parseElection(b)
		if err != nil {
			return
		}
		text, err := formatElection(e, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, _, err := parseElection(text); err != nil || again != e {
			t.Errorf("%+v is written as %s and read as %+v, %v", e, text, again, err)
		}
	})
}
