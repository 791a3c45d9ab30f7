package processes

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest"
)

// The main job on real input: 10,000 distinct lines in, the same out, in order
// for each partition.
func TestTenThousandLinesInAndOut(t *testing.T) {
	itest.InEachWorld(t, tenThousandLinesInAndOut)
}

func tenThousandLinesInAndOut(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	want := numbered("line", 10_000)
	input := strings.Join(want, "\n") + "\n"

	t.Run("kcat", func(t *testing.T) {
		itest.Kcat(t, input, "-b", d.Addr, "-P", "-t", "kcat", "-X", "topic.acks=all")
		got := itest.Kcat(t, "", "-b", d.Addr, "-C", "-t", "kcat", "-o", "beginning", "-e", "-q", "-f", "%p %s\n")
		inOrder(t, splitLines(got), want)
	})
	t.Run("ottla", func(t *testing.T) {
		create(t, d.Addr, "own", 3, nil)
		itest.Ottla(t, input, "produce", "--bootstrap-server", d.Addr, "--topic", "own")
		got := itest.Ottla(t, "", "consume", "--bootstrap-server", d.Addr, "--topic", "own", "--from-beginning", "--max-messages", "10000")
		if got := splitLines(got); !slices.Equal(sorted(got), want) {
			t.Errorf("%d lines came back", len(got))
		}
		inOrder(t, splitLines(itest.Kcat(t, "", "-b", d.Addr, "-C", "-t", "own", "-o", "beginning", "-e", "-q", "-f", "%p %s\n")), want)
	})
}

// inOrder checks lines of the form "partition value": all there, once, and in
// each partition in the order in which they were written.
func inOrder(t *testing.T, got, want []string) {
	t.Helper()
	last := map[string]string{}
	var values []string
	for _, line := range got {
		partition, value, _ := strings.Cut(line, " ")
		if value <= last[partition] {
			t.Fatalf("partition %s: %q after %q", partition, value, last[partition])
		}
		last[partition] = value
		values = append(values, value)
	}
	if !slices.Equal(sorted(values), want) {
		t.Errorf("%d of %d lines came back", len(values), len(want))
	}
}

// Two members of a group share the partitions, commit, and go on where they
// were after all nodes were started again.
func TestAGroupOfTwoSharesCommitsAndResumes(t *testing.T) {
	itest.InEachWorld(t, aGroupOfTwoSharesCommitsAndResumes)
}

func aGroupOfTwoSharesCommitsAndResumes(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	create(t, d.Addr, "shared", 4, nil)
	first, second := member(t, d.Addr), member(t, d.Addr)
	// A member has its share when it reads what was written to its partitions.
	wave := func(name string) {
		t.Helper()
		for p := range 4 {
			itest.Kcat(t, strings.Join(numbered(fmt.Sprintf("%s-%d", name, p), 50), "\n")+"\n",
				"-b", d.Addr, "-P", "-t", "shared", "-p", fmt.Sprint(p), "-X", "topic.acks=all")
		}
	}
	waitForAssignment(t, first, second)
	wave("one")
	itest.Eventually(t, func() error {
		a, b := count(first, "one-"), count(second, "one-")
		if a+b == 200 && a == 100 && b == 100 {
			return nil
		}
		return fmt.Errorf("members read %d and %d of 200", a, b)
	})
	first.Stop(t) // kcat commits when it leaves
	second.Stop(t)
	d.Stop(t)
	d.Again(t)
	wave("two")
	third := member(t, d.Addr)
	itest.Eventually(t, func() error {
		if n := count(third, "two-"); n != 200 {
			return fmt.Errorf("read %d of 200 after the restart", n)
		}
		return nil
	})
	if n := count(third, "one-"); n != 0 {
		t.Errorf("%d records were read again after their commit", n)
	}
}

// member is kcat in the group, printing one value a line.
func member(t *testing.T, addr string) *itest.Proc {
	t.Helper()
	return itest.Start(t, "kcat -G", exec.Command("kcat", "-b", addr, "-u", "-X", "auto.offset.reset=earliest",
		"-X", "session.timeout.ms=10000", "-f", "%s\n", "-G", "pair", "shared"))
}

func waitForAssignment(t *testing.T, members ...*itest.Proc) {
	t.Helper()
	itest.Eventually(t, func() error {
		for _, m := range members {
			assigned := lastAssignment(m.Output())
			if n := strings.Count(assigned, "shared ["); n != 2 {
				return fmt.Errorf("a member has %d partitions of 4: %q", n, assigned)
			}
		}
		return nil
	})
}

func lastAssignment(out string) string {
	last := ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, "rebalanced") && strings.Contains(line, "assigned") {
			last = line
		}
	}
	return last
}

func count(p *itest.Proc, prefix string) int {
	n := 0
	for line := range strings.Lines(p.Output()) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// A stop by SIGTERM is orderly, whatever clients are doing.
func TestSIGTERMEndsNodesCleanly(t *testing.T) {
	itest.InEachWorld(t, sigtermEndsNodesCleanly)
}

func sigtermEndsNodesCleanly(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	create(t, d.Addr, "t", 1, nil)
	reader := itest.Start(t, "kcat -C", exec.Command("kcat", "-b", d.Addr, "-u", "-C", "-t", "t", "-o", "beginning"))
	itest.Kcat(t, "hello\n", "-b", d.Addr, "-P", "-t", "t", "-X", "topic.acks=all")
	reader.Says(t, "hello")
	began := time.Now()
	if code := d.Stop(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
	t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	// A broker that leaves says so to a controller, while there is a quorum.
	if strings.Contains(d.Output(), "level=WARN") {
		t.Errorf("the stop was not orderly:\n%s", d.Output())
	}
}
