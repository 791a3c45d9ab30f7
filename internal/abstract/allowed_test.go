package abstract

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

func key(id kafka.NodeID) kafka.ReplicaKey { return kafka.ReplicaKey{Node: id} }

// three is node 1 of three static voters, whose log has ten records of epoch 2.
func three() State {
	var set []Voter
	for id := kafka.NodeID(1); id <= 3; id++ {
		set = append(set, Voter{key(id), 1})
	}
	return begin(Disk{
		Self: key(1), Endpoints: 1, Controller: true, Static: set, Epoch: 3, Voted: noKey, Leader: kafka.NoNode,
		LogEnd: 10, Epochs: []EpochStart{{2, 0}},
	})
}

func ask(preVote bool, epoch kafka.Epoch, end kafka.Offset) Event {
	return Event{Kind: VoteRequest, Message: Message{
		Kind: VoteRequest, From: key(2), To: noKey, PreVote: preVote, Epoch: epoch, LastEpoch: min(2, epoch), Offset: end,
	}}
}

// first is the post in which no timer has ended.
func first(t *testing.T, s State, ev Event) Post {
	t.Helper()
	all := Allowed(s, ev)
	if len(all) == 0 {
		t.Fatalf("nothing is allowed after %s in %v", ev.Kind, s.Seen)
	}
	return all[0]
}

func heard(s State) State {
	s.heard()
	return s
}

// 3.3: what each role grants, to one whose log is long enough (10) and to one
// whose log is not (9).
func TestGrants(t *testing.T) {
	f := func(what string, s State, preVotes, votes, shorter bool) {
		t.Helper()
		got := []bool{
			first(t, s, ask(true, 3, 10)).Answer.Granted, first(t, s, ask(false, 3, 10)).Answer.Granted,
			first(t, s, ask(true, 3, 9)).Answer.Granted,
		}
		if want := []bool{preVotes, votes, shorter}; !slices.Equal(got, want) {
			t.Errorf("%s grants %v, want %v", what, got, want)
		}
	}
	follower := three().follow(3, 3, 1)
	fetched, told, proven := heard(follower), heard(follower), heard(follower)
	told.farewell, proven.gone = true, true
	voted := three()
	voted.Voted = key(3)
	f("unattached", three(), true, true, false)
	f("unattached that has voted for another", voted, true, false, false)
	f("unattached that knows the leader", three().unattached(3, 3), true, false, false)
	f("prospective", three().prospective(), true, true, false)
	f("follower that has not fetched", follower, true, false, false)
	f("follower that has fetched", fetched, false, false, false)
	f("follower whose leader resigned (B5)", told, true, false, false)
	f("follower whose leader is proven dead (B3)", proven, true, false, false)
	f("candidate", candidateOf3(), true, false, false)
	f("leader", candidateOf3().lead()[0], false, false, false)
	f("resigned", candidateOf3().lead()[0].enter(Resigned), false, false, false) // its own record made its log longer
}

// candidateOf3 stands in epoch 3.
func candidateOf3() State {
	s := three()
	s.Epoch = 2
	return s.prospective().stand()
}

// Who may have voted in the next epoch and has forgotten it votes neither for another
// there, nor for itself, whether it has followed a leader since or not.
func TestVotesAreForgottenForOneEpoch(t *testing.T) {
	f := func(what string, s State, other, own kafka.Epoch) {
		t.Helper()
		for epoch := s.Epoch + 1; epoch <= other; epoch++ {
			p := first(t, s, ask(false, epoch, 10))
			if p.Answer.Granted != (epoch == other) {
				t.Errorf("%s: votes for another in epoch %d: %t", what, epoch, p.Answer.Granted)
			}
			s = p.State
		}
		if k := s.prospective().stand(); k.Epoch != own || k.votesLost() {
			t.Errorf("%s: stands in epoch %d", what, k.Epoch)
		}
	}
	lost := three()
	lost.lostUpTo, lost.seeking = lost.Epoch, true
	f("nothing forgotten", three(), 4, 5)
	f("forgotten", lost, 5, 6)
	f("forgotten, and it stands itself", lost, 0, 5)
	f("forgotten, with a leader since", heard(lost.follow(3, 3, 1)), 5, 6)
}

// 2.2: a request of a higher epoch comes first to a node without leader and vote,
// also when it is a pre-vote; one of a lower epoch is fenced.
func TestEpochsOfRequests(t *testing.T) {
	s := heard(three().follow(3, 3, 1))
	if p := first(t, s, ask(true, 4, 10)); p.Epoch != 4 || p.Role != Unattached || p.Leader != kafka.NoNode || !p.Answer.Granted {
		t.Errorf("after a pre-vote of epoch 4: %v, granted %t", p.Seen, p.Answer.Granted)
	}
	if p := first(t, s, ask(false, 4, 10)); p.Voted != key(2) || !p.Answer.Granted {
		t.Errorf("after a vote request of epoch 4: %v", p.Seen)
	}
	if p := first(t, s, ask(true, 2, 10)); p.Answer.Code != kerr.FencedLeaderEpoch || !p.Seen.same(&s.Seen) && p.Epoch != 3 {
		t.Errorf("a pre-vote of epoch 2 is answered %v, %v", p.Answer.Code, p.Seen)
	}
}

// R10: a pre-vote of our own epoch leaves no trace.
func TestPreVotesLeaveNoTrace(t *testing.T) {
	for _, s := range []State{three(), heard(three().follow(3, 3, 1)), three().prospective(), candidateOf3()} {
		s.Entered = nil
		if p := first(t, s, ask(true, 3, 10)); !p.Seen.same(&s.Seen) {
			t.Errorf("%v becomes %v", s.Seen, p.Seen)
		}
	}
}

// 6.7: the high watermark passes the start of the epoch, or does not move; our own
// part of it is what is durable (B7).
func TestHighWatermark(t *testing.T) {
	fetch := func(s State, id kafka.NodeID, end kafka.Offset) State {
		return first(t, s, Event{Kind: FetchRequest, Message: Message{
			Kind: FetchRequest, From: key(id), Epoch: 3, LastEpoch: s.lastEpochOf(end), Offset: end,
		}}).State
	}
	l := candidateOf3().lead()[0] // its log ends at 11, and is durable up to 10
	if s := fetch(l, 2, 10); s.leaderHW != kafka.NoOffset {
		t.Errorf("%d is committed, before a record of the epoch is", s.leaderHW)
	}
	if s := fetch(l, 2, 11); s.leaderHW != kafka.NoOffset {
		t.Errorf("%d is committed, which one disk has", s.leaderHW)
	}
	if s := fetch(fetch(l, 2, 11), 3, 11); s.leaderHW != 11 || s.HighWatermark != 11 {
		t.Errorf("two others have 11, and %d is committed", s.leaderHW)
	}
	synced := first(t, fetch(l, 2, 11), Event{Kind: Synced, Seq: 1, End: 11})
	if synced.leaderHW != 11 {
		t.Errorf("we and another have 11, and %d is committed", synced.leaderHW)
	}
	if s := fetch(fetch(l, 4, 11), 5, 11); s.leaderHW != kafka.NoOffset {
		t.Errorf("observers have 11, and %d is committed (R13)", s.leaderHW)
	}
}

// 8.1, R11, R16: a leader changes one voter at a time, after the set before it is
// committed and after something of its epoch is.
func TestChangesOfTheVoters(t *testing.T) {
	dir := func(id kafka.NodeID) kafka.ReplicaKey {
		return kafka.ReplicaKey{Node: id, Dir: kafka.DirID{15: byte(id)}}
	}
	set := func(ids ...kafka.NodeID) (out []Voter) {
		for _, id := range ids {
			out = append(out, Voter{dir(id), 1})
		}
		return out
	}
	leader := begin(Disk{
		Self: dir(1), Endpoints: 1, Controller: true, Epoch: 2, Voted: noKey, Leader: kafka.NoNode, LogEnd: 10,
		Epochs: []EpochStart{{2, 0}}, Sets: []SetAt{{1, set(1, 2, 3)}}, Levels: []LevelAt{{0, 1}},
	}).prospective().stand().lead()[0]
	f := func(what string, s State, chosen []Voter, appended bool) {
		t.Helper()
		p := first(t, s, Event{Kind: RemoveRequest, Chosen: chosen})
		if got := p.LogEnd > s.LogEnd; got != appended {
			t.Errorf("%s: appended %t, want %t", what, got, appended)
		}
	}
	f("nothing of the epoch is committed", leader, set(1, 2), false)
	leader.leaderHW, leader.HighWatermark = 11, 11
	f("one less", leader, set(1, 2), true)
	f("two less", leader, set(1), false)
	f("one more", leader, set(1, 2, 3, 4), true)
	f("one more and one less", leader, set(1, 2, 4), false)
	twice := append(set(1, 2, 3), Voter{kafka.ReplicaKey{Node: 4, Dir: dir(3).Dir}, 1})
	f("a directory twice", leader, twice, false)
	open := first(t, leader, Event{Kind: RemoveRequest, Chosen: set(1, 2)}).State
	f("one is not committed", open, set(1, 2, 4), false)
	static := candidateOf3().lead()[0]
	raise := Event{Kind: RaiseRequest, Chosen: set(1, 2, 3), Message: Message{Level: 1}}
	if p := first(t, static, raise); p.LogEnd > static.LogEnd {
		t.Error("voters get into the log before anything of the epoch is committed")
	}
	static.leaderHW, static.HighWatermark = 11, 11
	if p := first(t, static, raise); p.LogEnd == static.LogEnd {
		t.Error("voters do not get into the log")
	}
	gone := first(t, leader, Event{Kind: RemoveRequest, Chosen: set(2, 3)}).State
	gone.leaderHW = gone.LogEnd
	if p := first(t, gone, Event{Kind: Passed}); p.Role != Resigned {
		t.Errorf("a leader whose removal is committed is %s (R12)", p.Role)
	}
}

// 1.2: what a process is when it starts.
func TestBegin(t *testing.T) {
	f := func(epoch kafka.Epoch, voted, leader kafka.NodeID, want Role, wantEpoch kafka.Epoch) {
		t.Helper()
		s := begin(Disk{
			Self: key(1), Static: three().static, Epoch: epoch, Voted: key(voted), Leader: leader, LogEnd: 10, Epochs: []EpochStart{{2, 0}},
		})
		if s.Role != want || s.Epoch != wantEpoch {
			t.Errorf("epoch %d voted %d leader %d: %v", epoch, voted, leader, s.Seen)
		}
	}
	f(3, -1, -1, Unattached, 3)
	f(1, 1, -1, Unattached, 2) // the log is of a later epoch
	f(3, 1, 1, Resigned, 3)    // a leader never leads its epoch again (KAFKA-10527)
	f(3, 1, -1, Candidate, 3)  // no new epoch
	f(3, 2, -1, Unattached, 3) // its vote stays
	f(3, 2, 3, Follower, 3)
	f(3, 1, 3, Follower, 3)    // it stood, and followed the winner
	f(3, -1, 9, Unattached, 3) // nobody knows where 9 is
}

// An event that the protocol does not know is not in the relation, and neither is
// anything before a start.
func TestUnknownEvents(t *testing.T) {
	if got := Allowed(three(), Event{Kind: "gossip"}); len(got) > 0 {
		t.Errorf("gossip leads to %v", got[0].Seen)
	}
	if got := Allowed(State{}, Event{Kind: Passed}); len(got) > 0 {
		t.Errorf("time passes for nobody: %v", got[0].Seen)
	}
	var tr Tracker
	if err := tr.Step(&Step{Event: Event{Kind: Start}}); err == nil {
		t.Error("a start without a disk is taken")
	}
}

// A timer may end at any step, but a follower's end leads to a pre-vote and never
// to another epoch.
func TestTimers(t *testing.T) {
	var roles []Role
	for _, p := range Allowed(three().follow(3, 3, 1), Event{Kind: Passed}) {
		roles = append(roles, p.Role)
		if p.Epoch != 3 {
			t.Errorf("time leads to epoch %d", p.Epoch)
		}
	}
	if !slices.Equal(roles, []Role{Follower, Prospective, Follower}) {
		t.Errorf("a follower becomes %v", roles)
	}
}

// An observer takes no epoch without a leader from an answer, a voter does: nobody
// needs the observer's vote.
func TestObserversStayBehind(t *testing.T) {
	f := func(self kafka.NodeID, want kafka.Epoch) {
		t.Helper()
		s := three().follow(3, 3, 1)
		s.self, s.questions = key(self), []question{{call: 7, to: 3, kind: FetchRequest}}
		p := first(t, s, Event{Kind: FetchAnswer, Call: 7, Message: Message{
			Kind: FetchAnswer, Code: kerr.FencedLeaderEpoch, Epoch: 5, Leader: kafka.NoNode,
		}})
		if p.Epoch != want {
			t.Errorf("node %d goes to epoch %d, want %d", self, p.Epoch, want)
		}
	}
	f(1, 5)
	f(9, 3)
}

// A fetch that is parked in the step in which a leader gives up is answered with
// all that is parked; nothing else may be answered so.
func TestParkedFetchOfALeaderThatGivesUp(t *testing.T) {
	leader := candidateOf3().lead()[0]
	f := func(end kafka.Offset, role Role, taken bool) {
		t.Helper()
		fetch := Message{Kind: FetchRequest, From: key(9), Epoch: 3, LastEpoch: 2, Offset: end, Wait: 1}
		at := slices.IndexFunc(Allowed(leader, Event{Kind: FetchRequest, Message: fetch}), func(p Post) bool { return p.Role == role })
		p := Allowed(leader, Event{Kind: FetchRequest, Message: fetch})[at]
		err := p.answer(FetchRequest, &Message{Code: kerr.NotLeaderOrFollower, Epoch: 3, Leader: 1, HighWatermark: kafka.NoOffset})
		if (err == nil) != taken {
			t.Errorf("a fetch from %d of one who is %s then: %v", end, role, err)
		}
	}
	f(10, Resigned, true)
	f(10, Leader, false)
	f(99, Resigned, false) // it diverges, and is not parked
}

// An answer that brings nothing is no sign of life: who has only had such ones
// still grants pre-votes.
func TestAnswersInVain(t *testing.T) {
	f := func(what string, m Message, heard bool) {
		t.Helper()
		s := three().follow(3, 3, 1)
		s.questions = []question{{call: 7, to: 3, kind: FetchRequest}}
		m.Kind, m.Epoch, m.Leader, m.HighWatermark = FetchAnswer, 3, 3, kafka.NoOffset
		if p := first(t, s, Event{Kind: FetchAnswer, Call: 7, Message: m}); p.fetched != heard {
			t.Errorf("%s: heard %t, want %t", what, p.fetched, heard)
		}
	}
	f("nothing new", Message{}, true)
	f("records", Message{Records: &Records{Base: 10, End: 12, Epochs: []EpochStart{{3, 10}}}}, true)
	f("other records", Message{Records: &Records{Base: 4, End: 6, Epochs: []EpochStart{{2, 4}}}}, false)
	f("damaged records", Message{Damaged: true}, false)
	f("a cut where the log ends", Message{Diverging: &EpochEnd{2, 10}}, false)
	f("a cut", Message{Diverging: &EpochEnd{2, 8}}, true)
}

// Who grants a pre-vote takes no more records that it asked for before, and neither
// takes such an answer for a sign of life: its log must not get longer than the one it
// has granted. Who refuses goes on, and an answer without records counts as ever.
func TestRecordsAfterAGrant(t *testing.T) {
	f := func(what string, granting kafka.Offset, records *Records, end kafka.Offset, heard bool) {
		t.Helper()
		s := three().follow(3, 3, 1)
		s.questions = []question{{call: 7, to: 3, kind: FetchRequest}}
		s = first(t, s, ask(true, 3, granting)).State
		p := first(t, s, Event{Kind: FetchAnswer, Call: 7, Message: Message{
			Kind: FetchAnswer, Epoch: 3, Leader: 3, HighWatermark: kafka.NoOffset, Records: records,
		}})
		if p.LogEnd != end || p.fetched != heard {
			t.Errorf("%s: the log ends at %d, heard %t; want %d, %t", what, p.LogEnd, p.fetched, end, heard)
		}
	}
	records := &Records{Base: 10, End: 12, Epochs: []EpochStart{{3, 10}}}
	f("granted", 10, records, 10, false)
	f("refused", 9, records, 12, true)
	f("granted, without records", 10, nil, 10, true)
}

// What a leader that has said farewell was asked before it did so is answered in vain: it
// is no sign that it leads (B5). What it is asked afterwards counts as ever.
func TestAnswersAfterAFarewell(t *testing.T) {
	f := func(what string, asked uint64, heard bool) {
		t.Helper()
		s := three().follow(3, 3, 1)
		s.questions = []question{{call: 7, to: 3, kind: FetchRequest}}
		s = first(t, s, Event{Kind: EndRequest, Message: Message{Kind: EndRequest, Epoch: 3, Leader: 3}}).State
		s.questions = append(slices.Clone(s.questions), question{call: 8, to: 3, kind: FetchRequest})
		p := first(t, s, Event{Kind: FetchAnswer, Call: asked, Message: Message{
			Kind: FetchAnswer, Epoch: 3, Leader: 3, HighWatermark: kafka.NoOffset,
		}})
		if p.fetched != heard || p.farewell == heard {
			t.Errorf("%s: heard %t, farewell %t; want %t", what, p.fetched, p.farewell, heard)
		}
	}
	f("asked before", 7, false)
	f("asked afterwards", 8, true)
}
