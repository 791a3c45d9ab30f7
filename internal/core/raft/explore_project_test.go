package raft

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/explore"
)

var (
	projectFlag = flag.String("project", "", "write the projected states of the scope -scope to this file")
	scopeFlag   = flag.String("scope", "election", "the scope of -project")
)

// project is what an independent description of the protocol has of a state too,
// nodes in order with "|" between them: epoch, role, vote, leader, the epoch of
// each batch of the log, the voters by it if not all nodes are, and how many batches
// the node knows as committed. A leader and one that was it show no vote: they
// cannot vote in that epoch.
func (s *scope) project(state []byte) string {
	var w opened
	w.open(s, state)
	var out strings.Builder
	for i := range s.nodes() {
		p := w.node(i)
		if i > 0 {
			out.WriteByte('|')
		}
		role, e := p.core.role.name(), p.core.election
		voted := max(e.Voted.Node, 0)
		if role == RoleLeader || role == RoleResigned {
			voted = 0
		}
		fmt.Fprintf(&out, "%d %s %d %d %s %s", e.Epoch, role, voted, max(e.Leader, 0), s.logOf(p), committedBatches(p))
	}
	return out.String()
}

func (s *scope) logOf(p *part) string {
	if len(p.written) == 0 {
		return "-"
	}
	var out strings.Builder
	for _, b := range p.written {
		fmt.Fprintf(&out, "%d", b.epoch)
	}
	if voters := p.core.quorum.voters(); len(voters) < s.nodes() {
		out.WriteByte('@')
		for _, v := range voters {
			fmt.Fprintf(&out, "%d", v.Key.Node)
		}
	}
	return out.String()
}

func committedBatches(p *part) string {
	n := 0
	for _, b := range p.written {
		if b.end <= max(p.core.hw, kafka.Offset(0)) {
			n++
		}
	}
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// shared are scopes small enough to be compared with a description of the protocol
// whose checker visits a few hundred states a second.
func shared() []scope {
	led := scope{voters: 3, epochs: 2, atOnce: true, elected: true}
	with := func(name string, change func(*scope)) scope {
		s := led
		change(&s)
		s.name = name
		return s
	}
	return []scope{
		with("replication between three", func(s *scope) { s.bounds[proposals] = 1 }),
		with("a follower of three is removed", func(s *scope) { s.dynamic, s.about, s.bounds[changes] = true, 3, 1 }),
		with("the leader of three is removed", func(s *scope) { s.dynamic, s.about, s.bounds[changes] = true, 1, 1 }),
		with("a voter is added to two", func(s *scope) {
			s.voters, s.spares, s.dynamic, s.seek, s.about, s.bounds[changes] = 2, 1, true, true, 3, 1
		}),
		with("one voter becomes two, and then the other one", func(s *scope) {
			s.voters, s.spares, s.dynamic, s.seek, s.bounds[changes] = 1, 1, true, true, 2
		}),
	}
}

// A scope can be compared with other descriptions of the protocol: with -project
// its projected states go into a file, one a line, sorted. Whoever has another
// description of the same scope must have the same lines.
func TestExploreProjected(t *testing.T) {
	small, large := scopes()
	all := slices.Concat(small, large, shared())
	i := slices.IndexFunc(all, func(s scope) bool { return s.name == *scopeFlag })
	if i < 0 {
		t.Fatalf("no scope %q", *scopeFlag)
	}
	s, limits := newScope(all[i]), explore.Limits{}
	if *projectFlag == "" {
		limits.States = 20_000
	}
	s.seen, s.anyOrder = map[string]bool{}, true
	found := explore.All(s, limits)
	if found.Broken != nil {
		t.Fatal(found.Broken)
	}
	var lines []string
	for line := range s.seen {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	t.Logf("%s: %v; %d projected states", s.name, found, len(lines))
	if *projectFlag == "" {
		return
	}
	if err := os.WriteFile(*projectFlag, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
