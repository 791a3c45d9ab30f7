package abstract

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// refuse is what comes of refusing a pre-vote in a step that enters roles.
func refuse(t *testing.T, s State, ev Event, entered ...Role) (State, error) {
	t.Helper()
	s.Entered = nil
	all := Allowed(s, ev)
	i := slices.IndexFunc(all, func(p Post) bool { return slices.Equal(p.Entered, entered) })
	if i < 0 {
		t.Fatalf("a %s cannot enter %v", s.Role, entered)
	}
	p := all[i]
	err := p.answer(VoteRequest, &Message{Epoch: p.Answer.Epoch, Leader: p.Answer.Leader})
	return p.State, err
}

// bereaved is a follower whose early round was lost: it had proof that its leader, 3,
// is dead.
func bereaved(epoch kafka.Epoch) State {
	s := three().follow(epoch, 3, 1)
	s.mourned = epoch
	return s
}

// B3: who insists on its round does so in odd epochs, after its last round was lost,
// against a log that is equal to its own, and begins its round at once.
func TestWhoInsists(t *testing.T) {
	f := func(what string, want bool, s State, ev Event, entered ...Role) {
		t.Helper()
		if _, err := refuse(t, s, ev, entered...); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("as it should be", true, bereaved(3), ask(true, 3, 10), Prospective)
	f("without a round of its own", false, bereaved(3), ask(true, 3, 10))
	f("without proof", false, three().follow(3, 3, 1), ask(true, 3, 10), Prospective)
	f("in an even epoch", false, bereaved(4), ask(true, 4, 10), Prospective)
	f("against a longer log", false, bereaved(3), ask(true, 3, 11), Prospective)
	f("against a vote that counts", false, three().prospective(), ask(false, 3, 10), Prospective)
	early, told, asked := bereaved(3), bereaved(3), bereaved(3)
	early.gone, told.farewell, asked.closing = true, true, true
	f("before its early round", false, early, ask(true, 3, 10), Prospective)
	f("after a farewell", false, told, ask(true, 3, 10), Prospective)
	f("when it is to stop", false, asked, ask(true, 3, 10))
	half := bereaved(3)
	half.synced = 9
	f("with less on its disk", false, half, ask(true, 3, 10), Prospective)
}

// B3: in a round of its own it insists on the next one when this voter has refused it,
// and it is not won all the same. It may refuse for B4, too, so this looks at B3 alone.
func TestWhoInsistsInARound(t *testing.T) {
	f := func(what string, want bool, granted ...bool) {
		t.Helper()
		s, m := bereaved(3).prospective(), ask(true, 3, 10).Message
		for i, g := range granted {
			s.round = s.round.with(kafka.NodeID(2+i), g)
		}
		if got := s.mayInsist(&m); got != want {
			t.Errorf("%s: may insist %t", what, got)
		}
	}
	f("nobody has answered", false)
	f("this voter has granted", false, true)
	f("this voter has refused", true, false)
	f("this voter has refused, and the round is won", false, false, true)
}

// B3: once in an epoch, whether a round was lost before or is under way.
func TestWhoInsistsDoesSoOnceInAnEpoch(t *testing.T) {
	s, err := refuse(t, bereaved(3), ask(true, 3, 10), Prospective)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refuse(t, s.fallBack(), ask(true, 3, 10), Prospective); err == nil {
		t.Error("it insists a second time, as a follower")
	}
	s.round = s.round.with(2, false)
	if _, err := refuse(t, s, ask(true, 3, 10), Follower, Prospective); err == nil {
		t.Error("it insists a second time, in its round")
	}
	s.insisted = kafka.NoEpoch
	if _, err := refuse(t, s, ask(true, 3, 10), Follower, Prospective); err != nil {
		t.Errorf("it may not insist once: %v", err)
	}
}

// B4: of two rounds the one precedes that has the longer log, or else that of the
// lower id; but not one that the other has refused.
func TestWhichRoundPrecedes(t *testing.T) {
	f := func(what string, want bool, s State, end kafka.Offset) {
		t.Helper()
		if _, err := refuse(t, s, ask(true, 3, end)); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	own, refused, other := three().prospective(), three().prospective(), three().prospective()
	refused.round = refused.round.with(2, false)
	other.self = key(3)
	older := three()
	older.epochs, older.LastEpoch = []EpochStart{{1, 0}}, 1
	f("equal logs, the lower id", true, own, 10)
	f("equal logs, the higher id", false, other, 10)
	f("a longer log", false, own, 11)
	f("a longer log of a later epoch", false, older.prospective(), 11)
	f("a shorter log of a later epoch", false, older.prospective(), 9)
	f("refused before", false, refused, 10)
	f("no round", false, three(), 10)
	if _, err := refuse(t, own, ask(false, 3, 10), Prospective); err == nil {
		t.Error("a vote that counts is refused for the sake of a round")
	}
}
