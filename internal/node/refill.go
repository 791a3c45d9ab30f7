package node

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// refill waits until a controller has the snapshot that it lacks. Its peers, who may need
// its vote for a leader to have one from, are answered meanwhile on the listeners of
// controllers. On others nothing is served yet: who connects is turned away at once, and
// does not wait for an answer until it gives up.
func refill(ctx context.Context, e *env, l *listeners, rc raftnode.Config) error {
	client, dialer := e.asClient(), &transport.Dialer{}
	client.Dial = dialer.Dial
	bulk := transport.NewPool(client)
	defer bulk.Close()
	rc.Bulk = raftnode.OverTransport(bulk, dialer, rc.Timing.Request)
	r, err := raftnode.StartRefill(rc)
	if err != nil {
		return err
	}
	var doors lentListeners
	server := newUnboundServer(e)
	table := quorumTable(e, rc.ClusterID, r)
	for _, at := range l.self.Listeners {
		door := doors.lend(l.bound[at.Name])
		if e.self.IsControllerListener(at.Name) {
			server.Serve(door, transport.ListenerConfig{Name: at.Name, Outstanding: controllerOutstanding, Routes: table}).Start()
		} else {
			doors.turnAway(door)
		}
	}
	err = r.Run(ctx)
	closeServer(server, e.log)
	doors.takeBack()
	return err
}

// quorumTable serves the peers of a controller that knows no metadata. Whoever asks for
// what the active one serves is told that this is not it. Where there is an authorizer
// only super users are let in, since all rules are in the metadata.
func quorumTable(e *env, clusterID string, r *raftnode.Refill) *api.Table {
	var access *api.Access
	if e.cfg.String("authorizer.class.name") != "" {
		access = &api.Access{View: noMetadata{}, Rules: auth.Rules{SuperUsers: auth.ParseSuperUsers(e.cfg.String("super.users"))}}
	}
	return api.NewTable(api.OnController, api.About{
		ClusterID: clusterID, Node: e.self.ID, View: noMetadata{}, Supported: image.Served(),
		KRaftVersion:  func() int16 { return r.View().Level },
		FeaturesEpoch: func() int64 { return -1 },
	}, access.Guard(slices.Concat(api.QuorumRoutes(r), api.WaitingRoutes())))
}

// noMetadata is the view of who has none.
type noMetadata struct{}

func (noMetadata) Image() *image.Image { return image.Empty() }

// lentListeners are sockets that are used for a while and then by others.
type lentListeners struct {
	lent  []*lentListener
	stops stops
}

func (l *lentListeners) lend(ln net.Listener) *lentListener {
	door := &lentListener{TCPListener: ln.(*net.TCPListener)}
	l.lent = append(l.lent, door)
	return door
}

// acceptPause is how long turning away rests after an accept that failed.
const acceptPause = 100 * time.Millisecond

// turnAway closes connections as they come.
func (l *lentListeners) turnAway(door *lentListener) {
	l.stops.background(func(ctx context.Context) {
		for ctx.Err() == nil {
			c, err := door.Accept()
			if err == nil {
				_ = c.Close()
				continue
			}
			select { // most often the process has no file descriptor left
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
		}
	})
	l.stops.add(func() { _ = door.Close() })
}

// takeBack ends all use.
func (l *lentListeners) takeBack() {
	l.stops.run()
	for _, door := range l.lent {
		_ = door.SetDeadline(time.Time{})
	}
}

// lentListener is a socket that stays open when who uses it closes it.
type lentListener struct {
	*net.TCPListener
	ended atomic.Bool
}

// Accept waits for a connection, at most until Close.
func (l *lentListener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil && l.ended.Load() {
		return nil, net.ErrClosed
	}
	return c, err
}

// Close ends an Accept that waits.
func (l *lentListener) Close() error {
	l.ended.Store(true)
	return l.SetDeadline(time.Now())
}
