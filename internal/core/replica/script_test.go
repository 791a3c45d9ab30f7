package replica

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

var rewrite = flag.Bool("rewrite", false, "write what happened into testdata instead of comparing")

// Each file of testdata is a story of one replica, told in blocks that are
// separated by empty lines: an event, a line of dashes, and what came of it.
// Lines that begin with # are for the reader.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { tell(t, file) })
	}
}

func tell(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t}
	var told []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		told = append(told, s.block(block))
	}
	got := strings.Join(told, "\n\n") + "\n"
	switch {
	case *rewrite:
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	case got != string(text):
		t.Errorf("want:\n%s\ngot:\n%s", text, got)
	}
}

type story struct {
	t    *testing.T
	core *Core
	now  kafka.Instant
	out  Effects
	// asked is the newest proposal.
	asked *Proposal
}

func (s *story) block(block string) string {
	var keep []string
	var result string
	for line := range strings.SplitSeq(block, "\n") {
		if line == "----" {
			break
		}
		keep = append(keep, line)
		if !strings.HasPrefix(line, "#") {
			result = s.run(strings.Fields(line))
		}
	}
	if result == "" {
		return strings.Join(keep, "\n")
	}
	return strings.Join(keep, "\n") + "\n----\n" + result
}

func (s *story) run(words []string) string {
	a := args{s.t, words[1:]}
	switch words[0] {
	case "new":
		s.core = New(Config{Self: 1, LagMax: 30 * time.Second, MinISR: int(a.num("min", 1)), HighWatermark: kafka.Offset(a.num("hw", 0)), Log: a.extent()})
		return s.state()
	case "after":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
		return s.step(Tick{})
	case "fence":
		return fmt.Sprint(s.core.Fence(kafka.Epoch(a.num("epoch", -1))))
	case "may-append":
		return fmt.Sprintf("acks=1 %v, acks=all %v", s.core.MayAppend(false), s.core.MayAppend(true))
	case "committed":
		done, err := s.core.Committed(kafka.Offset(a.num("end", 0)), kafka.Epoch(a.num("epoch", 0)))
		return fmt.Sprintf("done=%v err=%v", done, err)
	}
	e := a.event(words[0])
	if answer, ok := e.(Proposed); ok {
		answer.To = s.asked
		e = answer
	}
	return s.step(e)
}

func (s *story) step(e Event) string {
	s.core.Step(s.now, e, &s.out)
	if s.out.Propose != nil {
		s.asked = s.out.Propose
	}
	return s.effects() + s.state()
}

func (s *story) effects() string {
	var b strings.Builder
	o := s.out
	line := func(when bool, format string, v ...any) {
		if when {
			fmt.Fprintf(&b, format+"\n", v...)
		}
	}
	line(o.Err != nil, "refused: %v", o.Err)
	line(o.Turned, "turned")
	line(o.ISRChanged, "isr changed")
	line(o.HighWatermarkMoved, "high watermark moved")
	line(o.LowWatermarkMoved, "low watermark is %d", s.core.LowWatermark())
	line(o.Truncate, "truncate to %d", o.TruncateTo)
	line(o.Restart, "begin anew at %d", o.StartAt)
	line(o.RaiseStart, "raise start to %d", o.StartAt)
	if o.Propose != nil {
		var ids []string
		for _, m := range o.Propose.ISR {
			ids = append(ids, fmt.Sprintf("%d@%d", m.Node, m.BrokerEpoch))
		}
		line(true, "propose isr=%s on epoch %d/%d", strings.Join(ids, ","), o.Propose.LeaderEpoch, o.Propose.Epoch)
	}
	return b.String()
}

func (s *story) state() string {
	c := s.core
	return fmt.Sprintf("%v epoch=%d/%d isr=%v hw=%d log=%d..%d", c.role, c.leaderEpoch, c.epoch, c.isr, c.hw, c.log.Start, c.log.End)
}

// args are words of the form name=value.
type args struct {
	t     *testing.T
	words []string
}

func (a args) text(name string) (string, bool) {
	for _, w := range a.words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

func (a args) parse(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return n
}

func (a args) num(name string, otherwise int64) int64 {
	if v, ok := a.text(name); ok {
		return a.parse(v)
	}
	return otherwise
}

func (a args) extent() Extent {
	v, _ := a.text("log")
	from, to, _ := strings.Cut(v, "..")
	return Extent{kafka.Offset(a.parse(from)), kafka.Offset(a.parse(to))}
}

func (a args) nodes(name string) (list []kafka.NodeID) {
	v, _ := a.text(name)
	for w := range strings.SplitSeq(v, ",") {
		if w != "" {
			list = append(list, kafka.NodeID(a.parse(w)))
		}
	}
	return list
}

// members reads replicas=1,2,3!: a "!" marks a broker that is not active. The
// broker epoch is 100 + id.
func (a args) members() (list []Member) {
	v, _ := a.text("replicas")
	for w := range strings.SplitSeq(v, ",") {
		id, inactive := strings.CutSuffix(w, "!")
		n := a.parse(id)
		list = append(list, Member{Node: kafka.NodeID(n), BrokerEpoch: kafka.BrokerEpoch(100 + n), Active: !inactive})
	}
	return list
}

func (a args) event(name string) Event {
	off := func(key string) kafka.Offset { return kafka.Offset(a.num(key, 0)) }
	switch name {
	case "assigned":
		epoch, _ := a.text("epoch")
		le, pe, _ := strings.Cut(epoch, "/")
		return Assigned{Leader: kafka.NodeID(a.num("leader", -1)), LeaderEpoch: kafka.Epoch(a.parse(le)), Epoch: int32(a.parse(pe)), Replicas: a.members(), ISR: a.nodes("isr"), Log: a.extent()}
	case "configured":
		return Configured{MinISR: int(a.num("min", 1))}
	case "appended":
		return Appended{off("end")}
	case "trimmed":
		return Trimmed{off("start")}
	case "truncated":
		return Truncated{off("end")}
	case "fetched":
		return Fetched{Node: kafka.NodeID(a.num("from", 0)), BrokerEpoch: kafka.BrokerEpoch(a.num("broker-epoch", -1)), Offset: off("offset"), LogStart: off("start")}
	case "accepted":
		return Proposed{Outcome: Accepted, ISR: a.nodes("isr"), Epoch: int32(a.num("epoch", 0))}
	case "declined":
		return Proposed{Outcome: Declined}
	case "superseded":
		return Proposed{Outcome: Superseded}
	case "leader-said":
		return LeaderSaid{HighWatermark: off("hw"), LogStart: off("start")}
	case "misplaced":
		return Misplaced{a.extent()}
	case "diverged":
		return Diverged{LeaderEnd: off("leader-end"), OwnEnd: off("own-end")}
	}
	a.t.Fatalf("no event %q", name)
	return nil
}
