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

// World is nodes, a network between them, and time. It is used once, by one
// goroutine.
type World struct {
	plan  Plan
	rng   *rand.Rand
	now   kafka.Instant
	queue queue
	nodes []*node // voters first; ids from 1
	links [][]link
	conns []*conn // open ones
	// shapes tell what snapshots hold, wherever they are.
	shapes  map[raft.SnapshotID]shape
	check   checker
	work    workload
	story   story
	traced  io.Writer // of the steps, or nil
	faults  Faults
	crashes Crashes
	changes Changes
	gone    map[kafka.DirID]bool // disks that are lost for good
	wiped   int                  // new directory ids
	past    []sent               // requests that may arrive once more
	landed  []*flight            // to be used again
	// underWay is until when messages may be that were sent before the healing.
	underWay kafka.Instant

	chaos    bool   // faults come
	stage    *Stage // when a scene is played, else nil
	healed   *healing
	ruined   *ruin
	happened int
	tick     kafka.Instant // milliseconds
	inTick   int           // what has happened in it
	failure  *Failure
}

// Failure is a broken invariant.
type Failure struct {
	Rule Rule
	Text string
	At   time.Duration // simulated
}

func (f *Failure) Error() string { return fmt.Sprintf("%v at %v: %s", f.Rule, f.At, f.Text) }

// Result is what came of a run.
type Result struct {
	Plan      Plan
	Hash      string // of everything that happened: 128 bits, in hex
	Simulated time.Duration
	Events    int
	Checks    Checks // how often each rule was looked at
	Epochs    int    // that had a leader
	Acked     int    // proposals acknowledged
	Faults    Faults
	Crashes   Crashes
	Changes   Changes
	Hopeless  bool     // the voters of a set lost their disks: nothing is said about liveness
	Failure   *Failure // nil when all held
}

// snapshotSize is the size of every snapshot in bytes: three chunks.
const snapshotSize = 5 << 19

// Run plays the seed's story. Whoever wants to read it gives a writer, else nil.
func Run(seed uint64, to io.Writer) Result { return RunPlan(NewPlan(seed), to) }

// RunPlan plays a plan that may have been changed by hand.
func RunPlan(p Plan, to io.Writer) Result {
	w := newWorld(p, to)
	w.play()
	if w.failure != nil {
		w.note("FAILED %v", w.failure)
	}
	return w.result()
}

func (w *World) result() Result {
	return Result{
		Plan: w.plan, Hash: w.story.hash(), Simulated: time.Duration(w.now), Events: w.happened, Checks: w.check.count,
		Epochs: len(w.check.led), Acked: len(w.work.acked), Faults: w.faults, Crashes: w.crashes, Changes: w.changes,
		Hopeless: w.healed != nil && w.healed.hopeless, Failure: w.failure,
	}
}

func newWorld(p Plan, to io.Writer) *World {
	w := &World{
		plan: p, rng: newRand(p.Seed, 0x776f726c64+p.Chance), shapes: map[raft.SnapshotID]shape{},
		check: newChecker(), story: newStory(to), chaos: true, gone: map[kafka.DirID]bool{},
	}
	w.note("%v", p)
	if p.Active[Drifting] {
		w.faults[Drifting]++
	}
	count := p.controllers() + p.Observers
	w.links = make([][]link, count+1)
	for i := range w.links {
		w.links[i] = make([]link, count+1)
	}
	set := voterSet(p)
	for i := range count {
		w.nodes = append(w.nodes, newNode(w, kafka.NodeID(i+1), set))
	}
	w.check.w = w
	return w
}

func voterSet(p Plan) raft.Voters {
	var set raft.Voters
	for i := range p.Voters {
		id := kafka.NodeID(i + 1)
		v := raft.Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpointsOf(id)}
		if p.Dynamic {
			v.Key.Dir, v.MaxLevel = dirOf(id), 1
		}
		set = set.With(v)
	}
	return set
}

func endpointsOf(id kafka.NodeID) raft.Endpoints {
	return raft.Endpoints{{Name: "CONTROLLER", Host: "host", Port: uint16(firstPort + int(id))}}
}

func dirOf(id kafka.NodeID) kafka.DirID { return kafka.DirID{0: 0xd, 15: byte(id)} }

// newNode makes a formatted node that has never run.
func newNode(w *World, id kafka.NodeID, set raft.Voters) *node {
	n := &node{w: w, id: id, clock: clock{w: w, speed: w.plan.Speed[id-1]}, cfg: raft.Config{
		Self: kafka.ReplicaKey{Node: id, Dir: dirOf(id)}, Controller: int(id) <= w.plan.controllers(),
		Endpoints: endpointsOf(id), Listener: "CONTROLLER", Static: set, Timing: w.plan.Timing,
	}}
	n.disk = disk{election: raft.NoElection(), noFile: true}
	if w.plan.Dynamic {
		n.cfg.Static = nil
		n.disk.snapshots = []raft.Snapshot{{Size: snapshotSize}}
		w.shapes[raft.SnapshotID{}] = shape{set, 1}
	}
	if w.plan.ReshapeEvery > 0 {
		n.joins()
	}
	if w.plan.Active[DiskLost] {
		n.findsQuorum()
	}
	return n
}

func (w *World) node(id kafka.NodeID) *node { return w.nodes[id-1] }

// play runs both phases to the end, or to the first broken invariant. A core
// that stops itself is one, too.
func (w *World) play() {
	defer func() {
		switch broken := recover().(type) {
		case nil:
		case invariant.Broken:
			w.fail(Assertion, "%s", broken.Text)
		default:
			panic(broken)
		}
	}()
	for _, n := range w.nodes {
		n.boot()
	}
	w.work.next(w)
	w.later(w.mean(w.plan.FaultEvery), w.trouble)
	w.tidy()
	if w.plan.ReshapeEvery > 0 {
		w.later(w.mean(w.plan.ReshapeEvery), w.reshape)
	}
	if w.plan.Ruined {
		w.later(w.plan.Chaos, w.destroy)
	} else {
		w.later(w.plan.Chaos, w.heal)
	}
	for w.failure == nil && !w.queue.empty() && !w.over() && !w.enough() {
		w.turn(w.queue.take())
	}
	if w.failure == nil && !w.enough() && w.healed != nil {
		w.check.end()
	}
}

// enough tells that the run may have no more events.
func (w *World) enough() bool { return w.plan.Most > 0 && w.happened >= w.plan.Most }

// turn lets one thing happen.
func (w *World) turn(h happening) {
	w.now = max(w.now, h.at)
	if n := h.who; n != nil {
		if h.life != anyLife && h.life != n.life {
			return
		}
		if n.up && n.until > w.now {
			h.at = n.until
			w.queue.put(h)
			return
		}
	}
	w.happened++
	w.inTick++
	if tick := w.now / kafka.Instant(time.Millisecond); tick != w.tick {
		w.tick, w.inTick = tick, 0
	}
	if w.inTick > maxInTick {
		w.fail(Busy, "somebody is busy doing nothing: %d things happened in a millisecond", w.inTick)
		return
	}
	if h.message != nil {
		w.land(h.message)
	} else {
		h.run()
	}
	if n := h.who; n != nil && n.up && n.slow > w.now {
		n.until = max(n.until, w.now.Add(w.upTo(20*time.Millisecond)))
	}
}

// maxInTick bounds what happens in a millisecond: a deadline that is always now
// would otherwise stop time.
const maxInTick = 20_000

// later lets something happen to the world.
func (w *World) later(d time.Duration, run func()) {
	w.queue.put(happening{at: w.now.Add(d), life: anyLife, run: run})
}

func (w *World) note(format string, args ...any) { w.story.note(w.now, format, args...) }

func (w *World) message(n *node, does string, other *node, body raft.Body) {
	w.story.message(w.now, n.id, does, other.id, body)
}

// fail ends the run: a rule does not hold. The first one counts.
func (w *World) fail(rule Rule, format string, args ...any) {
	if w.failure == nil {
		w.failure = &Failure{Rule: rule, Text: fmt.Sprintf(format, args...), At: time.Duration(w.now)}
	}
}

// chance draws whether a fault of a kind comes, n times of many, and counts it.
func (w *World) chance(n, many int, kind Fault) bool {
	if !w.chaos || !w.plan.Active[kind] || w.rng.IntN(many) >= n {
		return false
	}
	w.faults[kind]++
	return true
}
