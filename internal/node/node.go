package node

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// node is the parts of one node, in the order in which start makes them; the
// stops undo that. A part that a role does not need is nil.
type node struct {
	*env
	ready   func(Addresses)
	sockets map[string]net.Listener // open already
	stops   stops

	files      fileShares
	listeners  *listeners
	page       *metricsPage
	folders    *folders
	metadata   *metadata
	features   *featureGate
	controller *controllerRole
	apis       *apis
	channel    channel
	broker     *brokerRole

	departure departure
	depart    func() // tells the company that the broker has left
}

// stopGrace bounds each step of an orderly stop.
const stopGrace = 5 * time.Second

// Run runs a node until ctx ends, then stops it in good order. An error means
// that the node could not start or could not go on; its text says what to do
// about it.
func Run(ctx context.Context, opt Options) error {
	n := &node{env: newEnv(opt), ready: opt.Ready, sockets: opt.Sockets, departure: departure{epoch: kafka.NoBrokerEpoch}}
	defer n.stops.run()
	defer n.watched.at(stopping)
	n.depart = sync.OnceFunc(n.company.depart)
	defer n.depart()
	if err := n.start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		n.leave()
		return nil
	case err := <-n.failure.why:
		return err
	}
}

// start makes the parts. What needs an address is bound first, so that a port
// in use is found before anything is written.
func (n *node) start(ctx context.Context) error {
	n.files = shareFiles(n.log)
	steps := []func(context.Context) error{n.listen, n.openFolders, n.joinQuorum}
	if n.self.Controller {
		steps = append(steps, n.serveBrokers)
	}
	steps = append(steps, n.follow)
	if n.self.Broker {
		steps = append(steps, n.serveClients)
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

func (n *node) listen(context.Context) (err error) {
	if n.listeners, err = bindListeners(n.self, n.sockets); err != nil {
		return err
	}
	n.stops.add(n.listeners.close)
	if n.page, err = serveMetrics(n.env); err != nil {
		return err
	}
	n.stops.add(n.page.close)
	return nil
}

func (n *node) openFolders(context.Context) (err error) {
	if n.folders, err = openFolders(n.env, n.files.logs); err != nil {
		return err
	}
	n.stops.add(func() { n.folders.close(n.departure) })
	return nil
}

// joinQuorum joins the quorum, and makes what the controller role needs and the
// way to the active controller.
func (n *node) joinQuorum(ctx context.Context) (err error) {
	if n.metadata, err = joinQuorum(ctx, n.env, n.folders, n.listeners); err != nil {
		return err
	}
	n.stops.add(func() { n.departure.writing = n.metadata.close() })
	n.features = newFeatureGate(n.failure)
	if n.self.Controller {
		n.controller = newControllerRole(n.env, n.folders.clusterID, n.metadata)
	}
	n.apis = newAPIs(n.env, n.folders.clusterID, n.metadata, n.features, n.controller)
	n.channel = newChannel(n.env, n.metadata.quorum, n.apis.active)
	n.stops.add(n.channel.close)
	seen := outlook{n.metadata, n.controller}
	n.watched.show(n.metadata.quorum.Register, n.metadata.view.Register, seen.registerMetadata, n.channel.Register)
	if n.controller != nil {
		n.watched.show(seen.registerController)
	}
	return nil
}

// serveBrokers lets brokers and the quorum in, and registers the controller.
func (n *node) serveBrokers(context.Context) error {
	n.stops.add(n.controller.close)
	n.controller.register(n.listeners.controllers(), n.channel.Channel)
	n.controller.serve(n.listeners, n.apis.onController(), n.files.peers)
	return nil
}

// follow makes the broker and lets all parts follow the metadata, which it waits
// for until the controller has unfenced the broker.
func (n *node) follow(ctx context.Context) error {
	if n.self.Broker {
		n.broker = newBrokerRole(n.env, n.folders, n.listeners.clients(), n.channel.Channel)
		n.stops.add(n.broker.close)
		n.broker.run(n.features)
	}
	n.metadata.follow(audience{features: n.features, live: n.live, changes: &n.watched.changes, broker: n.broker, controller: n.controller})
	if n.broker == nil {
		return nil
	}
	return n.failure.wait(ctx, n.broker.life.Unfenced())
}

func (n *node) serveClients(context.Context) error {
	n.broker.serve(n.listeners, n.apis.onBroker(n.broker), n.files.clients)
	return nil
}

// leave begins an orderly stop.
func (n *node) leave() {
	n.departure.orderly = true
	n.watched.at(leaving)
	n.metadata.neighbours.remember()
	if n.broker != nil {
		n.departure.epoch = n.broker.leave()
	}
	n.depart()
	n.company.await(stopGrace)
	if n.company == nil {
		n.metadata.neighbours.await()
	}
}

func (n *node) tellReady() {
	if n.ready != nil {
		n.ready(Addresses{Listeners: n.listeners.addresses(), Metrics: n.page.addr})
	}
}
