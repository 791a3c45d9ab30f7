package itest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
)

// lowestPort is the first port that tests use.
const lowestPort = 10_000

// given are the ports that this process has found. None is given twice, so that
// tests side by side do not meet.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// FreePort finds a port on loopback that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	return FreePorts(t, 1)
}

// FreePorts finds n ports in a row on loopback that nobody listens on, and
// returns the first.
//
// They lie below those that the system gives to outgoing connections. Otherwise:
//  1. A node is killed, and its port is free.
//  2. A client that looks for it connects to another node, and the system
//     happens to give that port to the client's end.
//  3. The node cannot listen on its port any more.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	end := lowestOutgoing()
	for range 1000 {
		first := lowestPort + rand.IntN(end-lowestPort-n)
		if !areFree(first, n) {
			continue
		}
		for i := range n {
			given.ports[first+i] = true
		}
		return first
	}
	t.Fatalf("no %d ports in a row are free between %d and %d", n, lowestPort, end)
	return 0
}

// areFree tries the ports. No process is started meanwhile: until it has become
// what it is to run, the child has all sockets of this process open.
func areFree(first, n int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for port := first; port < first+n; port++ {
		if given.ports[port] {
			return false
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// lowestOutgoing is the first port that the system gives to outgoing
// connections, or Linux's usual one where that cannot be read or is too low.
func lowestOutgoing() int {
	const usual = 32_768
	raw, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	var first, last int
	if _, err := fmt.Sscan(string(raw), &first, &last); err != nil || first < lowestPort+1000 {
		return usual
	}
	return first
}
