package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/core/raft"
)

// Plan is everything that a seed decides before a run begins.
type Plan struct {
	Seed      uint64
	Voters    int
	Observers int
	Dynamic   bool // voters stand in the log and have directories (KIP-853)
	Timing    raft.Timing
	Chaos     time.Duration // how long faults come
	Active    [faultKinds]bool

	FaultEvery   time.Duration // mean between two faults of links and nodes
	ProposeEvery time.Duration // mean between two proposals
	TidyEvery    time.Duration // mean between two snapshots
	Far          time.Duration // what a message takes at most, besides its millisecond
	Delay        time.Duration // mean of what a Late message waits besides its millisecond
	Lost, Resent int           // of a thousand messages
	Repeated     int           // of a thousand messages
	Garbled      int           // of ten thousand messages
	Room         int           // messages on a link, each way, when queues are Crowded
	CrashAtDisk  int           // of a thousand moments at which something becomes durable
	SlowSync     int           // of a thousand syncs
	Stall        time.Duration // how long a SlowSync takes at most
	FailedSync   int           // of ten thousand syncs, and as many writes by each kind that fails them
	BadRead      int           // of a thousand answers with records, by each kind that spoils them
	Starved      int           // of a thousand deadlines
	Still        time.Duration // how long a node is Paused at most
	Batches      int           // at most in an answer to a fetch
	// Speed of each node's clock, in thousandths.
	Speed []int64

	// ReshapeEvery is the mean between two requests to change the voters; 0: they
	// stay. Spares are controllers that are no voters at first.
	ReshapeEvery time.Duration
	Spares       int
	Copied       bool // the spares' folders are copies of the first voter's, directory id and all
	AutoJoin     bool

	// Ruined: no majority is repaired after the chaos, and none is left.
	Ruined bool
	// Alone leaves the protocol (package abstract) out: whoever looks for what the
	// simulator's own rules find must not be told by it first.
	Alone bool
	// Chance is another course of chance with the same plan; 0: the seed's own.
	Chance uint64
	// Most is how many events a run may have; 0: as many as it takes.
	Most int
}

// NewPlan draws the plan of a seed: often many kinds of faults together,
// sometimes one alone, sometimes none.
func NewPlan(seed uint64) Plan {
	r := newRand(seed, 0x706c616e)
	p := Plan{
		Seed: seed, Voters: pick(r, 3, 3, 3, 3, 1, 2, 4, 5, 5), Observers: r.IntN(3), Dynamic: r.IntN(2) == 0,
		Timing: raft.DefaultTiming(), Chaos: time.Duration(6+r.IntN(15)) * time.Second,
		FaultEvery:   time.Duration(50+r.IntN(2000)) * time.Millisecond,
		ProposeEvery: time.Duration(pick(r, 5, 20, 50, 200)) * time.Millisecond,
		TidyEvery:    time.Duration(pick(r, 50, 300, 2000)) * time.Millisecond,
		Delay:        time.Duration(r.IntN(100)) * time.Millisecond,
		Lost:         r.IntN(300), Resent: r.IntN(300), Repeated: r.IntN(500), Garbled: pick(r, 5, 50, 300), Room: 1 + r.IntN(4),
		CrashAtDisk: pick(r, 1, 3, 10, 40), SlowSync: pick(r, 5, 50, 300), FailedSync: pick(r, 2, 20, 100),
		Stall:   pick(r, 300*time.Millisecond, 300*time.Millisecond, 3*time.Second, 10*time.Second, time.Minute),
		BadRead: pick(r, 5, 50, 200), Starved: pick(r, 5, 50, 300), Still: pick(r, 3*time.Second, 6*time.Second, 30*time.Second),
		Batches: pick(r, 1, 1, 3, 100),
	}
	p.drawKinds(r)
	for range p.Voters + p.Observers {
		speed := int64(1000)
		if p.Active[Drifting] {
			speed = 850 + r.Int64N(300)
		}
		p.Speed = append(p.Speed, speed)
	}
	p.drawChanges()
	return p
}

func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func (p *Plan) drawKinds(r *rand.Rand) {
	switch mode := r.IntN(10); {
	case mode == 0:
	case mode <= 2:
		p.Active[r.IntN(int(faultKinds))] = true
	case mode == 3: // disks that are slow, and forget
		for _, kind := range []Fault{SlowSync, CrashedAtDisk, Crashed, Forgotten, Torn, RenameUndone, AskedToEnd, Snapshots} {
			p.Active[kind] = true
		}
		p.CrashAtDisk, p.SlowSync = 40, 300
	case mode == 4: // all at once
		for i := range p.Active {
			p.Active[i] = true
		}
	default: // a few, half, or most of them
		dense := pick(r, 20, 50, 50, 80)
		for i := range p.Active {
			p.Active[i] = r.IntN(100) < dense
		}
	}
	p.Active[DiskLost] = p.Active[DiskLost] && p.Dynamic // a static voter has no directory id to tell
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// String is the plan as a headline of the story.
func (p Plan) String() string {
	var kinds []string
	for i, on := range p.Active {
		if on {
			kinds = append(kinds, Fault(i).String())
		}
	}
	set := "static"
	if p.Dynamic {
		set = "dynamic"
	}
	if p.ReshapeEvery > 0 {
		set = fmt.Sprintf("changing (every %v, %d spare, auto join: %v)", p.ReshapeEvery, p.Spares, p.AutoJoin)
	}
	return fmt.Sprintf("seed %d: %d %s voters, %d observers, %v of chaos, a proposal each %v, a fault each %v: %s",
		p.Seed, p.Voters, set, p.Observers, p.Chaos, p.ProposeEvery, p.FaultEvery, strings.Join(kinds, " "))
}
