package raft

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// The list of observers is bounded: the one silent for longest makes room. No
// number of them crowds out a voter.
func TestTheListOfReplicasIsBounded(t *testing.T) {
	var r replicas
	set := NewVoters(Voter{Key: kafka.ReplicaKey{Node: 1 << 20}})
	r.reached(set, set[0].Key, 7, 7, 0)
	for id := range maxObservers + 10 {
		r.reached(set, kafka.ReplicaKey{Node: kafka.NodeID(id)}, 1, 1, kafka.Instant(id))
		r.reached(set, kafka.ReplicaKey{Node: 5}, 1, 1, kafka.Instant(id)) // always there
	}
	f := func(id kafka.NodeID, want bool) {
		t.Helper()
		if _, found := r.find(kafka.ReplicaKey{Node: id}); found != want {
			t.Errorf("%d is listed: %v", id, found)
		}
	}
	f(3, false)
	f(5, true)
	f(maxObservers+9, true)
	f(1<<20, true)
	if n := r.countWithout(set); n != maxObservers {
		t.Errorf("%d observers", n)
	}
}

// Fetches that name ever new directories of one node crowd out nobody else, be it
// a voter by its id alone or an observer.
func TestTheDirectoriesOfANodeAreBounded(t *testing.T) {
	var r replicas
	set := NewVoters(Voter{Key: kafka.ReplicaKey{Node: 1}})
	r.reached(set, kafka.ReplicaKey{Node: 3}, 1, 1, 0)
	for i := range 100 {
		var dir kafka.DirID
		binary.BigEndian.PutUint64(dir[:], uint64(i+1))
		r.reached(set, kafka.ReplicaKey{Node: 1, Dir: dir}, kafka.Offset(i), 100, kafka.Instant(i))
		r.reached(set, kafka.ReplicaKey{Node: 2, Dir: dir}, kafka.Offset(i), 100, kafka.Instant(i))
	}
	if len(r.voters) != maxDirectories || r.countWithout(set) != maxDirectories+1 {
		t.Errorf("%d of the voter, %d observers", len(r.voters), r.countWithout(set))
	}
	if end := r.end(kafka.ReplicaKey{Node: 1}); end != 99 {
		t.Errorf("the voter stands at %d", end)
	}
}

// The list agrees with one that is searched from end to end.
func TestReplicasAgreeWithAPlainList(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var r replicas
	plain := map[kafka.ReplicaKey]replica{}
	set := NewVoters(Voter{Key: kafka.ReplicaKey{Node: 1, Dir: dirOf(1)}}, Voter{Key: kafka.ReplicaKey{Node: 2, Dir: dirOf(2)}})
	for i := range 5000 {
		now := kafka.Instant(i) * kafka.Instant(time.Second)
		id := kafka.NodeID(rng.IntN(40))
		switch rng.IntN(20) {
		case 0:
			set = set.With(Voter{Key: kafka.ReplicaKey{Node: id, Dir: dirOf(id)}})
		case 1:
			set = set.Without(id)
		case 2:
			r.forgetSilent(set, now)
			for key, x := range plain {
				if !set.Contains(key) && now.Sub(x.fetched) >= observerSession {
					delete(plain, key)
				}
			}
		}
		key := kafka.ReplicaKey{Node: id, Dir: dirOf(id)}
		x, known := plain[key]
		if !known {
			x = newReplica(key, now)
		}
		at := kafka.Offset(rng.IntN(100))
		x.reached(at, 100, now)
		plain[key] = x
		r.reached(set, key, at, 100, now)
		observers := 0
		for key, want := range plain {
			if !set.Contains(key) {
				observers++
			}
			if got, found := r.find(key); set.Contains(key) && (!found || got != want) {
				t.Fatalf("step %d: voter %v is %+v, not %+v", i, key, got, want)
			}
		}
		if n := r.countWithout(set); n > observers {
			t.Fatalf("step %d: %d observers, and %d have fetched", i, n, observers)
		}
	}
	for _, x := range r.without(set) {
		if plain[x.key] != x {
			t.Errorf("%v is %+v, not %+v", x.key, x, plain[x.key])
		}
	}
}

// voterOne is voter 1 of three with an empty log.
func voterOne(tb testing.TB, found Election) *Core {
	tb.Helper()
	var voters Voters
	for id := range kafka.NodeID(3) {
		voters = voters.With(Voter{Key: kafka.ReplicaKey{Node: id + 1}, Endpoints: endpointsOf(id + 1)})
	}
	c, _, err := New(0, Config{
		Self: kafka.ReplicaKey{Node: 1}, Controller: true, Endpoints: endpointsOf(1), Listener: "CONTROLLER",
		Static: voters, Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 1)),
	}, Stored{Election: found})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// crowded is a leader of three voters with everything committed up to offset 1.
func crowded(tb testing.TB) *Core {
	tb.Helper()
	c := voterOne(tb, Election{Epoch: 1, Leader: kafka.NoNode, Voted: kafka.ReplicaKey{Node: 1}})
	voteFor(c, 2)
	c.Step(c.now, Synced{Seq: 1, End: 1})
	ask(c, 1, 2, 1, 0)
	ask(c, 2, 3, 1, 0)
	if !c.leads() || c.hw != 1 {
		tb.Fatal(c.role.name(), c.hw)
	}
	return c
}

// ask is a fetch at an offset of somebody who has time.
func ask(c *Core, call Call, id kafka.NodeID, at kafka.Offset, wait time.Duration) []Message {
	e := c.Step(c.now+1, Received{call, FetchRequest{
		Replica: kafka.ReplicaKey{Node: id}, Epoch: 1, Offset: at, LastEpoch: 1, MaxWait: wait, MaxBytes: 1, HighWatermark: c.hw,
	}})
	return slices.Clone(e.Send)
}

// answersTo gives the calls that are answered.
func answersTo(sent []Message) (calls []Call) {
	for _, m := range sent {
		if m.To == kafka.NoNode {
			calls = append(calls, m.Call)
		}
	}
	return calls
}

// Whoever is no voter has its fetch parked for half a second at most, and no more
// than maxParked of them are: the one whose turn is next makes room.
func TestFetchesOfStrangersAreBounded(t *testing.T) {
	c := crowded(t)
	const first = 100
	for i := range maxParked {
		if sent := ask(c, Call(first+i), kafka.NodeID(1000+i), 1, time.Duration(1<<31-1)*time.Millisecond); len(sent) != 0 {
			t.Fatalf("fetch %d: %v", i, sent)
		}
	}
	for i := range 3 {
		sent := ask(c, Call(first+maxParked+i), kafka.NodeID(1000+maxParked+i), 1, time.Hour)
		if got := answersTo(sent); !slices.Equal(got, []Call{Call(first + i)}) {
			t.Errorf("one too many: %v is answered", got)
		}
	}
	if got := answersTo(ask(c, 9, 2, 1, time.Hour)); got != nil { // a voter always finds room
		t.Errorf("a voter's fetch: %v is answered", got)
	}
	late := c.now.Add(maxWait)
	l := c.role.(*leader)
	for at := c.now; at < late; {
		at = l.next(c)
		c.Step(at, Passed{})
	}
	if n := len(l.parked.others); n != 0 {
		t.Errorf("%d fetches of strangers wait after %v", n, maxWait)
	}
}

// News goes to the voters first, and to each in the order in which they asked.
func TestVotersAreAnsweredBeforeStrangers(t *testing.T) {
	c := crowded(t)
	for i := range 4 {
		ask(c, Call(10+i), kafka.NodeID(1000-i), 1, time.Hour)
	}
	ask(c, 20, 3, 1, time.Hour)
	ask(c, 21, 2, 1, time.Hour)
	a := c.Step(c.now, Propose{Ticket: 1, Epoch: 1, Count: 1}).Append[0]
	got := answersTo(c.Step(c.now, Written{a.Seq, a.End}).Send)
	if want := []Call{20, 21, 10, 11, 12, 13}; !slices.Equal(got, want) {
		t.Errorf("%v are answered, not %v", got, want)
	}
}

// A voter that asks anew has given up its older fetch, which is answered.
func TestAVoterHasOneFetchParked(t *testing.T) {
	c := crowded(t)
	ask(c, 20, 2, 1, time.Hour)
	if got := answersTo(ask(c, 21, 2, 1, time.Hour)); !slices.Equal(got, []Call{20}) {
		t.Errorf("%v are answered", got)
	}
}

// A step looks at no parked fetch for which there is no news, and a fetch of an
// observer at a fixed number of others, however many there are: the sizes of what
// is looked at are counted here, and BenchmarkCrowd tells the time.
func TestACrowdCostsAStepNothing(t *testing.T) {
	c := crowded(t)
	for i := range maxParked {
		ask(c, Call(100+i), kafka.NodeID(1000+i), 1, time.Hour)
	}
	p := &c.role.(*leader).parked
	for i := range p.others {
		p.others[i].hw, p.others[i].request.Offset = 0, 0 // whoever looks finds it due
	}
	if got := p.take(c.log.written, c.hw); got != nil {
		t.Errorf("%d parked fetches are looked at without news", len(got))
	}
	if got := p.take(c.log.written+1, c.hw); len(got) != maxParked {
		t.Errorf("%d parked fetches are looked at when there is news", len(got))
	}
}

// BenchmarkCrowd is a step of a leader at which many strangers wait, and a fetch of
// one that was never heard of when the list of them is full.
func BenchmarkCrowd(b *testing.B) {
	for _, n := range []int{0, 500, maxParked} {
		b.Run(fmt.Sprintf("step/parked=%d", n), func(b *testing.B) {
			c := crowded(b)
			for i := range n {
				ask(c, Call(100+i), kafka.NodeID(1000+i), 1, time.Hour)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Step(c.now, Passed{})
			}
		})
	}
	for _, n := range []int{10, maxObservers + 10} {
		b.Run(fmt.Sprintf("invented/listed=%d", n), func(b *testing.B) {
			c := crowded(b)
			for i := range n {
				ask(c, 100, kafka.NodeID(1000+i), 1, 0)
			}
			b.ReportAllocs()
			id := kafka.NodeID(1 << 20)
			for b.Loop() {
				id++
				c.Step(c.now, Received{100, FetchRequest{Replica: kafka.ReplicaKey{Node: id}, Epoch: 1, Offset: 1, LastEpoch: 1, HighWatermark: 1}})
				if n < maxObservers {
					c.role.(*leader).replicas.observers.take(kafka.ReplicaKey{Node: id})
				}
			}
		})
	}
}
