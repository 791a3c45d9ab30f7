package raft

import (
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// "These rules hold as long as a message and its answer take less than d" (B4): so
// what keeps rounds apart grows with what the answers of the round take, up to a
// quarter of E, and fades with later rounds. The timers keep to B4's "within 20 ms and
// E/8", however slow a message once was.
func TestB4RoundsKeepApartByWhatTheirAnswersTake(t *testing.T) {
	const ms = kafka.Instant(time.Millisecond)
	c := &Core{cfg: Config{Timing: Timing{Election: time.Second}}, mourned: noMourning}
	p := &prospective{begins: 1000 * ms, rivals: rivals{granted: 1010 * ms}}
	f := func(what string, apart, step time.Duration) {
		t.Helper()
		if c.apart() != apart || c.step() != step {
			t.Errorf("%s: rounds keep %v apart and timers %v, not %v and %v", what, c.apart(), c.step(), apart, step)
		}
		if young, free := p.young(c), p.free(c); young != p.begins.Add(apart) || free != p.rivals.granted.Add(2*max(apart, 125*time.Millisecond)) {
			t.Errorf("%s: young until %v, free at %v", what, young, free)
		}
	}
	f("nothing is known", 20*time.Millisecond, 20*time.Millisecond)
	c.pace.answered(3 * time.Millisecond)
	f("a near peer", 20*time.Millisecond, 20*time.Millisecond)
	c.pace.answered(25 * time.Millisecond)
	f("a far one", 100*time.Millisecond, 100*time.Millisecond)
	c.pace.answered(200 * time.Millisecond)
	f("a slow one", 250*time.Millisecond, 125*time.Millisecond)
	c.pace.forget()
	c.pace.forget()
	f("two rounds later", 200*time.Millisecond, 125*time.Millisecond)
	c.pace.forget()
	f("three rounds later", 125*time.Millisecond, 125*time.Millisecond)
	if at := c.trip(); at != 200*time.Millisecond {
		t.Errorf("an answer is thought to take %v", at)
	}
}

// What a round that has its majority waits for (B4), each with d = 20 ms of our own and
// E/8 = 125 ms as the most that d can be elsewhere.
func TestB4WhatARoundWaitsFor(t *testing.T) {
	const ms = kafka.Instant(time.Millisecond)
	c := &Core{cfg: Config{Timing: Timing{Election: time.Second}}, mourned: noMourning}
	three := Voters{{Key: kafka.ReplicaKey{Node: 1}}, {Key: kafka.ReplicaKey{Node: 2}}, {Key: kafka.ReplicaKey{Node: 3}}}
	f := func(what string, p prospective, young, free kafka.Instant) {
		t.Helper()
		p.begins = 1000 * ms
		if p.tally.voters == nil {
			p.tally.voters = slices.Concat(three, Voters{{Key: kafka.ReplicaKey{Node: 4}}, {Key: kafka.ReplicaKey{Node: 5}}})
		}
		if y, at := p.young(c), p.free(c); y != young*ms || at != free*ms {
			t.Errorf("%s: young until %d ms, not %d, and free at %d ms, not %d", what, y/ms, young, at/ms, free)
		}
	}
	won := tally{voters: three, answers: []ballot{{1, true}, {2, true}}}
	f("for others that ask", prospective{}, 1020, 1020)
	f("for one that it refused", prospective{rivals: rivals{refused: 995 * ms}}, 1035, 1035)
	f("for one that goes first and that it refused", prospective{rivals: rivals{refused: 995 * ms, behind: 990*ms + ms/2}}, 1035, 1178)
	f("for one that goes first and that it granted before", prospective{rivals: rivals{granted: 995 * ms}}, 1020, 1245)
	f("for one that it granted", prospective{rivals: rivals{granted: 1010 * ms, before: []kafka.NodeID{1}}}, 1020, 1385)
	f("for two that it granted", prospective{rivals: rivals{granted: 1010 * ms, before: []kafka.NodeID{1, 2}}}, 1020, 1510)
	f("for nobody, who was chosen", prospective{alone: true, rivals: rivals{refused: 995 * ms, behind: 995 * ms}}, 1000, 0)
	f("for nobody, when no split can come of it", prospective{tally: won, rivals: rivals{refused: 995 * ms, behind: 995 * ms}}, 1035, 0)
	f("for one that it granted, all the same", prospective{tally: won, rivals: rivals{granted: 1010 * ms, before: []kafka.NodeID{1}}}, 1020, 1385)
}

// A slow disk is no slow message: it sets timers apart, and rounds no further.
func TestB4ASlowDiskKeepsRoundsNoFurtherApart(t *testing.T) {
	c := &Core{cfg: Config{Timing: Timing{Election: time.Second}}, mourned: noMourning}
	c.pace.saw(500 * time.Millisecond)
	if c.apart() != 125*time.Millisecond || c.step() != 125*time.Millisecond {
		t.Errorf("rounds keep %v apart, timers %v", c.apart(), c.step())
	}
}

// "What they wait for ends by itself" (B4): of a rival that asks again and again only
// the first question counts in a round.
func TestB4ARivalHoldsARoundBackOnce(t *testing.T) {
	var v rivals
	f := func(now kafka.Instant, to kafka.NodeID, granted kafka.Instant, count int) {
		t.Helper()
		if v.yields(now, to); v.granted != granted || len(v.before) != count {
			t.Errorf("granted at %d, %d in all", v.granted, len(v.before))
		}
	}
	f(10, 2, 10, 1)
	f(20, 2, 10, 1)
	f(30, 3, 30, 2)
	f(40, 2, 30, 2)
}

// A pre-vote may be held for 20 ms by a voter that looks whether the leader's process is
// gone (B3). That is no slow message: neither timers nor rounds are kept apart by four
// times as much, but by no less than the answer took.
func TestB4HeldPreVotesAreNoSlowMessages(t *testing.T) {
	f := func(what string, c *Core, answer Body, took, step, apart time.Duration) {
		t.Helper()
		c.cfg.Timing = DefaultTiming()
		if c.measure(took, answer); c.step() != step || c.apart() != apart {
			t.Errorf("%s: timers are %v apart and rounds %v, not %v and %v", what, c.step(), c.apart(), step, apart)
		}
	}
	const ms = time.Millisecond
	asks := func() *Core {
		return &Core{role: &prospective{}, election: Election{Epoch: 3}, mourned: mourning{epoch: 3}}
	}
	f("held", asks(), VoteAnswer{}, 21*ms, 21*ms, 21*ms)
	held := asks()
	held.cfg.Timing = DefaultTiming()
	if young := (&prospective{begins: kafka.Instant(time.Second)}).young(held); young != kafka.Instant(time.Second+40*ms) {
		t.Errorf("a round of which others may not have heard yet is young until %v", young)
	}
	f("not held", asks(), VoteAnswer{}, 10*ms, 20*ms, 20*ms)
	f("slow as well", asks(), VoteAnswer{}, 40*ms, 80*ms, 80*ms)
	f("slower than d", asks(), VoteAnswer{}, 240*ms, 125*ms, 250*ms)
	f("without proof", &Core{role: &prospective{}, mourned: noMourning}, VoteAnswer{}, 21*ms, 84*ms, 84*ms)
	votes := asks()
	votes.role = &candidate{}
	f("a vote", votes, VoteAnswer{}, 21*ms, 84*ms, 84*ms)
	f("fetches are parked", asks(), FetchAnswer{}, 100*ms, 20*ms, 20*ms)
	f("snapshots are large", asks(), SnapshotAnswer{}, 100*ms, 20*ms, 20*ms)
	f("changes wait for others", asks(), UpdateVoterAnswer{}, 100*ms, 20*ms, 20*ms)
}
