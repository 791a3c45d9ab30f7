package sim

import (
	"bytes"
	"encoding/json"
	"flag"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/quorumtrace"
)

var stepsFlag = flag.Int("steps", 20_000, "how many steps of simulated runs to hold against the protocol, at least")

// Whatever the simulator does, every step of every node is one that the protocol
// allows.
func TestSimulatedStepsAreOfTheProtocol(t *testing.T) {
	steps, seeds := 0, 0
	for ; steps < *stepsFlag; seeds++ {
		r := Run(uint64(1_000_000+seeds), nil)
		if r.Failure != nil {
			t.Fatalf("seed %d: %v", r.Plan.Seed, r.Failure)
		}
		steps += r.Checks[Protocol]
	}
	t.Logf("ledger: steps of %d simulated runs held against the abstract model | %d, all allowed", seeds, steps)
}

// A written run is of the protocol, as the run itself was.
func TestWrittenStepsAreOfTheProtocol(t *testing.T) {
	steps, seeds := 0, uint64(4)
	if raceDetector {
		seeds = 1
	}
	for seed := range seeds {
		var text bytes.Buffer
		r := RunTraced(seed, &text)
		sum, err := quorumtrace.Check(&text)
		if err != nil || r.Failure != nil {
			t.Fatalf("seed %d: %v, %v", seed, err, r.Failure)
		}
		if sum.Steps != r.Checks[Protocol] {
			t.Errorf("seed %d: %d steps are read of %d", seed, sum.Steps, r.Checks[Protocol])
		}
		steps += sum.Steps
	}
	t.Logf("%d steps", steps)
}

// lie changes a step; false when it is not one that can be changed so.
type lie struct {
	what string
	tell func(*abstract.Step) bool
}

func lies() []lie {
	answers := func(kind abstract.Kind, change func(*abstract.Message) bool) func(*abstract.Step) bool {
		return func(st *abstract.Step) bool {
			for i := range st.Sent {
				if st.Sent[i].Message.Kind == kind && change(&st.Sent[i].Message) {
					return true
				}
			}
			return false
		}
	}
	return []lie{
		{"the epoch is one more", func(st *abstract.Step) bool { st.Seen.Epoch++; return true }},
		{"the vote goes to another", func(st *abstract.Step) bool {
			st.Seen.Voted.Node += 10
			return st.Seen.Voted.Node >= 10
		}},
		{"the leader is another", func(st *abstract.Step) bool {
			st.Seen.Leader += 10
			return st.Seen.Leader >= 10
		}},
		{"a follower is a candidate", role(abstract.Follower, abstract.Candidate)},
		{"a candidate leads", role(abstract.Candidate, abstract.Leader)},
		{"a leader has resigned", role(abstract.Leader, abstract.Resigned)},
		{"the log is one longer", func(st *abstract.Step) bool { st.Seen.LogEnd++; return true }},
		{"the log is one shorter", func(st *abstract.Step) bool {
			st.Seen.LogEnd--
			return st.Event.Kind == abstract.FetchAnswer
		}},
		{"the last record is of an epoch before", func(st *abstract.Step) bool {
			st.Seen.LastEpoch--
			return st.Seen.LastEpoch > 0
		}},
		{"one more is committed", func(st *abstract.Step) bool {
			st.Seen.HighWatermark++
			return st.Seen.HighWatermark <= st.Seen.LogEnd
		}},
		{"one less is committed", func(st *abstract.Step) bool {
			st.Seen.HighWatermark--
			return st.Seen.HighWatermark > 0
		}},
		{"a voter is gone", func(st *abstract.Step) bool {
			if len(st.Seen.Voters) == 0 {
				return false
			}
			st.Seen.Voters = st.Seen.Voters[1:]
			return true
		}},
		// A round of its own may have been what it was refused for, or not (B4).
		{"a vote is granted that was refused", unless(abstract.Prospective, answers(abstract.VoteAnswer, func(m *abstract.Message) bool {
			was := m.Granted
			m.Granted = true
			return !was
		}))},
		{"a vote is not answered", func(st *abstract.Step) bool {
			st.Sent = nil
			return st.Event.Kind == abstract.VoteRequest
		}},
		{"a vote request tells of one record more", answers(abstract.VoteRequest, func(m *abstract.Message) bool { m.Offset++; return true })},
		{"a fetch promises one record more", answers(abstract.FetchRequest, func(m *abstract.Message) bool { m.Offset++; return true })},
		{"a fetch does not wait for the disk", func(st *abstract.Step) bool {
			for i := range st.Sent {
				if st.Sent[i].Held && st.Sent[i].Message.Kind == abstract.FetchRequest {
					st.Sent[i].Held = false
					return true
				}
			}
			return false
		}},
		{"a fetch is told one record more is committed", answers(abstract.FetchAnswer, func(m *abstract.Message) bool {
			m.HighWatermark++
			return st0(m)
		})},
		{"a diverging log is not told so", answers(abstract.FetchAnswer, func(m *abstract.Message) bool {
			was := m.Diverging
			m.Diverging = nil
			return was != nil
		})},
		{"a granted vote was not recorded", func(st *abstract.Step) bool {
			granted := len(st.Sent) > 0 && st.Sent[0].Message.Granted && !st.Event.Message.PreVote
			st.Seen.Voted = kafka.ReplicaKey{Node: kafka.NoNode}
			return st.Event.Kind == abstract.VoteRequest && granted
		}},
		{"nobody knows the event", func(st *abstract.Step) bool { st.Event.Kind = "gossip"; return true }},
		// Others may be entered anew, or be left again in one step, without a trace.
		{"a candidate or leader is left out", func(st *abstract.Step) bool {
			had := slices.Contains(st.Seen.Entered, abstract.Candidate) || slices.Contains(st.Seen.Entered, abstract.Leader)
			st.Seen.Entered = nil
			return had && st.Event.Kind != abstract.Start
		}},
	}
}

// st0: an answer without error.
func st0(m *abstract.Message) bool { return m.Code == 0 && m.HighWatermark > 0 }

// unless tells nothing about steps that end in a role.
func unless(is abstract.Role, tell func(*abstract.Step) bool) func(*abstract.Step) bool {
	return func(st *abstract.Step) bool { return st.Seen.Role != is && tell(st) }
}

func role(from, to abstract.Role) func(*abstract.Step) bool {
	return func(st *abstract.Step) bool {
		was := st.Seen.Role
		st.Seen.Role = to
		return was == from
	}
}

// Planted lies: one step of a run is told otherwise than it was, and the protocol
// does not allow that. Each is told at several places.
func TestTheProtocolAllowsNoLie(t *testing.T) {
	var runs [][]abstract.Step
	told, most := 0, 24
	if raceDetector {
		most = 1 // nothing here runs at once, and to write and read runs takes long
	}
	for _, l := range lies() {
		n := 0
		for i := 0; n < 6 && i < most; i++ {
			if i == len(runs) {
				runs = append(runs, written(t, uint64(i)))
			}
			n += tellLie(t, l, runs[i])
		}
		if n == 0 && !raceDetector {
			t.Errorf("no run has a step of which it can be said that %s", l.what)
		}
		told += n
	}
	t.Logf("%d lies of %d kinds about %d runs were found out", told, len(lies()), len(runs))
}

// written are the steps of a run, in order.
func written(t *testing.T, seed uint64) (steps []abstract.Step) {
	var text bytes.Buffer
	if r := RunTraced(seed, &text); r.Failure != nil {
		t.Fatal(r.Failure)
	}
	for in := json.NewDecoder(&text); in.More(); {
		var st abstract.Step
		if err := in.Decode(&st); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, st)
	}
	return steps
}

// tellLie tells a lie about up to three steps of a run, each for itself.
func tellLie(t *testing.T, l lie, run []abstract.Step) (told int) {
	for i := 0; i < len(run) && told < 3; i++ {
		lied := run[i]
		lied.Sent = slices.Clone(lied.Sent)
		if !l.tell(&lied) {
			continue
		}
		if !noticed(run, i, &lied) {
			t.Errorf("step %d: nobody notices that %s\nwas %+v\nis %+v", i+1, l.what, run[i], lied)
			return told
		}
		told++
		i += len(run) / 4
	}
	return told
}

// noticed tells whether the steps of a run are not of the protocol, with another
// one in the place of one of them.
func noticed(run []abstract.Step, place int, other *abstract.Step) bool {
	nodes := map[kafka.NodeID]*abstract.Tracker{}
	for i := range run {
		st := &run[i]
		if i == place {
			st = other
		}
		if nodes[st.Node] == nil {
			nodes[st.Node] = &abstract.Tracker{}
		}
		if nodes[st.Node].Step(st) != nil {
			return true
		}
	}
	return false
}
