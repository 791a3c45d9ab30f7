package node

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/config"
)

func listenersOf(t *testing.T, text string) *config.Node {
	t.Helper()
	cfg, _, err := config.Parse("server.properties", []byte("process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"+
		"controller.quorum.voters=1@127.0.0.1:1\nlog.dirs="+t.TempDir()+"\n"+text), nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Node()
}

// "port is the port of a listener, which the system has chosen where the
// settings say 0", and the host is this machine's name where they leave it open.
func TestAdvertisedEndpoints(t *testing.T) {
	l, err := bindListeners(listenersOf(t, "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://:0\nadvertised.listeners=PLAINTEXT://elsewhere:1234\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if got := l.clients(); len(got) != 1 || got[0].Host != "elsewhere" || got[0].Port != 1234 {
		t.Errorf("clients come to %+v", got)
	}
	_, port, err := net.SplitHostPort(l.addresses()["CONTROLLER"])
	if err != nil {
		t.Fatal(err)
	}
	if got := l.controllers(); len(got) != 1 || got[0].Host != hostname() || strconv.Itoa(int(got[0].Port)) != port {
		t.Errorf("brokers come to %+v, bound is port %s", got, port)
	}
}

// A port in use is named, and the sockets that were bound before it are free
// again.
func TestAPortInUseFreesTheOthers(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	free := freeAddr(t)
	_, err = bindListeners(listenersOf(t, "listeners=PLAINTEXT://"+free+",CONTROLLER://"+used.Addr().String()+"\n"), nil)
	if err == nil || !strings.Contains(err.Error(), used.Addr().String()) {
		t.Fatalf("bound a port in use: %v", err)
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// "that are not open yet": a socket that was handed over is used and closed.
func TestAnOpenSocketIsTakenOver(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := bindListeners(listenersOf(t, "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://"+open.Addr().String()+"\n"), map[string]net.Listener{"CONTROLLER": open})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.addresses()["CONTROLLER"]; got != open.Addr().String() {
		t.Errorf("listens at %s, not %s", got, open.Addr())
	}
	l.close()
	if _, err := open.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("not closed: %v", err)
	}
}
