package raft

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into the scenarios of testdata; read the diff")

const snapshotSize = 250 // bytes of every snapshot in scenarios

// A scenario is a text of commands, each with what came of it below "----":
//
//	nodes 1,2,3 [voters=1,2,3] [observers=4] [dynamic] [f=2s] ...
//	        new nodes with empty disks, all started
//	node ID end=10@3[,4@1...] election=EPOCH,LEADER,VOTED [snapshot=END-EPOCH]
//	        puts a log on a disk and restarts: each END@EPOCH is a batch
//	deliver         everything under way, and what comes of it
//	deliver A->B [KIND]     the oldest such message
//	deliver A->B KIND k=v.. a message of our own making
//	drop A->B | fail A->B | unsupported A->B    the oldest message gets lost, is
//	        answered by nobody, or by a peer that does not know it
//	clear           everything under way gets lost
//	expire ID       the node's next deadline passes
//	timeout ID      its election or fetch timer ends
//	pass DURATION   time goes by for all, and nothing arrives
//	live DURATION   time goes by, and messages take a millisecond
//	propose ID N    a batch of N records
//	reply A->B k=v.. records=BASE..END@EPOCH,..  an answer of our own making to
//	        the fetch that B has sent to A
//	slow ID | write ID | sync ID | spoil ID     the disk waits; writes; writes
//	        and syncs; fails
//	kill ID | restart ID | forget ID   forget removes quorum-state
//	mark ID         a kill left the mark of lost votes behind
//	snapshot ID END-EPOCH | clean ID START
//	move ID PORT | replace ID   restarts it at another address, with a new disk
//	supports ID LEVEL   the highest kraft.version it names in ApiVersions
//	dead ID             it has proof that its leader's process is gone
//	resign ID | shutdown ID | show [ID] | quiet | loud
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file) })
	}
}

// playFile plays the scenarios of a file and compares what comes out.
func playFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := play(t, string(text))
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("%s differs; go test -rewrite shows how\n%s", file, firstDifference(string(text), got))
	}
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			end := min(i+12, len(b))
			return fmt.Sprintf("line %d\nwant: %s\ngot:\n%s", i+1, a[i], strings.Join(b[min(i, end):end], "\n"))
		}
	}
	return "it has more lines than before"
}

// play runs a scenario and returns it with what came out.
func play(t *testing.T, text string) string {
	t.Helper()
	w := &world{}
	var out strings.Builder
	skip := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case skip && line != "":
			continue
		case skip:
			skip = false
			out.WriteString("\n")
		case line == "" || strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		case line == "----":
			skip = true
			out.WriteString("----\n" + w.out.String())
			w.out.Reset()
		default:
			out.WriteString(line + "\n")
			if err := w.do(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			w.check(t)
		}
	}
	return out.String()
}

// args are the words of a command and its k=v pairs.
type args struct {
	words []string
	pairs map[string]string
}

func parseArgs(line string) args {
	a := args{pairs: map[string]string{}}
	for _, f := range strings.Fields(line) {
		if k, v, ok := strings.Cut(f, "="); ok {
			a.pairs[k] = v
		} else {
			a.words = append(a.words, f)
		}
	}
	return a
}

func (a args) has(word string) bool { return slices.Contains(a.words, word) }

func (a args) id(i int) kafka.NodeID { return kafka.NodeID(number(a.words[i])) }

func (a args) num(key string, otherwise int) int {
	if v, ok := a.pairs[key]; ok {
		return number(v)
	}
	return otherwise
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("%q is not a number", s))
	}
	return n
}

func ids(list string) []kafka.NodeID {
	var all []kafka.NodeID
	for _, s := range strings.Split(list, ",") {
		if s != "" {
			all = append(all, kafka.NodeID(number(s)))
		}
	}
	return all
}

// position reads END@EPOCH.
func position(s string) Position {
	end, epoch, _ := strings.Cut(s, "@")
	return Position{Epoch: kafka.Epoch(number(epoch)), End: kafka.Offset(number(end))}
}

func snapshotID(s string) SnapshotID {
	end, epoch, _ := strings.Cut(s, "-")
	return SnapshotID{kafka.Offset(number(end)), kafka.Epoch(number(epoch))}
}

func (w *world) do(line string) error {
	a := parseArgs(line)
	if known, err := w.links(a); known {
		return err
	}
	if known, err := w.odd(a); known {
		return err
	}
	switch a.words[0] {
	case "nodes":
		return w.makeNodes(a)
	case "deliver":
		return w.deliver(a)
	case "drop", "fail", "unsupported":
		return w.lose(a)
	case "reply":
		return w.reply(a)
	case "pass":
		d, err := time.ParseDuration(a.words[1])
		w.pass(d)
		return err
	case "live":
		d, err := time.ParseDuration(a.words[1])
		w.settle(d, func() bool { return false })
		return err
	case "clear":
		w.net = nil
		return nil
	case "quiet":
		w.quiet = true
		return nil
	case "loud":
		w.quiet = false
		return nil
	case "show":
		for _, m := range w.nodes {
			if len(a.words) == 1 || m.id == a.id(1) {
				m.show()
			}
		}
		return nil
	}
	m := w.node(a.id(1))
	if m == nil {
		return fmt.Errorf("no node %d", a.id(1))
	}
	return m.do(a)
}

func (m *member) do(a args) error {
	switch a.words[0] {
	case "node":
		return m.fill(a)
	case "expire":
		m.w.now = max(m.w.now, m.deadline)
		m.step(Passed{})
	case "timeout":
		m.w.now = max(m.w.now, m.timer())
		m.core.due = max(m.core.due, m.w.now) // it was awake meanwhile
		m.step(Passed{})
	case "propose":
		m.step(Propose{Ticket: 1, Epoch: kafka.Epoch(a.num("epoch", int(m.core.election.Epoch))), Count: int32(number(a.words[2]))})
	case "slow":
		m.slow = true
	case "write":
		m.lazy = true
		m.drain()
		m.lazy = false
	case "sync":
		if m.owed != 0 {
			m.sync()
		}
		m.drain()
	case "spoil":
		m.queue = nil
		m.step(Failed{})
	case "kill":
		m.down = true
	case "restart":
		return m.boot()
	case "move": // to another address
		m.cfg.Endpoints = Endpoints{{Name: "CONTROLLER", Host: "host", Port: uint16(number(a.words[2]))}}
		return m.boot()
	case "replace": // the disk by an empty one
		m.cfg.Self.Dir = dirOf(m.id + spare)
		m.disk = disk{election: NoElection(), noFile: true, shapes: map[SnapshotID]stored{}}
		return m.boot()
	case "supports":
		m.maxLevel = number(a.words[2])
	case "forget":
		m.disk.election, m.disk.noFile = NoElection(), true
	case "mark": // a kill came between the election state and the removal of the mark
		m.disk.marked = true
	case "snapshot":
		id := snapshotID(a.words[2])
		m.takeSnapshot(id)
		m.step(SnapshotCreated{Snapshot{id, snapshotSize}})
	case "clean":
		start := kafka.Offset(number(a.words[2]))
		m.disk.start = start
		m.disk.log = slices.DeleteFunc(m.disk.log, func(b stored) bool { return b.end <= start })
		m.step(Cleaned{start})
	case "resign":
		m.step(Resign{m.core.election.Epoch})
	case "dead":
		leader, _ := m.core.role.leader()
		m.step(Dead{Leader: leader, Epoch: m.core.election.Epoch})
	case "shutdown":
		m.step(Shutdown{m.w.now.Add(5 * time.Second)})
		m.w.printf("%d finished: %v", m.id, m.core.Finished())
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

// timer is when the node loses patience with the role it is in.
func (m *member) timer() kafka.Instant {
	switch r := m.core.role.(type) {
	case *unattached:
		return r.expires
	case *prospective:
		return r.expires
	case *candidate:
		return r.expires
	case *follower:
		return r.expires
	case *resigned:
		return r.expires
	case *leader:
		return r.quorum.expires
	}
	return kafka.Never
}

func (m *member) takeSnapshot(id SnapshotID) {
	set, level := m.core.Shape(id.EndOffset)
	m.disk.snapshots = append(m.disk.snapshots, Snapshot{id, snapshotSize})
	m.disk.shapes[id] = stored{voters: set, level: &level}
}

func (w *world) makeNodes(a args) error {
	w.nodes, w.net, w.cuts = nil, nil, nil
	all := ids(a.words[1])
	voters := all
	if v, ok := a.pairs["voters"]; ok {
		voters = ids(v)
	}
	var set Voters
	for _, id := range voters {
		v := Voter{Key: kafka.ReplicaKey{Node: id}, Endpoints: endpointsOf(id)}
		if a.has("dynamic") {
			v.Key.Dir, v.MaxLevel = dirOf(id), 1
		}
		set = set.With(v)
	}
	for _, id := range all {
		m := w.add(id, set, !slices.Contains(ids(a.pairs["brokers"]), id), uint64(a.num("seed", 7)))
		for _, b := range ids(a.pairs["bootstrap"]) {
			m.cfg.Bootstrap = append(m.cfg.Bootstrap, endpointsOf(b)...)
		}
		if a.has("dynamic") {
			m.cfg.Static, m.cfg.AutoJoin = nil, a.has("autojoin")
			level := int16(1)
			if slices.Contains(voters, id) { // others were formatted without voters
				m.disk.snapshots = []Snapshot{{SnapshotID{}, snapshotSize}}
				m.disk.shapes[SnapshotID{}] = stored{voters: set, level: &level}
			}
		}
	}
	for _, m := range w.nodes {
		if err := m.boot(); err != nil {
			return err
		}
	}
	return nil
}

// fill puts a log and an election state on a node's disk and restarts it.
func (m *member) fill(a args) error {
	d := &m.disk
	d.log, d.snapshots, d.start, d.noFile = nil, nil, kafka.Offset(a.num("start", 0)), false
	at := d.start
	for _, s := range strings.Split(a.pairs["end"], ",") {
		if s != "" {
			p := position(s)
			d.log = append(d.log, stored{base: at, end: p.End, epoch: p.Epoch})
			at = p.End
		}
	}
	d.synced = at
	if s, ok := a.pairs["snapshot"]; ok {
		d.snapshots = append(d.snapshots, Snapshot{snapshotID(s), snapshotSize})
	}
	if s, ok := a.pairs["election"]; ok {
		e := ids(s)
		d.election = Election{Epoch: kafka.Epoch(e[0]), Leader: e[1], Voted: NoVote}
		if e[2] >= 0 {
			d.election.Voted = kafka.ReplicaKey{Node: e[2], Dir: dirOf(e[2])}
		}
	}
	return m.boot()
}

// route reads A->B.
func route(s string) (from, to kafka.NodeID) {
	f, t, _ := strings.Cut(s, "->")
	return kafka.NodeID(number(f)), kafka.NodeID(number(t))
}

func (w *world) deliver(a args) error {
	if len(a.words) == 1 {
		for range 400 {
			if len(w.net) == 0 {
				return nil
			}
			e := w.net[0]
			w.net = w.net[1:]
			w.handOver(e)
		}
		return fmt.Errorf("messages go on for ever")
	}
	from, to := route(a.words[1])
	if len(a.pairs) > 0 {
		body, err := makeBody(a, from, to)
		if err == nil {
			w.handOver(envelope{from: from, to: to, body: body})
		}
		return err
	}
	e, err := w.pick(a)
	if err == nil {
		w.handOver(e)
	}
	return err
}

// pick takes the oldest message of a route, of a kind if one is named.
func (w *world) pick(a args) (envelope, error) {
	from, to := route(a.words[1])
	for i, e := range w.net {
		kind, _, _ := strings.Cut(printBody(e.body, nil), " ")
		if e.from == from && e.to == to && (len(a.words) < 3 || a.words[2] == kind) {
			w.net = slices.Delete(w.net, i, i+1)
			return e, nil
		}
	}
	return envelope{}, fmt.Errorf("no such message; under way: %d", len(w.net))
}

// reply answers a fetch that is under way.
func (w *world) reply(a args) error {
	leader, follower := route(a.words[1])
	asked, err := w.pick(args{words: []string{"", fmt.Sprintf("%d->%d", follower, leader), "Fetch"}})
	if err != nil {
		return err
	}
	e := envelope{from: leader, to: follower, call: asked.call, answer: true}
	for _, s := range strings.Split(a.pairs["records"], ",") {
		base, rest, _ := strings.Cut(s, "..")
		p := position(rest)
		e.batches = append(e.batches, stored{base: kafka.Offset(number(base)), end: p.End, epoch: p.Epoch})
	}
	e.body = FetchAnswer{
		Hint:          Hint{Epoch: kafka.Epoch(a.num("epoch", 0)), Leader: leader},
		HighWatermark: kafka.Offset(a.num("hw", -1)),
	}
	w.handOver(e)
	return nil
}

func (w *world) lose(a args) error {
	e, err := w.pick(a)
	switch {
	case err != nil:
	case a.words[0] == "fail":
		w.answerWith(e, kerr.BrokerNotAvailable)
	case a.words[0] == "unsupported":
		w.answerWith(e, kerr.UnsupportedVersion)
	}
	return err
}

// makeBody reads a message that a test makes up.
func makeBody(a args, from, to kafka.NodeID) (Body, error) {
	epoch := kafka.Epoch(a.num("epoch", 0))
	key := kafka.ReplicaKey{Node: from, Dir: dirOf(from)}
	voter := NoVote
	if v, ok := a.pairs["voter"]; ok {
		voter = kafka.ReplicaKey{Node: to, Dir: dirOf(kafka.NodeID(number(v)))}
	}
	switch a.words[2] {
	case "Vote":
		p := position(a.pairs["end"])
		return VoteRequest{Voter: voter, Candidate: key, Epoch: epoch, LastEpoch: p.Epoch, End: p.End, PreVote: a.has("prevote")}, nil
	case "Begin":
		b := BeginRequest{Voter: voter, Leader: kafka.NodeID(a.num("leader", int(from))), Epoch: epoch}
		if a.has("endpoints") {
			b.Endpoints = endpointsOf(b.Leader)
		}
		return b, nil
	case "End":
		e := EndRequest{Leader: kafka.NodeID(a.num("leader", int(from))), Epoch: epoch}
		for _, id := range ids(a.pairs["preferred"]) {
			e.Preferred = append(e.Preferred, kafka.ReplicaKey{Node: id, Dir: dirOf(id)})
		}
		return e, nil
	case "Fetch":
		p := position(a.pairs["from"])
		return FetchRequest{
			Replica: key, Epoch: epoch, Offset: p.End, LastEpoch: p.Epoch, MaxBytes: 1 << 20,
			MaxWait:       time.Duration(a.num("wait", 500)) * time.Millisecond,
			HighWatermark: kafka.Offset(a.num("hw", int(HighWatermarkUnsupported))),
		}, nil
	case "AddVoter", "RemoveVoter", "UpdateVoter", "Raise":
		return makeChange(a, epoch), nil
	case "FetchSnapshot":
		return SnapshotRequest{
			Replica: key, Epoch: epoch, ID: snapshotID(a.pairs["id"]), Position: int64(a.num("position", 0)), MaxBytes: 100,
		}, nil
	}
	return nil, fmt.Errorf("unknown message %q", a.words[2])
}

// spare numbers the directories of replaced disks: that of node 2 is 102.
const spare = 100

// makeChange reads a request to change the voters.
func makeChange(a args, epoch kafka.Epoch) Body {
	id := kafka.NodeID(a.num("voter", 0))
	key := kafka.ReplicaKey{Node: id}
	if dir := a.num("dir", int(id)); dir > 0 {
		key.Dir = dirOf(kafka.NodeID(dir))
	}
	at := endpointsOf(kafka.NodeID(a.num("port", 9000+int(id)) - 9000))
	if a.has("unnamed") {
		at = Endpoints{{Name: "OTHER", Host: "host", Port: 1}}
	}
	switch a.words[2] {
	case "AddVoter":
		return AddVoterRequest{Voter: key, Endpoints: at, AtOnce: a.has("at-once")}
	case "RemoveVoter":
		return RemoveVoterRequest{Voter: key}
	case "UpdateVoter":
		return UpdateVoterRequest{
			Epoch: epoch, Voter: key, Endpoints: at, MinLevel: int16(a.num("min", 0)), MaxLevel: int16(a.num("max", maxLevel)),
		}
	}
	return RaiseRequest{Epoch: epoch, Level: int16(a.num("level", 1)), Ask: a.has("ask")}
}
