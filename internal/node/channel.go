package node

import (
	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// channel is the way to the active controller, with its connections.
type channel struct {
	*toctrl.Channel
	own     *transport.Pool // for the node's own requests
	clients *transport.Pool // for those of its clients
}

// newChannel makes a channel that follows the quorum's leader. local is what this
// node serves when it is the active controller; nil where it has none.
func newChannel(e *env, q quorum, local *api.Table) channel {
	many := e.asClient()
	many.MaxQueued = toctrl.MaxUnderWay
	c := channel{own: transport.NewPool(e.asClient()), clients: transport.NewPool(many)}
	cfg := toctrl.Config{
		Self: e.self.ID,
		Own:  api.Oneself(e.self.ControllerNames[0], e.asClient().ClientID),
		Seal: api.Seal, Unseal: api.Unseal, Elsewhere: api.Elsewhere,
		Clients: c.clients, Pool: c.own,
	}
	if local != nil {
		cfg.Local, cfg.Serves = local.Call, local.Serves
	}
	c.Channel = toctrl.New(cfg)
	q.WatchLeader(func(v raftnode.View) { c.Moved(leaderIn(v, e.self.ID)) })
	return c
}

// close ends the search for a controller, and then the connections.
func (c channel) close() {
	c.Channel.Close()
	c.clients.Close()
	c.own.Close()
}
