package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/lifecycle"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
	"github.com/ottla/ottla/internal/edge/transport"
)

// node is the parts of one running node. Run makes them in order and stops them
// in the opposite one; a part that a role does not need is nil.
type node struct {
	opt     Options
	cfg     *config.Config
	fs      vfs.FS
	log     *slog.Logger
	watched *watched

	files         fileShares
	clusterID     string
	metadataDirID kafka.DirID
	dirs          *dirs.Dirs
	// A directory may fail before the node has any use for the news.
	failures held[dirFailure]  // for dirFailed
	offline  held[kafka.DirID] // for the replicas and the lifecycle
	// previousEpoch is the broker epoch of the last orderly stop.
	previousEpoch kafka.BrokerEpoch

	bound  map[string]net.Listener // by listener name
	peers  *transport.Pool
	quorum quorum
	view   *metaview.View

	routes  []api.Route     // what an active controller serves
	channel *toctrl.Channel // to the active controller

	controller *ctrlnode.Node
	registrar  *ctrlnode.Registrar
	life       *lifecycle.Lifecycle
	broker     *brokerPart
	// cleanEpoch is the broker epoch of an orderly stop, or NoBrokerEpoch.
	cleanEpoch kafka.BrokerEpoch
	orderly    bool // the stop was asked for

	// featuresKnown is closed once the finalized features have been looked at.
	featuresKnown chan struct{}
	featuresOnce  sync.Once
	// unfit: the newest image has features that are not served, and nothing of it
	// is carried out. Only publishers use it, one after the other.
	unfit bool

	metricsAddr string

	failOnce sync.Once
	failed   chan error
	stops    []func() // what to undo, last first
}

// stopGrace bounds each step of an orderly stop.
const stopGrace = 5 * time.Second

// Run runs a node until ctx ends, then stops it in good order. An error means
// that the node could not start or could not go on; its text says what to do
// about it.
func Run(ctx context.Context, opt Options) error {
	n := &node{
		opt: opt, cfg: opt.Config, fs: opt.FS, log: opt.Log, watched: newWatched(opt.Config.String("ottla.metrics.listener")),
		bound: map[string]net.Listener{}, failed: make(chan error, 1), featuresKnown: make(chan struct{}), cleanEpoch: kafka.NoBrokerEpoch,
	}
	if n.fs == nil {
		n.fs = vfs.OS{}
	}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	defer n.stop()
	defer n.watched.at(stopping)
	if err := n.start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		n.leave()
		return nil
	case err := <-n.failed:
		return err
	}
}

// start makes the parts. What needs an address is bound first, so that a port
// in use is found before anything is written.
func (n *node) start(ctx context.Context) error {
	n.files = n.shareFiles()
	steps := []func(context.Context) error{n.bind, n.serveMetrics, n.openDirs, n.startQuorum}
	if n.cfg.Node().Controller {
		steps = append(steps, n.serveController)
	}
	if n.cfg.Node().Broker {
		steps = append(steps, n.startBroker, n.serveBroker)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.watched.at(running)
	n.tellReady()
	return nil
}

// onStop adds what undoes the last step.
func (n *node) onStop(f func()) { n.stops = append(n.stops, f) }

func (n *node) stop() {
	for i := len(n.stops) - 1; i >= 0; i-- {
		n.stops[i]()
	}
	n.stops = nil
}

// fail ends the node: a part cannot go on.
func (n *node) fail(err error) {
	n.failOnce.Do(func() { n.failed <- err })
}

// wait waits inside the start until ready is closed. The error says that a part
// failed meanwhile, or that the node is to stop.
func (n *node) wait(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case err := <-n.failed:
		return err
	case <-ctx.Done():
		return errors.New("stopped before the node was ready")
	}
}

// bind opens the sockets of all listeners; nothing is accepted yet.
func (n *node) bind(context.Context) error {
	for _, l := range n.cfg.Node().Listeners {
		ln, err := net.Listen("tcp", l.Address())
		if err != nil {
			return fmt.Errorf("listener %s: %w", l, err)
		}
		n.bound[l.Name] = ln
		n.onStop(func() { _ = ln.Close() }) // the server has usually closed it
	}
	n.peers = n.newPool()
	n.onStop(n.peers.Close)
	return nil
}

func (n *node) newPool() *transport.Pool { return transport.NewPool(n.clientConfig()) }

// clientConfig is how this node appears to its peers.
func (n *node) clientConfig() transport.ClientConfig {
	return transport.ClientConfig{ClientID: fmt.Sprintf("ottla-%d", n.cfg.Node().ID), SoftwareVersion: n.opt.Version}
}

// boundPort is the port of a listener, which the system has chosen where the
// settings say 0.
func (n *node) boundPort(l config.Listener) int {
	if l.Port != 0 || n.bound[l.Name] == nil {
		return l.Port
	}
	return n.bound[l.Name].Addr().(*net.TCPAddr).Port
}

func (n *node) tellReady() {
	if n.opt.Ready == nil {
		return
	}
	a := Addresses{Listeners: map[string]string{}, Metrics: n.metricsAddr}
	for name, ln := range n.bound {
		a.Listeners[name] = ln.Addr().String()
	}
	n.opt.Ready(a)
}

func hostname() string {
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}
