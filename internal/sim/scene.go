package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// Scene is a story told on purpose: nothing goes wrong in it but what its script
// says. The seed draws who it happens to, how long messages take and when. The
// rules of the quorum are checked after every event, and the epochs are counted.
type Scene struct {
	Name   string // without spaces
	What   string
	Voters int
	Others int // observers
	// Dynamic has the voters in the log (kraft.version 1).
	Dynamic bool
	// Prepare changes the nodes before they start; nil changes nothing.
	Prepare func(s *Stage)
	// Alone is a voter that has never met the others when the script begins; 0
	// for none.
	Alone kafka.NodeID
	// Play is the script. It begins when all voters follow one leader.
	Play func(s *Stage)
	// Least and Most are how many epochs it may cost.
	Least, Most kafka.Epoch
	// Mostly: in all but one seed of a hundred it costs the least.
	Mostly bool
	// Epochless scenes are about something else than epochs.
	Epochless bool
}

// Stage is what a script acts on. Its methods let simulated time pass.
type Stage struct {
	w *World
	// late says how much longer an answer takes; nil: no longer.
	late    func(from *node, body raft.Body) time.Duration
	begun   kafka.Epoch   // the epoch when the script began
	measure time.Duration // what the scene measured, if anything
	stuck   bool          // the script waited in vain
}

// Told is what came of a scene.
type Told struct {
	Result
	Epochs  kafka.Epoch   // that it cost
	Measure time.Duration // what the scene measured, if anything
	Stuck   bool          // something that it waited for did not come
}

// PlayScene plays a scene as a seed has it.
func PlayScene(sc Scene, seed uint64, to io.Writer) Told {
	w := newWorld(scenePlan(sc, seed), to)
	s := &Stage{w: w}
	w.stage, w.chaos = s, false
	w.note("-- scene %s: %s", sc.Name, sc.What)
	s.guarded(func() { s.play(sc) })
	told := Told{Measure: s.measure, Stuck: s.stuck, Epochs: s.highest() - s.begun}
	if w.failure == nil && !sc.Epochless && (told.Epochs < sc.Least || told.Epochs > sc.Most) {
		w.fail(Costs, "scene %s cost %d epochs, not %d to %d", sc.Name, told.Epochs, sc.Least, sc.Most)
	}
	if w.failure != nil {
		w.note("FAILED %v", w.failure)
	}
	told.Result = w.result()
	return told
}

func scenePlan(sc Scene, seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x7363656e65))
	p := Plan{
		Seed: seed, Voters: sc.Voters, Observers: sc.Others, Dynamic: sc.Dynamic, Timing: raft.DefaultTiming(),
		ProposeEvery: time.Duration(20+r.IntN(300)) * time.Millisecond, Batches: 100,
		Far: time.Duration(r.IntN(9)) * time.Millisecond,
	}
	for range sc.Voters + sc.Others {
		p.Speed = append(p.Speed, 1000)
	}
	return p
}

// guarded makes a broken assertion of the core a failure of the run.
func (s *Stage) guarded(play func()) {
	defer func() {
		switch broken := recover().(type) {
		case nil:
		case invariant.Broken:
			s.w.fail(Assertion, "%s", broken.Text)
		default:
			panic(broken)
		}
	}()
	play()
}

func (s *Stage) play(sc Scene) {
	if sc.Prepare != nil {
		sc.Prepare(s)
	}
	for _, n := range s.w.nodes[:sc.Voters] {
		n.boot()
	}
	s.w.work.next(s.w)
	met := s.w.nodes[:sc.Voters]
	if sc.Alone != 0 {
		s.cut(s.w.node(sc.Alone), s.w.nodes...)
		met = s.without(s.w.node(sc.Alone))
	}
	s.agree(met)
	s.live(s.upTo(3 * time.Second))
	s.begun = s.highest()
	sc.Play(s)
}

// live lets time pass.
func (s *Stage) live(d time.Duration) { s.until(d, func() bool { return false }) }

// until lets time pass until something holds, or a limit is over; false then.
func (s *Stage) until(limit time.Duration, ok func() bool) bool {
	w := s.w
	end := w.now.Add(limit)
	for w.failure == nil && !w.queue.empty() && w.queue.all[0].at <= end {
		w.turn(w.queue.take())
		if ok() {
			return true
		}
	}
	w.now = max(w.now, end)
	return ok()
}

// patience is how long a script waits for what has to come.
const patience = 60 * time.Second

// wait lets time pass until something holds; if it never does the scene fails.
func (s *Stage) wait(what string, ok func() bool) {
	if !s.until(patience, ok) && s.w.failure == nil {
		s.w.fail(Stuck, "%s: not within %v", what, patience)
	}
}

// agree waits until one of these nodes leads, and all follow it.
func (s *Stage) agree(nodes []*node) {
	s.wait("an agreement", func() bool { return s.agreed(nodes) })
}

func (s *Stage) agreed(nodes []*node) bool {
	var leader *node
	for _, n := range nodes {
		if n.up && n.role == raft.RoleLeader && n.state.HighWatermark >= 0 {
			leader = n
		}
	}
	for _, n := range nodes {
		if leader == nil || n.state.Leader != leader.id || n.state.Election.Epoch != leader.state.Election.Epoch ||
			n != leader && n.state.Role != raft.RoleFollower {
			return false
		}
	}
	return true
}

// highest is the highest epoch on any disk.
func (s *Stage) highest() kafka.Epoch {
	epoch := kafka.Epoch(0)
	for _, n := range s.w.nodes {
		epoch = max(epoch, n.disk.election.Epoch)
	}
	return epoch
}

// leader is who leads the highest epoch; the scene fails if nobody does.
func (s *Stage) leader() *node {
	found := s.leads()
	if found == nil {
		s.w.fail(Stuck, "nobody leads")
		return s.w.nodes[0]
	}
	return found
}

// leads is who leads the highest epoch, or nil.
func (s *Stage) leads() (found *node) {
	for _, n := range s.w.nodes {
		if n.up && n.role == raft.RoleLeader && (found == nil || n.disk.election.Epoch > found.disk.election.Epoch) {
			found = n
		}
	}
	return found
}

// other draws a voter that is none of these.
func (s *Stage) other(than ...*node) *node {
	rest := s.without(than...)
	return rest[s.w.rng.IntN(len(rest))]
}

// without are the voters but some.
func (s *Stage) without(some ...*node) []*node {
	var rest []*node
next:
	for _, n := range s.w.nodes[:s.w.plan.Voters] {
		for _, o := range some {
			if n == o {
				continue next
			}
		}
		rest = append(rest, n)
	}
	return rest
}

func (s *Stage) upTo(d time.Duration) time.Duration { return s.w.upTo(d) }

// lateness is how much longer an answer takes.
func (w *World) lateness(from *node, body raft.Body) time.Duration {
	if w.stage == nil || w.stage.late == nil {
		return 0
	}
	return w.stage.late(from, body)
}

// String is one line about what came of it.
func (t Told) String() string {
	return fmt.Sprintf("%d epochs, %v simulated, %d events", t.Epochs, t.Simulated.Round(time.Millisecond), t.Events)
}
