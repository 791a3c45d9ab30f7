package raft

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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

// Beyond farEpoch there is one epoch more with every second of the common clock.
func TestFarEpochsComeWithTime(t *testing.T) {
	second := kafka.Instant(time.Second)
	f := func(unix int64, held kafka.Epoch, passed kafka.Instant, highest kafka.Epoch) {
		t.Helper()
		c := &Core{cfg: Config{Unix: unix}, held: held, started: 7 * second, now: 7*second + passed}
		if !believable(c, highest) || believable(c, highest+1) {
			t.Errorf("epoch %d is to be the highest, and is %d", highest, c.highestEpoch())
		}
	}
	f(0, 0, 0, farEpoch)
	f(0, 0, second-1, farEpoch)
	f(0, 0, second, farEpoch+1)
	f(firstDay-5, 3, 0, farEpoch)
	f(firstDay+100, 3, 20*second, farEpoch+120)
	f(firstDay+100, farEpoch+50, 0, farEpoch+100)
	f(firstDay+100, farEpoch+200, 20*second, farEpoch+220) // its clock was set back
	f(1<<40, 0, 1000*second, datedEpoch+1000)
	f(0, lastEpoch-1, second, lastEpoch-1)

	ahead := &Core{election: Election{Epoch: farEpoch + 9}}
	if !believable(ahead, farEpoch+9) || believable(ahead, farEpoch+10) {
		t.Error("our own epoch, and no higher one, is believed ahead of the clock")
	}
}

// "No sequence of messages leaves a node where it cannot elect or start."
// Whatever names the epoch: after a flood of climbing ones the node is where the
// clock has it, a quorum of such nodes can still follow an election in the next
// epoch, and the disk is one that a start accepts.
func TestAClimbEndsWhereAnElectionCanFollow(t *testing.T) {
	kinds := map[string]func(c *Core, epoch kafka.Epoch, call Call){
		"vote": func(c *Core, epoch kafka.Epoch, call Call) {
			c.Step(c.now, Received{call, VoteRequest{Voter: NoVote, Candidate: kafka.ReplicaKey{Node: 9}, Epoch: epoch}})
		},
		"pre-vote": func(c *Core, epoch kafka.Epoch, call Call) {
			c.Step(c.now, Received{call, VoteRequest{Voter: NoVote, Candidate: kafka.ReplicaKey{Node: 2}, Epoch: epoch, PreVote: true}})
		},
		"begin": func(c *Core, epoch kafka.Epoch, call Call) {
			c.Step(c.now, Received{call, BeginRequest{Voter: NoVote, Leader: 3, Epoch: epoch}})
		},
		"begin by ourselves": func(c *Core, epoch kafka.Epoch, call Call) {
			c.Step(c.now, Received{call, BeginRequest{Voter: NoVote, Leader: 1, Epoch: epoch}})
		},
		"end": func(c *Core, epoch kafka.Epoch, call Call) {
			c.Step(c.now, Received{call, EndRequest{Leader: 3, Epoch: epoch}})
		},
		"fetch": func(c *Core, epoch kafka.Epoch, call Call) {
			c.Step(c.now, Received{call, FetchRequest{Replica: kafka.ReplicaKey{Node: 2}, Epoch: epoch, LastEpoch: epoch}})
		},
		"hint with a leader": func(c *Core, epoch kafka.Epoch, _ Call) {
			learn(c, Hint{Epoch: epoch, Leader: 2, Endpoints: endpointsOf(2)})
		},
		"hint without": func(c *Core, epoch kafka.Epoch, _ Call) {
			learn(c, Hint{Epoch: epoch, Leader: kafka.NoNode})
		},
	}
	for name, send := range kinds {
		t.Run(name, func(t *testing.T) { climb(t, send) })
	}
}

// climb sends epochs with strides of all sizes, from the largest to single steps,
// and from every epoch that they lead to.
func climb(t *testing.T, send func(c *Core, epoch kafka.Epoch, call Call)) {
	cfg := Config{
		Self: kafka.ReplicaKey{Node: 1}, Listener: "CONTROLLER", Static: five(), Timing: DefaultTiming(),
		Rand: rand.New(rand.NewPCG(1, 1)), Unix: firstDay + 1000,
	}
	c, _, err := New(0, cfg, Stored{Election: NoElection()})
	if err != nil {
		t.Fatal(err)
	}
	call := Call(1)
	for stride := int64(1 << 30); stride > 0; stride /= 2 {
		for range 3 {
			send(c, kafka.Epoch(min(int64(c.election.Epoch)+stride, int64(lastEpoch))), call)
			call++
		}
	}
	for range 5000 {
		send(c, c.election.Epoch+1, call)
		call++
	}
	reached := c.election.Epoch
	if reached > farEpoch+1000 {
		t.Fatalf("the climb came to epoch %d", reached)
	}
	if c.now += kafka.Instant(time.Second); !believable(c, reached+1) {
		t.Errorf("a second later nobody can be elected after epoch %d", reached)
	}
	if !mayStand(c) {
		t.Error("the node will not stand for election")
	}
	if _, _, err := New(0, cfg, Stored{Election: c.election}); err != nil {
		t.Errorf("the start: %v", err)
	}
}
