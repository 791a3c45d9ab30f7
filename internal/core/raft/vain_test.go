package raft

import (
	"testing"
	"time"
)

// follows is voter 1 of three, that follows 2 in epoch 1.
func follows(t *testing.T) *Core {
	t.Helper()
	return voterOne(t, Election{Epoch: 1, Leader: 2, Voted: NoVote})
}

// reply answers the fetch that is under way and gives when the next one leaves.
func reply(t *testing.T, c *Core, a Body) (rest time.Duration) {
	t.Helper()
	begin := c.now
	f, ok := c.role.(*follower)
	if !ok {
		t.Fatalf("no follower but %s", c.role.name())
	}
	x := c.calls.conn(f.id)
	if x.call == 0 {
		t.Fatal("no fetch is under way")
	}
	e := c.Step(c.now, Answered{Call: x.call, Body: a})
	for range 20 {
		if _, busy := c.calls.fetching(c.now); busy {
			return c.now.Sub(begin)
		}
		if _, still := c.role.(*follower); !still {
			return c.now.Sub(begin)
		}
		e = c.Step(e.Deadline, Passed{})
	}
	t.Fatal("no fetch leaves any more")
	return 0
}

func answer2(a FetchAnswer) FetchAnswer {
	a.Hint = Hint{Epoch: 1, Leader: 2, Endpoints: endpointsOf(2)}
	return a
}

// An answer that cannot be used is no success, whatever is wrong with it: the fetch
// timer goes on running, the follower has not fetched, the next fetch waits longer
// each time, and the timer ends at last.
func TestAnAnswerThatCannotBeUsedIsNoSuccess(t *testing.T) {
	odd := Span{Base: 5, End: 6, Epochs: []EpochStart{{Epoch: 1, Start: 5}}}
	ahead := Span{Base: 0, End: 1, Epochs: []EpochStart{{Epoch: 7, Start: 0}}}
	for name, a := range map[string]FetchAnswer{
		"damaged":                 {Damaged: true},
		"not where our log ends":  {Span: odd},
		"of an epoch above":       {Span: ahead},
		"cut where our log ends":  {Diverging: &EpochEnd{Epoch: 1, End: 9}},
		"a snapshot that is ours": {Snapshot: &SnapshotID{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := follows(t)
			f := c.role.(*follower)
			expires := f.expires
			if name == "a snapshot that is ours" {
				c.log.addSnapshot(Snapshot{Size: 1})
			}
			for want := 20 * time.Millisecond; want < time.Second; want *= 2 {
				if got := reply(t, c, answer2(a)); got != want {
					t.Fatalf("the next fetch leaves after %v, not %v", got, want)
				}
				if f.expires != expires || f.fetched {
					t.Fatalf("the timer ends at %v, not %v; has fetched: %v", f.expires, expires, f.fetched)
				}
			}
			reply(t, c, answer2(a))
			if c.role.name() != RoleProspective || c.now != expires {
				t.Errorf("%s at %v; the timer was to end at %v", c.role.name(), c.now, expires)
			}
		})
	}
}

// Records in front of the damage are taken, and they are a success: the next rest
// is a short one again.
func TestWhatComesBeforeTheDamageIsTaken(t *testing.T) {
	c := follows(t)
	reply(t, c, answer2(FetchAnswer{Damaged: true}))
	reply(t, c, answer2(FetchAnswer{Damaged: true}))
	x := c.calls.conn(2)
	e := c.Step(c.now, Answered{x.call, answer2(FetchAnswer{Damaged: true, Span: Span{Base: 0, End: 1, Epochs: []EpochStart{{Epoch: 1, Start: 0}}}})})
	if len(e.Append) != 1 || !c.role.(*follower).fetched {
		t.Fatalf("%+v", e)
	}
	c.Step(c.now, Synced{e.Append[0].Seq, 1})
	if got := reply(t, c, answer2(FetchAnswer{Damaged: true})); got != 20*time.Millisecond {
		t.Errorf("then the next fetch leaves after %v", got)
	}
}

// A snapshot that turns out to be damaged is fetched again after a rest that grows
// each time, although each chunk of it was an answer.
func TestADamagedSnapshotIsNotFetchedInALoop(t *testing.T) {
	c := follows(t)
	id := SnapshotID{EndOffset: 9, Epoch: 1}
	for want := 20 * time.Millisecond; want <= 640*time.Millisecond; want *= 2 {
		if got := reply(t, c, answer2(FetchAnswer{Snapshot: &id})); got != 0 {
			t.Fatalf("the download begins after %v", got)
		}
		e := c.Step(c.now, Answered{c.calls.conn(2).call, SnapshotAnswer{
			Hint: Hint{Epoch: 1, Leader: 2, Endpoints: endpointsOf(2)}, ID: id, Size: 10, Bytes: 10,
		}})
		if e.Chunk == nil || !e.Chunk.Last {
			t.Fatalf("%+v", e)
		}
		begin := c.now
		for e = c.Step(c.now, Spoiled{e.Chunk.Seq}); ; e = c.Step(e.Deadline, Passed{}) {
			if _, busy := c.calls.fetching(c.now); busy {
				break
			}
		}
		if got := c.now.Sub(begin); got != want {
			t.Errorf("asked again after %v, not %v", got, want)
		}
	}
}

// The rest is for the leader that cannot be used: the next one is fetched from at once,
// or would have to give up for want of a majority.
func TestTheNextLeaderIsFetchedFromAtOnce(t *testing.T) {
	c := follows(t)
	for range 6 {
		reply(t, c, answer2(FetchAnswer{Damaged: true}))
	}
	begin := c.now
	c.Step(c.now, Answered{c.calls.conn(2).call, answer2(FetchAnswer{Damaged: true})})
	if f := c.role.(*follower); !f.rests(c) || c.vain.until <= begin.Add(time.Second) {
		t.Fatalf("the rest ends %v from now", c.vain.until.Sub(begin))
	}
	c.Step(begin, Received{1, BeginRequest{Voter: c.cfg.Self, Leader: 3, Epoch: 2, Endpoints: endpointsOf(3)}})
	if x := c.calls.conn(3); x.call == 0 || !x.fetch {
		t.Error("the leader of epoch 2 is not fetched from")
	}
}
