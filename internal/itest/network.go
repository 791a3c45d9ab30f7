package itest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Network is a bridge in a namespace of its own, and a namespace for each host
// on it, with an address in 10.99.0.0/24. Nothing of it is seen from outside,
// so that any number of networks stand beside each other.
//
//	hub (bridge br0) -- p1 == eth0 10.99.0.1
//	                 \- p2 == eth0 10.99.0.2 ...
//
// It takes root and the command ip. Whatever ends the test's process, its
// namespaces are removed: a small process waits for that.
type Network struct {
	name  string
	hosts int
}

// Host is a namespace on a network.
type Host struct {
	// IP is the address that the other hosts reach it by.
	IP   string
	net  *Network
	port string // of the bridge
	name string
}

// networks numbers the networks of this process.
var networks atomic.Int32

// NewNetwork makes an empty network. It is removed at the end of the test.
func NewNetwork(t testing.TB) *Network {
	t.Helper()
	w := &Network{name: fmt.Sprintf("ottla-%d-%d", os.Getpid(), networks.Add(1))}
	t.Cleanup(w.removeAtEnd(t))
	w.ip(t, "netns", "add", w.hub())
	w.inHub(t, "link", "add", "br0", "type", "bridge")
	w.inHub(t, "link", "set", "br0", "up")
	return w
}

// removeAtEnd starts the process that removes the namespaces once its input
// ends: when the result is called, or when this process is no more.
func (w *Network) removeAtEnd(t testing.TB) func() {
	t.Helper()
	// ip netns list complains of namespaces that another test removes just now.
	script := `cat >/dev/null
ls /run/netns | grep "^` + w.name + `-" | while read -r ns; do ip netns del "$ns"; done`
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt from the terminal is not for it
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	end, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("network namespaces cannot be looked after: %v", err)
	}
	return func() {
		if err := errors.Join(end.Close(), cmd.Wait()); err != nil || out.Len() > 0 {
			t.Errorf("network namespaces may be left behind: %v: %s", err, out.String())
		}
	}
}

func (w *Network) hub() string { return w.name + "-hub" }

func (w *Network) inHub(t testing.TB, args ...string) {
	t.Helper()
	w.ip(t, append([]string{"-n", w.hub()}, args...)...)
}

func (w *Network) ip(t testing.TB, args ...string) {
	t.Helper()
	if out, err := Run("", exec.Command("ip", args...)); err != nil {
		t.Fatalf("network namespaces need root and iproute2: ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// Join adds a host.
func (w *Network) Join(t testing.TB) *Host {
	t.Helper()
	w.hosts++
	h := &Host{
		net: w, IP: fmt.Sprintf("10.99.0.%d", w.hosts), port: fmt.Sprintf("p%d", w.hosts),
		name: fmt.Sprintf("%s-%d", w.name, w.hosts),
	}
	w.ip(t, "netns", "add", h.name)
	w.inHub(t, "link", "add", h.port, "type", "veth", "peer", "name", "eth0", "netns", h.name)
	w.inHub(t, "link", "set", h.port, "up")
	h.Connect(t)
	w.ip(t, "-n", h.name, "address", "add", h.IP+"/24", "dev", "eth0")
	w.ip(t, "-n", h.name, "link", "set", "eth0", "up")
	w.ip(t, "-n", h.name, "link", "set", "lo", "up")
	return h
}

// Disconnect pulls the host's cable at the bridge: what is sent to it or by it
// is lost, and no connection breaks at once.
func (h *Host) Disconnect(t testing.TB) {
	t.Helper()
	h.net.inHub(t, "link", "set", h.port, "nomaster")
}

// Connect puts the cable back.
func (h *Host) Connect(t testing.TB) {
	t.Helper()
	h.net.inHub(t, "link", "set", h.port, "master", "br0")
}

// Command is a command that runs on the host.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.name, name}, args...)...)
}

// Inside is a command as it runs on the host.
func (h *Host) Inside(cmd *exec.Cmd) *exec.Cmd { return h.Command(cmd.Path, cmd.Args[1:]...) }

// Dial connects to an address as the host sees it, also when its cable is
// pulled. It is for http.Transport.
func (h *Host) Dial(ctx context.Context, network, addr string) (c net.Conn, err error) {
	err = h.within(func() error {
		c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
		return err
	})
	return c, err
}

// within runs act in the host's namespace, which is a thread's.
func (h *Host) within(act func() error) error {
	runtime.LockOSThread()
	outside, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer outside.Close()
	if err := enter("/run/netns/" + h.name); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = act()
	if back := unix.Setns(int(outside.Fd()), unix.CLONE_NEWNET); back != nil {
		// The thread must not serve anybody else; it ends with this goroutine.
		return errors.Join(err, fmt.Errorf("leaving namespace %s: %w", h.name, back))
	}
	runtime.UnlockOSThread()
	return err
}

func enter(path string) error {
	inside, err := os.Open(path)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := unix.Setns(int(inside.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering namespace %s: %w", path, err)
	}
	return nil
}
