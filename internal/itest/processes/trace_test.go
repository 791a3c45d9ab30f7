package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ottla/ottla/internal/drive/quorumtrace"
	"github.com/ottla/ottla/internal/itest"
)

// Three nodes write every step of their quorum's core. The leader is killed three
// times, a follower once, and one is stopped in good order. The protocol allows
// every step of each node, over all its lives.
func TestStepsOfRealProcessesAreOfTheProtocol(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(id int) string { return filepath.Join(dir, fmt.Sprintf("steps-%d", id)) }
	c := itest.StartCluster(t, 3, quick, func(id int) []string { return []string{"--trace-quorum", file(id)} })
	createReplicated(t, c.Addrs(), "t", 3)
	again := func(n *itest.Node) {
		n.Again(t)
		n.AwaitReady(t)
		itest.Ottla(t, "one more\n", "produce", "--topic", "t", "--bootstrap-server", c.Addrs())
	}
	for range 3 {
		leader := c.Active(t)
		leader.Kill()
		c.Active(t) // another one
		again(leader)
	}
	follower := c.Nodes[c.Active(t).ID%3]
	follower.Kill()
	again(follower)
	leader := c.Active(t)
	if code := leader.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
	again(leader)
	for _, n := range c.Nodes {
		n.Stop(t)
	}
	var all quorumtrace.Summary
	for _, n := range c.Nodes {
		sum := checkedTrace(t, file(n.ID))
		all.Steps, all.Lives, all.Leading, all.Torn = all.Steps+sum.Steps, all.Lives+sum.Lives, all.Leading+sum.Leading, all.Torn+sum.Torn
	}
	t.Logf("ledger: steps of three real processes held against the abstract model, %d lives, %d times a leader | %d, all allowed",
		all.Lives, all.Leading, all.Steps)
	if all.Lives != 8 || all.Leading < 5 || all.Steps < 1000 {
		t.Errorf("the traces tell of %+v", all)
	}
}

// checkedTrace holds a trace against the protocol. One that breaks it is kept in
// the test's output by its first wrong step.
func checkedTrace(t *testing.T, file string) quorumtrace.Summary {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum, err := quorumtrace.Check(f)
	if err != nil {
		t.Errorf("%s: %v", filepath.Base(file), err)
	}
	return sum
}
