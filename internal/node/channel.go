package node

import (
	"context"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// newChannel makes the way to the active controller.
func (n *node) newChannel() *toctrl.Channel {
	cfg := toctrl.Config{
		Self: n.cfg.Node().ID,
		Own:  api.OwnConn(n.cfg.Node().ControllerNames[0]),
		Seal: api.Seal, Unseal: api.Unseal, Elsewhere: api.Elsewhere,
		Clients: n.newClientsPool(), Pool: n.peers,
	}
	if n.controller != nil {
		table := api.NewTable(api.OnController, n.about(), n.routes)
		cfg.Local, cfg.Newest = table.Call, table.Newest
	}
	c := toctrl.New(cfg)
	n.quorum.WatchLeader(func(v raftnode.View) { c.Moved(leaderIn(v, cfg.Self)) })
	return c
}

// newClientsPool makes the connections that carry the requests of clients to the
// controller.
func (n *node) newClientsPool() *transport.Pool {
	cfg := n.clientConfig()
	cfg.MaxQueued = toctrl.MaxUnderWay
	pool := transport.NewPool(cfg)
	n.onStop(pool.Close)
	return pool
}

// startRegistrar keeps this controller registered with the active one.
func (n *node) startRegistrar() {
	self := n.cfg.Node()
	r := ctrlnode.Registration{Node: self.ID, Incarnation: randomUUID(), Features: registered()}
	for _, l := range self.AdvertisedControllers {
		r.Listeners = append(r.Listeners, image.Endpoint{
			Name: l.Name, Host: advertisedHost(l), Port: uint16(n.boundPort(l)), Protocol: protocolNumber(l.Protocol),
		})
	}
	n.registrar = ctrlnode.NewRegistrar(r, n.channel.Do, n.log.With("part", "controller"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.registrar.Run(ctx)
	}()
	n.onStop(func() {
		cancel()
		<-done
	})
}

// publishToRegistrar lets the registrar see whether the image has us.
func (n *node) publishToRegistrar(delta image.Delta, img *image.Image) {
	if n.registrar != nil {
		n.registrar.Publish(delta, img)
	}
}
