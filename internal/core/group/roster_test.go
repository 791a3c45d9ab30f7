package group

import (
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// rosterOf makes members from words like "a:range,sticky": an id, "@" and an
// instance id perhaps, and the protocols in order of preference.
func rosterOf(words ...string) *roster {
	r := &roster{}
	for _, w := range words {
		who, protocols, _ := strings.Cut(w, ":")
		m := &member{}
		m.id, m.instance, _ = strings.Cut(who, "@")
		for p := range strings.SplitSeq(protocols, ",") {
			m.protocols = append(m.protocols, Protocol{Name: p})
		}
		r.add(m)
	}
	return r
}

// Each member votes for the first of its protocols that all support; a tie goes
// to what an earlier member prefers.
func TestChoose(t *testing.T) {
	f := func(want string, words ...string) {
		t.Helper()
		if got := rosterOf(words...).choose(); got != want {
			t.Errorf("%q choose %q, want %q", words, got, want)
		}
	}
	f("range", "a:range")
	f("sticky", "a:range,sticky", "b:sticky")
	f("sticky", "a:range,sticky", "b:sticky,range", "c:sticky,range")
	f("range", "a:range,sticky", "b:sticky,range")
	f("sticky", "a:only-a,sticky", "b:only-b,sticky")
}

// The first member leads, and the next in line when it goes.
func TestSuccession(t *testing.T) {
	r := rosterOf("a:p", "b:p", "c:p")
	f := func(leave, want string) {
		t.Helper()
		r.drop(r.byID[leave])
		if r.leader != want {
			t.Errorf("without %s, %q leads; want %q", leave, r.leader, want)
		}
	}
	f("b", "a")
	f("a", "c")
	f("c", "")
	if len(r.votes)+len(r.byID)+len(r.static) > 0 {
		t.Errorf("of those who left remains %+v", r)
	}
}

// A leader that has not rejoined gives its place to the first that has.
func TestElectJoined(t *testing.T) {
	r := rosterOf("a@i:p", "b:p", "c:p")
	if r.electJoined() {
		t.Fatal("nobody has joined, and somebody leads")
	}
	r.park(r.byID["c"], &Join{})
	r.park(r.byID["b"], &Join{})
	if !r.electJoined() || r.leader != "b" {
		t.Errorf("%q leads", r.leader)
	}
	if r.unpark(r.byID["b"]) == nil || r.unpark(r.byID["b"]) != nil || r.joining != 1 {
		t.Errorf("%d are joining", r.joining)
	}
	if !r.electJoined() || r.leader != "c" {
		t.Errorf("%q leads", r.leader)
	}
}

// An instance id binds its member's id (KIP-345); a renamed member answers to
// the new id only, and leads on.
func TestCheck(t *testing.T) {
	r := rosterOf("a@i:p", "b:p")
	f := func(member, instance string, want kerr.Code) {
		t.Helper()
		if got := r.check(member, instance); got != want {
			t.Errorf("%s of instance %q: %v, want %v", member, instance, got, want)
		}
	}
	f("a", "i", kerr.None)
	f("a", "", kerr.None)
	f("b", "i", kerr.FencedInstanceId)
	f("a", "j", kerr.UnknownMemberId)
	f("x", "", kerr.UnknownMemberId)
	r.rename(r.byID["a"], "a2")
	f("a", "i", kerr.FencedInstanceId)
	f("a", "", kerr.UnknownMemberId)
	f("a2", "i", kerr.None)
	if r.leader != "a2" {
		t.Errorf("%q leads", r.leader)
	}
}

// A member owes one Sync at a time, and owes none when it is gone.
func TestOwedSyncs(t *testing.T) {
	r := rosterOf("a:p", "b:p", "c:p")
	for m := range r.members.all() {
		r.owe(m)
		r.owe(m)
	}
	r.synced(r.byID["a"])
	r.synced(r.byID["a"])
	r.drop(r.byID["b"])
	if r.unsynced != 1 {
		t.Errorf("%d owe a Sync, want c alone", r.unsynced)
	}
}

// What a member supports anew replaces what it supported.
func TestSupport(t *testing.T) {
	r := rosterOf("a:range", "b:range,sticky")
	sticky := []Protocol{{Name: "sticky"}}
	if r.agrees(sticky) {
		t.Error("a does not support sticky")
	}
	r.support(r.byID["a"], sticky)
	if !r.agrees(sticky) || r.agrees([]Protocol{{Name: "range"}}) {
		t.Errorf("votes %v", r.votes)
	}
	r.members.last.rebalanceTimeout = time.Minute
	if got := r.rebalanceTimeout(); got != time.Minute {
		t.Errorf("the slowest may take %v", got)
	}
}
