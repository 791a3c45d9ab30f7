package quorumtrace

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// alone writes the first steps of a quorum of one.
func alone(t testing.TB, to io.Writer) {
	t.Helper()
	self := kafka.ReplicaKey{Node: 1, Dir: kafka.DirID{15: 1}}
	at := raft.Endpoints{{Name: "CONTROLLER", Host: "h", Port: 9}}
	cfg := raft.Config{
		Self: self, Controller: true, Endpoints: at, Listener: "CONTROLLER", Timing: raft.DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 2)),
		Static: raft.NewVoters(raft.Voter{Key: kafka.ReplicaKey{Node: 1}, Endpoints: at}),
	}
	found := raft.Stored{Election: raft.NoElection()}
	core, effects, err := raft.New(0, cfg, found)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(to)
	w.Started(cfg, found, core.State(), effects)
	for i, ev := range []raft.Event{
		raft.Synced{Seq: 1, End: 1}, raft.Propose{Ticket: 1, Epoch: 1, Count: 2}, raft.Written{Seq: 2, End: 3}, raft.Synced{Seq: 2, End: 3},
	} {
		effects := core.Step(kafka.Instant(i), ev)
		w.Stepped(ev, core.State(), effects)
	}
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
}

func text(t testing.TB) string {
	var b bytes.Buffer
	alone(t, &b)
	return b.String()
}

func TestCheckReadsWhatIsWritten(t *testing.T) {
	sum, err := Check(strings.NewReader(text(t)))
	if want := (Summary{Steps: 5, Lives: 1, Leading: 1}); err != nil || sum != want {
		t.Errorf("%+v, %v; want %+v", sum, err, want)
	}
}

// A killed process leaves a beginning of a line; the next one begins on a line of
// its own. Anywhere else such a line is an error.
func TestTornLines(t *testing.T) {
	whole := text(t)
	torn := whole[:len(whole)-20]
	if sum, err := Check(strings.NewReader(torn)); err != nil || sum.Torn != 1 || sum.Steps != 4 {
		t.Errorf("a torn end: %+v, %v", sum, err)
	}
	lines := strings.SplitAfter(strings.TrimPrefix(whole, "\n"), "\n")
	if _, err := Check(strings.NewReader(lines[0] + lines[1][:20] + "\n" + lines[2])); err == nil {
		t.Error("a torn line in the middle of a life is taken")
	}
}

func TestCheckNamesTheStep(t *testing.T) {
	lines := strings.SplitAfter(text(t), "\n")
	lines[4] = strings.Replace(lines[4], `"HighWatermark":1`, `"HighWatermark":3`, 1)
	_, err := Check(strings.NewReader(strings.Join(lines, "")))
	if err == nil || !strings.HasPrefix(err.Error(), "line 5: node 1: ") || !strings.Contains(err.Error(), "allowed: leader") {
		t.Errorf("%v", err)
	}
}

type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// A file that takes no more ends the writing, and the node goes on.
func TestAFullFileEndsTheWriting(t *testing.T) {
	w := NewWriter(&full{room: 3})
	w.Stepped(raft.Passed{}, raft.State{}, raft.Effects{})
	first := w.Err()
	w.Stepped(raft.Passed{}, raft.State{}, raft.Effects{})
	if first == nil || w.Err() != first {
		t.Errorf("%v, then %v", first, w.Err())
	}
}

// Whatever stands in a file, reading it ends, and does not end the process.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(text(f)))
	f.Add([]byte(`{"Node":1,"Event":{"Kind":"start"}}`))
	f.Add([]byte(`{"Node":1,"Event":{"Kind":"start","Disk":{"Snapshots":[{"End":-1,"Epoch":3}],"Sets":[{"Offset":-1}]}},"Seen":{"Role":"unattached"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		sum, err := Check(bytes.NewReader(raw))
		if err == nil && sum.Steps > bytes.Count(raw, []byte("\n"))+1 {
			t.Errorf("%d steps", sum.Steps)
		}
	})
}
