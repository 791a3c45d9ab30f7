package raft

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// far is a voter whose idle leader is there all the time, a round trip away. A new
// connection takes one round trip for itself and one to ask what the other side speaks.
type far struct {
	core     *Core
	rtt      time.Duration
	now      kafka.Instant
	effects  Effects
	underWay []farAnswer
	fresh    int // fetches on new connections
}

type farAnswer struct {
	at   kafka.Instant
	call Call
	body Body
}

func newFar(t *testing.T, rtt time.Duration) *far {
	t.Helper()
	cfg := Config{
		Self: kafka.ReplicaKey{Node: 2, Dir: dirOf(2)}, Controller: true, Endpoints: endpointsOf(2), Listener: "CONTROLLER",
		Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 2)),
	}
	for id := kafka.NodeID(1); id <= 3; id++ {
		cfg.Static = append(cfg.Static, Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpointsOf(id)})
	}
	c, e, err := New(0, cfg, Stored{Election: Election{Epoch: 1, Leader: 1, Voted: NoVote}})
	if err != nil {
		t.Fatal(err)
	}
	f := &far{core: c, rtt: rtt, effects: e}
	f.send()
	return f
}

// send puts what the last step asks the leader for on its way.
func (f *far) send() {
	for _, m := range f.effects.Send {
		if m.To != 1 {
			continue
		}
		took := f.rtt
		if m.Fresh {
			took, f.underWay = 3*f.rtt, nil
			f.fresh++
		}
		switch r := m.Body.(type) {
		case FetchRequest:
			f.underWay = append(f.underWay, farAnswer{f.now.Add(took + r.MaxWait), m.Call, FetchAnswer{Hint: Hint{Epoch: 1, Leader: 1}}})
		case UpdateVoterRequest:
			f.underWay = append(f.underWay, farAnswer{f.now.Add(took), m.Call, UpdateVoterAnswer{Hint: Hint{Epoch: 1, Leader: 1}}})
		}
	}
}

// step lets the next thing happen.
func (f *far) step() {
	if len(f.underWay) > 0 && f.underWay[0].at <= f.effects.Deadline {
		a := f.underWay[0]
		f.now, f.underWay = a.at, f.underWay[1:]
		f.effects = f.core.Step(f.now, Answered{Call: a.call, Body: a.body})
	} else {
		f.now = f.effects.Deadline
		f.effects = f.core.Step(f.now, Passed{})
	}
	f.send()
}

// B2: a leader that answers is not given up for being far away, and no fetch for being
// slow, which would cost a new connection.
func TestALeaderMayBeFarAway(t *testing.T) {
	for _, ms := range []int{1, 100, 200, 260, 300, 340, 370, 400, 500, 600} {
		f := newFar(t, time.Duration(ms)*time.Millisecond)
		for f.now < kafka.Instant(time.Minute) && f.core.State().Role == RoleFollower {
			f.step()
		}
		if s := f.core.State(); s.Role != RoleFollower || f.fresh > 0 {
			t.Errorf("%d ms away: %s after %v, %d fetches were given up", ms, s.Role, time.Duration(f.now), f.fresh)
		}
	}
}
