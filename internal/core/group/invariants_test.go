package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"pgregory.net/rapid"
)

// world plays random clients against one shard and checks what must hold after
// every step.
type world struct {
	*bench
	asked   map[Request]bool // false: waits, true: answered
	seen    int              // of bench.answered
	ids     []string         // member ids that were handed out
	highest map[string]int32 // generation by group
}

var (
	worldGroups    = []string{"g", "h"}
	worldInstances = []string{"", "", "i1", "i2"}
	worldProtocols = [][]Protocol{
		{{Name: "range", Metadata: []byte("x")}},
		{{Name: "range", Metadata: []byte("y")}, {Name: "sticky"}},
		{{Name: "sticky"}, {Name: "range"}},
	}
)

// TestRandomEvents: whatever clients, the log and time do, every request is
// answered once, generations never go back, members are counted right, and what
// was committed is what a fetch shows and what a new coordinator loads.
func TestRandomEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			bench: newBench(t), asked: map[Request]bool{}, ids: []string{"", "nobody"},
			highest: map[string]int32{},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"join": func(rt *rapid.T) { w.submit(w.randomJoin(rt)) },
			"sync": func(rt *rapid.T) { w.submit(w.randomSync(rt)) },
			"heartbeat": func(rt *rapid.T) {
				g := w.group(rt)
				w.submit(&Heartbeat{Call: Call{Group: g}, Member: w.member(rt, g)})
			},
			"leave":  func(rt *rapid.T) { w.submit(w.randomLeave(rt)) },
			"commit": func(rt *rapid.T) { w.submit(w.randomCommit(rt)) },
			"fetch": func(rt *rapid.T) {
				w.submit(&FetchOffsets{Call: Call{Group: w.group(rt)}, All: true, Stable: rapid.Bool().Draw(rt, "stable")})
			},
			"describe": func(rt *rapid.T) { w.submit(&Describe{Call: Call{Group: w.group(rt)}}) },
			"delete":   func(rt *rapid.T) { w.submit(&Delete{Call: Call{Group: w.group(rt)}}) },
			"forget":   func(rt *rapid.T) { w.step(TopicsDeleted{Topics: []Topic{{"t", w.topic(rt)}}}) },
			"advance":  func(rt *rapid.T) { w.advance(time.Duration(rapid.IntRange(1, 40).Draw(rt, "s")) * time.Second) },
			"hold":     func(rt *rapid.T) { w.holding = true },
			"settle":   func(rt *rapid.T) { w.commitAll() },
			"lose": func(rt *rapid.T) {
				if len(w.waiting) > 0 {
					w.fail(kerr.NotEnoughReplicas)
				}
			},
			"": func(rt *rapid.T) { w.check(rt) },
		})
		w.finish(rt)
	})
}

func (w *world) group(rt *rapid.T) string { return rapid.SampledFrom(worldGroups).Draw(rt, "group") }

func (w *world) instance(rt *rapid.T) string {
	return rapid.SampledFrom(worldInstances).Draw(rt, "instance")
}

// member names somebody who mostly is in the group's current generation.
func (w *world) member(rt *rapid.T, group string) Member {
	m := Member{MemberID: rapid.SampledFrom(w.ids).Draw(rt, "member"), Generation: w.highest[group]}
	if g := w.shard.groups.byID[group]; g != nil && g.roster.members.len() > 0 && rapid.IntRange(0, 9).Draw(rt, "insider") > 1 {
		x := rapid.SampledFrom(slices.Collect(g.roster.members.all())).Draw(rt, "which")
		m.MemberID, m.InstanceID = x.id, x.instance
	}
	if rapid.IntRange(0, 9).Draw(rt, "lag") == 0 {
		m.Generation--
	}
	return m
}

func (w *world) randomJoin(rt *rapid.T) *Join {
	g := w.group(rt)
	j := &Join{
		Call: Call{Group: g}, InstanceID: w.instance(rt), ClientID: "c",
		SessionTimeout: 10 * time.Second, RebalanceTimeout: 20 * time.Second, ProtocolType: "consumer",
		Protocols: rapid.SampledFrom(worldProtocols).Draw(rt, "protocols"),
		NeedsID:   rapid.Bool().Draw(rt, "needsID"), CanSkip: rapid.Bool().Draw(rt, "canSkip"),
	}
	j.Protocols = append([]Protocol(nil), j.Protocols...)
	if rapid.Bool().Draw(rt, "known") {
		m := w.member(rt, g)
		j.MemberID, j.InstanceID = m.MemberID, m.InstanceID
	}
	return j
}

func (w *world) randomSync(rt *rapid.T) *Sync {
	name := w.group(rt)
	s := &Sync{Call: Call{Group: name}, Member: w.member(rt, name)}
	if g := w.shard.groups.byID[name]; g != nil && g.roster.leader == s.MemberID {
		for m := range g.roster.members.all() {
			s.Assignments = append(s.Assignments, Assignment{MemberID: m.id, Bytes: []byte("for " + m.id)})
		}
	}
	return s
}

func (w *world) randomLeave(rt *rapid.T) *Leave {
	g := w.group(rt)
	m := w.member(rt, g)
	return &Leave{Call: Call{Group: g}, Members: []LeavingMember{{MemberID: m.MemberID, InstanceID: m.InstanceID}}}
}

// topic is one of the ids that a name has had; zero stands for none.
func (w *world) topic(rt *rapid.T) kafka.TopicID {
	return topicID(rapid.IntRange(0, 2).Draw(rt, "topic"))
}

func (w *world) randomCommit(rt *rapid.T) *CommitOffsets {
	g := w.group(rt)
	c := &CommitOffsets{Call: Call{Group: g}, Member: w.member(rt, g), UnknownGroup: kerr.GroupIdNotFound, Retention: -1}
	if rapid.Bool().Draw(rt, "simple") {
		c.Member = Member{Generation: -1}
	}
	for _, topic := range []string{"t", "u"}[:rapid.IntRange(1, 2).Draw(rt, "topics")] {
		c.Offsets = append(c.Offsets, CommitOffset{
			TopicPartition: kafka.TopicPartition{Topic: topic}, TopicID: w.topic(rt),
			Offset: kafka.Offset(rapid.IntRange(0, 100).Draw(rt, "offset")),
		})
	}
	return c
}

func (w *world) submit(r Request) {
	w.asked[r] = false
	w.step(r)
}

// check is called after every step.
func (w *world) check(rt *rapid.T) {
	w.collect(rt)
	for _, id := range w.shard.groups.ids() {
		if fault := inconsistency(w.shard.groups.byID[id]); fault != "" {
			rt.Fatalf("group %s: %s", id, fault)
		}
		g := w.shard.groups.byID[id]
		if g.generation < w.highest[id] {
			rt.Fatalf("group %s went from generation %d to %d", id, w.highest[id], g.generation)
		}
		w.highest[id] = g.generation
	}
	for _, id := range worldGroups {
		if w.shard.groups.byID[id] == nil {
			delete(w.highest, id)
		}
	}
	if !w.holding && len(w.waiting) == 0 {
		w.compareWithReload(rt)
	}
}

// collect takes note of answers: each request has one.
func (w *world) collect(rt *rapid.T) {
	for ; w.seen < len(w.answered); w.seen++ {
		r := w.answered[w.seen]
		if w.asked[r] {
			rt.Fatalf("%T was answered twice", r)
		}
		w.asked[r] = true
		if j, ok := r.(*Join); ok && j.Reply.MemberID != "" {
			w.ids = append(w.ids, j.Reply.MemberID)
			w.checkJoin(rt, j)
		}
	}
}

// checkJoin: only the leader hears of the members, and of all of them.
func (w *world) checkJoin(rt *rapid.T, j *Join) {
	leads := j.Err == kerr.None && j.Reply.Leader == j.Reply.MemberID
	if (len(j.Reply.Members) > 0) != leads {
		rt.Fatalf("join of %s, leader %s, has %d members", j.Reply.MemberID, j.Reply.Leader, len(j.Reply.Members))
	}
}

// inconsistency tells what is wrong with a group, or "".
func inconsistency(g *classic) string {
	joining, unsynced, votes := 0, 0, map[string]int{}
	for m := range g.roster.members.all() {
		if m.join != nil {
			joining++
		}
		if m.unsynced {
			unsynced++
		}
		for _, p := range m.protocols {
			votes[p.Name]++
		}
		switch {
		case g.roster.byID[m.id] != m:
			return fmt.Sprintf("member %s is not found by its id", m.id)
		case m.static() && g.roster.static[m.instance] != m:
			return fmt.Sprintf("member %s is not found by its instance %s", m.id, m.instance)
		case m.sync != nil && g.state != CompletingRebalance:
			return fmt.Sprintf("member %s waits in sync in %v", m.id, g.state)
		case m.session.pos == 0 && m.join == nil && m.sync == nil:
			return fmt.Sprintf("nothing ends the session of member %s", m.id)
		case m.session.pos != 0 && m.session.at > m.session.expires:
			return fmt.Sprintf("the session of member %s ends too late", m.id)
		}
	}
	switch {
	case joining != g.roster.joining || unsynced != g.roster.unsynced && g.is(CompletingRebalance, Stable):
		return fmt.Sprintf("counts %d joining and %d unsynced, are %d and %d", g.roster.joining, g.roster.unsynced, joining, unsynced)
	case len(g.roster.byID) != g.roster.members.len() || len(g.roster.static) > g.roster.members.len():
		return "indexes hold somebody who left"
	case !maps.Equal(votes, g.roster.votes) && len(votes)+len(g.roster.votes) > 0:
		return fmt.Sprintf("votes are %v, counted %v", votes, g.roster.votes)
	case (g.roster.leader == "") != (g.roster.members.len() == 0) || g.roster.leader != "" && g.roster.byID[g.roster.leader] == nil:
		return fmt.Sprintf("leader %q of %d members", g.roster.leader, g.roster.members.len())
	case g.is(Empty, Dead) && g.roster.members.len() > 0:
		return "an empty group has members"
	case g.is(CompletingRebalance, Stable) && (g.roster.members.len() == 0 || g.roster.votes[g.protocol] != g.roster.members.len()):
		return fmt.Sprintf("protocol %q does not suit all of %d members", g.protocol, g.roster.members.len())
	case g.state == PreparingRebalance && g.forming.joinTimer.pos == 0:
		return "nothing ends the rebalance"
	}
	return ""
}

// compareWithReload: another coordinator that loads the log has the same
// offsets, and the same members and assignments of stable groups.
func (w *world) compareWithReload(rt *rapid.T) {
	cfg := w.cfg
	cfg.Random = seed(99)
	other := New(cfg)
	for _, r := range w.log {
		if err := other.Replay(kafka.NoProducer, r.key, r.value); err != nil {
			rt.Fatal(err)
		}
	}
	for _, id := range worldGroups {
		a, b := w.shard.groups.byID[id], other.groups.byID[id]
		if x, y := offsetsOf(a), offsetsOf(b); !maps.Equal(x, y) {
			rt.Fatalf("group %s has offsets %v, in the log %v", id, x, y)
		}
		if a == nil || a.state != Stable {
			continue
		}
		if b == nil || b.state != Stable || b.generation != a.generation || b.roster.leader != a.roster.leader || b.roster.members.len() < a.roster.members.len() {
			rt.Fatalf("group %s in generation %d is not in the log", id, a.generation)
		}
		for m := range a.roster.members.all() {
			if x := b.roster.byID[m.id]; x == nil || string(x.assignment) != string(m.assignment) || x.instance != m.instance {
				rt.Fatalf("assignment of %s in group %s is not in the log", m.id, id)
			}
		}
	}
}

func offsetsOf(g *classic) map[kafka.TopicPartition]kafka.Offset {
	all := map[kafka.TopicPartition]kafka.Offset{}
	if g != nil {
		for tp, o := range g.offsets {
			if o.set {
				all[tp] = o.offset
			}
		}
	}
	return all
}

// finish resigns: afterwards nobody waits.
func (w *world) finish(rt *rapid.T) {
	w.waiting = nil
	w.step(Resigned{})
	w.collect(rt)
	for r, answered := range w.asked {
		if !answered {
			rt.Fatalf("%T was never answered", r)
		}
	}
}
