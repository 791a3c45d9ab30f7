//go:build spec

package spec

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// checked is what a checker says of a run.
type checked struct {
	states, transitions, depth int
	took                       time.Duration
	broken                     bool // a property does not hold
	out                        string
}

func (c checked) String() string {
	return fmt.Sprintf("%d states, %d transitions, depth %d, %.1f s", c.states, c.transitions, c.depth, c.took.Seconds())
}

// number is the one that a pattern finds in the output of a checker.
func number(t *testing.T, out, pattern string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no %q in\n%s", pattern, tail(out))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func tail(out string) string { return out[max(0, len(out)-3000):] }

// run runs a command and gives what it printed and whether it ended well.
func run(t *testing.T, dir string, limit time.Duration, env []string, name string, args ...string) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s %v: not done in %v\n%s", name, args, limit, tail(string(out)))
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%s: %v; make deps installs it", name, err)
	}
	return string(out), err == nil
}

// source is the folder of the specifications.
func source(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../spec")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tla checks a module of TLA+ with its configuration, of which constants replace
// some. With dot, the graph is written to that file; without, nodes of Election,
// which differ in nothing but their names, are taken for each other.
func tla(t *testing.T, dir, module, config, dot string, constants ...string) checked {
	t.Helper()
	args := []string{module + ".tla", "--config", config + ".cfg"}
	for _, c := range constants {
		args = append(args, "-c", c)
	}
	if dot != "" {
		args = append(args, "--export-dot", dot)
	} else if module == "Election" {
		args = append(args, "--symmetry", "Node")
	}
	began := time.Now()
	out, ok := run(t, dir, 30*time.Minute, nil, "tla", args...)
	c := checked{took: time.Since(began), broken: !ok, out: out}
	if ok {
		c.states = number(t, out, `Reachable states: (\d+)`)
		c.transitions = number(t, out, `Transitions: (\d+)`)
		c.depth = number(t, out, `Max depth: (\d+)`)
	} else if !strings.Contains(out, "violated") && !strings.Contains(out, "iolation") {
		t.Fatalf("%s: not checked\n%s", module, tail(out))
	}
	t.Logf("tla %s %s %v: %v", module, config, constants, c)
	return c
}

// spin checks a model of Promela with these definitions. With shown, the projected
// states are written to that file. A claim is the name of the property in temporal
// logic to check with weak fairness; without one, assertions are.
func spin(t *testing.T, dir, model, claim, shown string, defines ...string) checked {
	t.Helper()
	work, began := t.TempDir(), time.Now()
	if shown != "" {
		defines = append(defines, "SHOW")
	}
	args := []string{}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, ok := run(t, work, time.Minute, nil, "spin", append(args, "-a", filepath.Join(dir, model+".pml"))...); !ok {
		t.Fatalf("spin: %s", out)
	}
	// Every step of these models is visible, so partial order reduction is off, and
	// states are counted as they are. Memory is bounded.
	level := "-O1"
	if dir != source(t) {
		level = "-O0" // a mistake is found before a faster checker would be built
	}
	cc := []string{level, "-w", "-I", dir, "-DNOREDUCE", "-DMEMLIM=3500", "-o", "pan", "pan.c"}
	pan := []string{"-m200000", "-w24", "-E"}
	if claim == "" {
		cc = append([]string{"-DSAFETY", "-DNOCLAIM"}, cc...)
	} else {
		cc = append([]string{"-DNFAIR=8"}, cc...)
		pan = append(pan, "-a", "-f", "-N", claim)
	}
	if out, ok := run(t, work, 5*time.Minute, nil, "gcc", cc...); !ok {
		t.Fatalf("gcc: %s", out)
	}
	out, ok := run(t, work, time.Hour, []string{"SPEC_SHOWN=" + shown}, "./pan", pan...)
	if !ok || strings.Contains(out, "too small") || strings.Contains(out, "out of memory") || strings.Contains(out, "reached memory limit") {
		t.Fatalf("pan: not finished\n%s", tail(out))
	}
	c := checked{
		states:      number(t, out, `(\d+) states, stored`),
		transitions: number(t, out, `(\d+) transitions`),
		depth:       number(t, out, `depth reached (\d+)`),
		took:        time.Since(began),
		broken:      number(t, out, `errors: (\d+)`) > 0,
		out:         out,
	}
	t.Logf("spin %s %s %v: %v", model, claim, defines, c)
	return c
}

// goCore explores the real core in one of the scopes of package raft.
func goCore(t *testing.T, scope string) Projection {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shown")
	out, ok := run(t, "../..", 10*time.Minute, nil, "go", "test", "-count=1", "./internal/core/raft",
		"-run", "TestExploreProjected", "-scope", scope, "-project", file)
	if !ok {
		t.Fatalf("explorer: %s", out)
	}
	return readLines(t, file)
}

func readLines(t *testing.T, file string) Projection {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := ReadProjection(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readDot(t *testing.T, file string) Projection {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := ReadDot(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
