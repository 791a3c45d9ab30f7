package group

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts give into testdata/*.txt")

// TestScripts plays the conversations in testdata. A block is commands, a line
// of dashes and what came of them, up to an empty line; '#' begins a comment.
//
//	join <name> member=ID instance=ID protocols=range:meta,.. v=N session=10s rebalance=30s group=g type=consumer
//	sync <name> member=ID gen=N give=ID:bytes,..
//	beat|leave <name> member=ID instance=ID gen=N
//	commit <name> member=ID gen=N at=topic/0:5,..
//	fetch <name> at=topic/0,.. | all; stable
//	describe, list, delete, forget (OffsetDelete) at=..
//	topic t=1         commits and fetches know the topic of that name by this id from here on
//	gone t=1 u        topics are deleted; without an id: offsets that do not say of which
//	advance 3s        time passes, with a tick at every deadline
//	hold, commit-all  records wait for the high watermark from here on; and are committed
//	fail CODE         the records that wait are lost
//	reload            another coordinator loads what was committed
//	resign
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScript(t, string(old))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(old) {
				t.Errorf("the conversation differs (look at the diff after -rewrite):\n%s", firstDifference(string(old), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, a, b)
		}
	}
	return ""
}

// playScript gives the script with its outputs replaced by what happened.
func playScript(t *testing.T, script string) string {
	p := &player{t: t, bench: newBench(t), ids: map[string]kafka.TopicID{}}
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(script))
	inOutput := false
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "----":
			inOutput = true
			out.WriteString("----\n")
			out.WriteString(p.flush())
		case line == "":
			inOutput = false
			out.WriteString("\n")
		case inOutput:
		default:
			out.WriteString(line + "\n")
			if !strings.HasPrefix(line, "#") {
				p.do(line)
			}
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

type player struct {
	*bench
	t     *testing.T
	lines []string
	uuids []string
	names map[Request]string
	ids   map[string]kafka.TopicID // of topics, by name; zero: not known
}

var uuidText = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// short writes <1>, <2>, ... for the random part of ids, in the order in which
// they came up; long is the way back.
func (p *player) short(s string) string {
	return uuidText.ReplaceAllStringFunc(s, func(u string) string {
		i := slices.Index(p.uuids, u)
		if i < 0 {
			i = len(p.uuids)
			p.uuids = append(p.uuids, u)
		}
		return fmt.Sprintf("<%d>", i+1)
	})
}

func (p *player) long(s string) string {
	for i, u := range p.uuids {
		s = strings.ReplaceAll(s, fmt.Sprintf("<%d>", i+1), u)
	}
	return s
}

func (p *player) flush() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	p.lines = nil
	return b.String()
}

func (p *player) say(format string, args ...any) {
	p.lines = append(p.lines, p.short(fmt.Sprintf(format, args...)))
}

// args are the name=value words of a command.
type args map[string]string

func (a args) text(key, otherwise string) string {
	if v, ok := a[key]; ok {
		return v
	}
	return otherwise
}

func (a args) duration(t *testing.T, key, otherwise string) time.Duration {
	d, err := time.ParseDuration(a.text(key, otherwise))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (a args) number(t *testing.T, key string, otherwise int) int {
	n, err := strconv.Atoi(a.text(key, strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (a args) list(key string) []string {
	if a[key] == "" {
		return nil
	}
	return strings.Split(a[key], ",")
}

func (p *player) do(line string) {
	words := strings.Fields(p.long(line))
	a := args{}
	name := ""
	for i, w := range words[1:] {
		k, v, isArg := strings.Cut(w, "=")
		if i == 0 && !isArg {
			name = w
			continue
		}
		a[k] = v
	}
	switch words[0] {
	case "set":
		p.set(a)
	case "advance":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.advance(d)
	case "hold":
		p.holding = true
	case "commit-all":
		p.commitAll()
	case "fail":
		p.fail(codeNamed(p.t, words[1]))
	case "reload":
		p.reload()
	case "transactional":
		tp, at := p.position(a["at"])
		p.transactional(kafka.ProducerID(a.number(p.t, "producer", 0)), a.text("group", "g"), tp, at)
	case "resign":
		p.step(Resigned{})
	case "topic":
		for name := range a {
			p.ids[name] = topicID(a.number(p.t, name, 0))
		}
	case "gone":
		var gone []Topic
		for _, w := range words[1:] {
			name, _, _ := strings.Cut(w, "=")
			gone = append(gone, Topic{name, topicID(a.number(p.t, name, 0))})
		}
		p.step(TopicsDeleted{Topics: gone})
	default:
		r := p.request(words[0], a)
		if p.names == nil {
			p.names = map[Request]string{}
		}
		p.names[r] = name
		p.step(r)
	}
	p.report()
}

func (p *player) set(a args) {
	for k := range a {
		switch k {
		case "max":
			p.cfg.MaxSize = a.number(p.t, k, 0)
		case "delay":
			p.cfg.InitialRebalanceDelay = a.duration(p.t, k, "")
		}
	}
	p.reload()
}

func (p *player) request(verb string, a args) Request {
	call := Call{Group: a.text("group", "g")}
	member := Member{MemberID: a["member"], InstanceID: a["instance"], Generation: int32(a.number(p.t, "gen", -1))}
	switch verb {
	case "join":
		v := a.number(p.t, "v", 9)
		j := &Join{
			Call: call, MemberID: a["member"], InstanceID: a["instance"], ClientID: a.text("client", "c"), ClientHost: "/10.0.0.1",
			SessionTimeout: a.duration(p.t, "session", "10s"), RebalanceTimeout: a.duration(p.t, "rebalance", "30s"),
			ProtocolType: a.text("type", "consumer"), NeedsID: v >= 4, CanSkip: v >= 9,
		}
		for _, x := range strings.Split(a.text("protocols", "range:x"), ",") {
			n, meta, _ := strings.Cut(x, ":")
			j.Protocols = append(j.Protocols, Protocol{Name: n, Metadata: []byte(meta)})
		}
		return j
	case "sync":
		r := &Sync{Call: call, Member: member}
		if x, ok := a["protocol"]; ok {
			r.Protocol = &x
		}
		for _, x := range a.list("give") {
			id, bytes, _ := strings.Cut(x, ":")
			r.Assignments = append(r.Assignments, Assignment{MemberID: id, Bytes: []byte(bytes)})
		}
		return r
	case "beat":
		return &Heartbeat{Call: call, Member: member}
	case "leave":
		return &Leave{Call: call, Members: []LeavingMember{{MemberID: a["member"], InstanceID: a["instance"]}}}
	case "commit":
		r := &CommitOffsets{Call: call, Member: member, UnknownGroup: kerr.GroupIdNotFound, Retention: -1}
		for _, x := range a.list("at") {
			c := CommitOffset{LeaderEpoch: -1}
			c.TopicPartition, c.Offset = p.position(x)
			c.TopicID = p.ids[c.Topic]
			r.Offsets = append(r.Offsets, c)
		}
		return r
	case "fetch":
		r := &FetchOffsets{Call: call, Current: func(name string) kafka.TopicID { return p.ids[name] }}
		_, r.All = a["all"]
		_, r.Stable = a["stable"]
		for _, x := range a.list("at") {
			r.Offsets = append(r.Offsets, FetchOffset{TopicPartition: parsePartition(p.t, x)})
		}
		return r
	case "forget":
		r := &DeleteOffsets{Call: call}
		for _, x := range a.list("at") {
			r.Offsets = append(r.Offsets, DeleteOffset{TopicPartition: parsePartition(p.t, x)})
		}
		return r
	case "end":
		_, commit := a["commit"]
		return &EndTransaction{
			Producer: kafka.ProducerID(a.number(p.t, "producer", 0)), Epoch: int16(a.number(p.t, "epoch", 0)),
			Coordinator: int32(a.number(p.t, "coordinator", 0)), Version: int16(a.number(p.t, "version", 0)), Commit: commit,
		}
	case "delete":
		return &Delete{Call: call}
	case "describe":
		return &Describe{Call: call}
	case "list":
		return &List{Call: call}
	}
	p.t.Fatalf("no such command: %s", verb)
	return nil
}

// report says what came of the steps since the last report.
func (p *player) report() {
	for _, r := range p.appended {
		p.say("append %d %s", r.seq, r)
	}
	for _, r := range p.answered {
		p.say("%s: %s", p.names[r], p.answerText(r))
	}
	p.appended, p.answered = nil, nil
}

func (p *player) answerText(r Request) string {
	code := CallOf(r).Err
	head := fmt.Sprintf("%T %v", r, code)[len("*group."):]
	switch r := r.(type) {
	case *Join:
		if code != kerr.None {
			return fmt.Sprintf("%s member=%s", head, r.Reply.MemberID)
		}
		text := fmt.Sprintf("%s gen=%d protocol=%s leader=%s member=%s", head, r.Reply.Generation, r.Reply.Protocol, r.Reply.Leader, r.Reply.MemberID)
		if r.Reply.SkipAssignment {
			text += " skip"
		}
		for _, m := range r.Reply.Members {
			text += fmt.Sprintf(" [%s %s %s]", m.ID, m.InstanceID, m.Metadata)
		}
		return text
	case *Sync:
		if code == kerr.None {
			return fmt.Sprintf("%s protocol=%s assignment=%s", head, r.Reply.Protocol, r.Reply.Assignment)
		}
	case *Leave:
		for _, m := range r.Members {
			head += fmt.Sprintf(" %s%s:%v", m.MemberID, m.InstanceID, m.Err)
		}
	case *CommitOffsets:
		if code != kerr.None {
			return head // it goes for all partitions
		}
		for _, c := range r.Offsets {
			head += fmt.Sprintf(" %s/%d:%v", c.Topic, c.Partition, c.Err)
		}
	case *FetchOffsets:
		for _, f := range r.Offsets {
			head += fmt.Sprintf(" %s/%d:%d", f.Topic, f.Partition, f.Offset)
			if f.Err != kerr.None {
				head += "," + f.Err.String()
			}
		}
	case *DeleteOffsets:
		for _, d := range r.Offsets {
			head += fmt.Sprintf(" %s/%d:%v", d.Topic, d.Partition, d.Err)
		}
	case *Describe:
		head += fmt.Sprintf(" %s type=%s protocol=%s", r.Reply.State, r.Reply.ProtocolType, r.Reply.Protocol)
		for _, m := range r.Reply.Members {
			head += fmt.Sprintf(" [%s %s %s %s]", m.ID, m.InstanceID, m.Metadata, m.Assignment)
		}
	case *List:
		for _, g := range r.Groups {
			head += fmt.Sprintf(" [%s %s %s %s]", g.ID, g.ProtocolType, g.State, g.Type)
		}
	}
	return head
}

// topicID is the id that a script calls by a number.
func topicID(n int) kafka.TopicID { return kafka.TopicID{15: byte(n)} }

func parsePartition(t *testing.T, s string) kafka.TopicPartition {
	topic, n, ok := strings.Cut(s, "/")
	p, err := strconv.Atoi(n)
	if !ok || err != nil {
		t.Fatalf("%q is no partition", s)
	}
	return kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(p)}
}

// position reads a partition and an offset in it, "t/0:5".
func (p *player) position(s string) (kafka.TopicPartition, kafka.Offset) {
	tp, at, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(at)
	if err != nil {
		p.t.Fatal(err)
	}
	return parsePartition(p.t, tp), kafka.Offset(n)
}

func codeNamed(t *testing.T, name string) kerr.Code {
	for c := kerr.UnknownServerError; c <= kerr.ControllerIdNotRegistered; c++ {
		if c.String() == name {
			return c
		}
	}
	t.Fatalf("no error is called %s", name)
	return 0
}
