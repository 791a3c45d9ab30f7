package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// crowd fills a group with n members that have all joined generation 1.
func crowd(b *bench, n int) *classic {
	for i := range n {
		b.step(&Join{
			Call: Call{Group: "g"}, InstanceID: fmt.Sprint(i), SessionTimeout: time.Minute, RebalanceTimeout: time.Minute,
			ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}},
		})
	}
	b.advance(time.Minute)
	b.answered = nil
	return b.shard.groups.byID["g"]
}

// A Join that names more than MaxProtocols is refused before any of them is
// looked at: it allocates no more than one that names none.
func TestJoinOfManyProtocolsIsRefusedFirst(t *testing.T) {
	b := newBench(t)
	f := func(n int, want kerr.Code) float64 {
		t.Helper()
		j := &Join{Call: Call{Group: "g"}, SessionTimeout: time.Minute, ProtocolType: "consumer", Protocols: make([]Protocol, n)}
		for i := range j.Protocols {
			j.Protocols[i].Name = fmt.Sprint(i)
		}
		cost := testing.AllocsPerRun(1, func() { b.shard.join(j) })
		if j.Err != want {
			t.Errorf("join of %d protocols: %v, want %v", n, j.Err, want)
		}
		return cost
	}
	none := f(0, kerr.InconsistentGroupProtocol)
	if many := f(MaxProtocols+1, kerr.InvalidRequest); many > none {
		t.Errorf("a refused join takes %v allocations, one without protocols %v", many, none)
	}
	if b.shard.groups.byID["g"] != nil {
		t.Error("a refused join made a group")
	}
	f(MaxProtocols, kerr.None)
}

// Of protocols with the same name the first counts, as in Apache Kafka, and the
// others are not kept.
func TestUnique(t *testing.T) {
	f := func(want string, names ...string) {
		t.Helper()
		var list []Protocol
		for i, n := range names {
			list = append(list, Protocol{Name: n, Metadata: []byte{byte('0' + i)}})
		}
		got := ""
		for _, p := range unique(list) {
			got += p.Name + string(p.Metadata)
		}
		if got != want {
			t.Errorf("%q become %q, want %q", names, got, want)
		}
	}
	f("")
	f("a0", "a")
	f("a0", "a", "a", "a")
	f("a0b1c4", "a", "b", "a", "b", "c")
}

// Members stand in the order in which they came, and leave from any place.
func TestLine(t *testing.T) {
	var l line
	ms := make([]*member, 5)
	want := func(ids string) {
		t.Helper()
		got := ""
		for m := range l.all() {
			got += m.id
		}
		if got != ids || l.len() != len(ids) {
			t.Errorf("%d in line: %q, want %q", l.len(), got, ids)
		}
	}
	want("")
	for i := range ms {
		ms[i] = &member{id: string(rune('a' + i))}
		l.push(ms[i])
	}
	want("abcde")
	l.remove(ms[2])
	want("abde")
	l.remove(ms[0])
	want("bde")
	l.remove(ms[4])
	want("bd")
	l.push(ms[0])
	want("bda")
	for m := range l.all() {
		l.remove(m)
	}
	want("")
}

// A member that leaves costs the others nothing: its removal touches its two
// neighbours and no list of all.
func TestLeaveOfAllAtOnce(t *testing.T) {
	const n = 5_000
	b := newBench(t)
	g := crowd(b, n)
	if g.roster.members.len() != n {
		t.Fatalf("%d members", g.roster.members.len())
	}
	r := &Leave{Call: Call{Group: "g"}}
	for m := range g.roster.members.all() {
		r.Members = append(r.Members, LeavingMember{InstanceID: m.instance})
	}
	r.Members = slices.Concat(r.Members, r.Members) // each named twice
	b.ask(r, kerr.None)
	for i, m := range r.Members {
		want := kerr.None
		if i >= n {
			want = kerr.UnknownMemberId
		}
		if m.Err != want {
			t.Fatalf("member %d: %v, want %v", i, m.Err, want)
		}
	}
	if g.state != Empty || g.roster.members.len() != 0 {
		t.Errorf("%v with %d members", g.state, g.roster.members.len())
	}
}

// Of an assignment only what is for members is kept.
func TestSyncKeepsWhatIsForMembers(t *testing.T) {
	b := newBench(t)
	g := crowd(b, 2)
	b.holding = true
	r := &Sync{Call: Call{Group: "g"}, Member: Member{MemberID: g.roster.leader, Generation: 1}}
	for i := range 10_000 {
		r.Assignments = append(r.Assignments, Assignment{MemberID: fmt.Sprint("nobody-", i), Bytes: []byte("x")})
	}
	r.Assignments = append(r.Assignments, Assignment{MemberID: g.roster.leader, Bytes: []byte("mine")})
	b.step(r)
	u := b.shard.desk.queue.units[0].unit.(*syncUnit)
	if len(u.given) != 1 || string(u.given[g.roster.leader]) != "mine" {
		t.Errorf("%d assignments are kept", len(u.given))
	}
}

// A partition that a request names again and again is forgotten once.
func TestForgetNamedOften(t *testing.T) {
	b := newBench(t)
	b.ask(commit("g", outside, "t", "u"), kerr.None)
	b.appended = nil
	r := &DeleteOffsets{Call: Call{Group: "g"}}
	for range 50_000 {
		for _, topic := range []string{"u", "t", "v"} {
			r.Offsets = append(r.Offsets, DeleteOffset{TopicPartition: kafka.TopicPartition{Topic: topic}})
		}
	}
	b.ask(r, kerr.None)
	if len(b.appended) != 2 {
		t.Errorf("%d tombstones", len(b.appended))
	}
}

// A commit whose records would be many times its own size is refused before any
// of them is made.
func TestCommitThatGrowsIsRefusedFirst(t *testing.T) {
	b := newBench(t)
	long := string(make([]byte, maxString))
	c := commit(long, outside, slices.Repeat([]string{"t"}, maxCommitBytes/maxString+1)...)
	b.ask(c, kerr.InvalidCommitOffsetSize)
	if len(b.appended) > 0 || b.shard.groups.byID[long] != nil {
		t.Errorf("%d records were made", len(b.appended))
	}
	b.ask(commit(long, outside, "t", "t"), kerr.None)
}
