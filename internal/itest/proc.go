package itest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Stuck is how long a test waits for something that normally takes
// milliseconds. Reaching it means that the thing will never happen.
const Stuck = 2 * time.Minute

// Proc is one running process and what it has printed.
type Proc struct {
	Name string
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
	err  error
}

// output collects what a process prints; it is read while the process runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Start runs a command in the background. It is killed at the end of the test,
// and its output is shown when the test failed.
func Start(t testing.TB, name string, cmd *exec.Cmd) *Proc {
	t.Helper()
	p := &Proc{Name: name, cmd: cmd, out: &output{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, tail(p.Output(), 16<<10))
		}
	})
	return p
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "...\n" + s[len(s)-n:]
}

// Output is everything printed so far.
func (p *Proc) Output() string { return p.out.String() }

// Pid is the process id.
func (p *Proc) Pid() int { return p.cmd.Process.Pid }

// Resident is how many bytes of memory the process has (RSS).
func (p *Proc) Resident(t testing.TB) int64 {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// Processor is how much processor time the process has used.
func (p *Proc) Processor(t testing.TB) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	const ticks = 100 // a second, in what Linux tells of processes
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var total time.Duration
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(n) * time.Second / ticks
	}
	return total
}

// Running tells whether the process has not ended.
func (p *Proc) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process with SIGKILL and waits for it.
func (p *Proc) Kill() { p.signal(syscall.SIGKILL); <-p.done }

// Pause stops the process without closing its sockets.
func (p *Proc) Pause() { p.signal(syscall.SIGSTOP) }

// Continue lets a paused process go on.
func (p *Proc) Continue() { p.signal(syscall.SIGCONT) }

func (p *Proc) signal(s syscall.Signal) {
	if p.Running() {
		_ = p.cmd.Process.Signal(s) // it may just have ended
	}
}

// Stop sends SIGTERM and returns the exit status; it fails the test when the
// process does not end.
func (p *Proc) Stop(t testing.TB) int {
	t.Helper()
	p.signal(syscall.SIGTERM)
	return p.Wait(t)
}

// Terminate sends SIGTERM and does not wait.
func (p *Proc) Terminate() { p.signal(syscall.SIGTERM) }

// KillAll ends processes as Kill does, all before it waits for the first.
func KillAll(all []*Proc) {
	for _, p := range all {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range all {
		<-p.done
	}
}

// StopAll sends SIGTERM to all before it waits for the first: nodes of a cluster
// that stop one after another leave the last ones without a quorum to hand over
// to. It fails the test when one does not end.
func StopAll(t testing.TB, all []*Proc) {
	t.Helper()
	for _, p := range all {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range all {
		p.Wait(t)
	}
}

// Wait waits for the end and returns the exit status.
func (p *Proc) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(Stuck):
		p.signal(syscall.SIGQUIT) // a Go process prints its goroutines
		select {
		case <-p.done:
		case <-time.After(5 * time.Second):
			p.Kill()
		}
		t.Fatalf("%s did not end; it printed:\n%s", p.Name, tail(p.Output(), 32<<10))
	}
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return 0
	case errors.As(p.err, &exit):
		return exit.ExitCode()
	}
	t.Fatalf("%s: %v", p.Name, p.err)
	return -1
}

// Says waits until the process has printed text.
func (p *Proc) Says(t testing.TB, text string) {
	t.Helper()
	Eventually(t, func() error {
		if strings.Contains(p.Output(), text) {
			return nil
		}
		if !p.Running() {
			t.Fatalf("%s ended before it said %q; it printed:\n%s", p.Name, text, tail(p.Output(), 16<<10))
		}
		return fmt.Errorf("%s has not said %q", p.Name, text)
	})
}

// Eventually asks until try succeeds.
func Eventually(t testing.TB, try func() error) {
	t.Helper()
	Within(t, Stuck, try)
}

// Within is Eventually where a longer wait than d would be another behaviour
// than the one that is tested, and not a slow machine.
func Within(t testing.TB, d time.Duration, try func() error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var err error
	for deadline := time.Now().Add(d); time.Now().Before(deadline); <-tick.C {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("still, after %v: %v", d, err)
}

// Run runs a command to its end and returns what it printed.
func Run(stdin string, cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// Root is the tree's root folder.
func Root() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	panic("itest runs outside of the tree")
}
