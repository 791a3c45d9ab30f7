package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// metadata is this node's share in the cluster's metadata: its member of the
// quorum, and the view of what that commits.
type metadata struct {
	*env
	// peers are the connections to other members of the quorum. They are apart
	// from those to the controller: a parked Fetch would hold up what comes after
	// it on the same connection.
	peers      *transport.Pool
	quorum     quorum
	bootstrap  []controller.Versioned // what the first leader of a new cluster writes
	view       *metaview.View
	audience   audience
	neighbours *neighbours
	// handedOver tells that a stop has waited for a successor already.
	handedOver bool
}

// joinQuorum joins the quorum. The view begins to follow it when all who want to
// know are there, see follow.
func joinQuorum(ctx context.Context, e *env, f *folders, l *listeners) (*metadata, error) {
	client, dialer := e.asClient(), &transport.Dialer{}
	client.Dial = dialer.Dial
	m := &metadata{env: e, peers: transport.NewPool(client)}
	sender := raftnode.OverTransport(m.peers, dialer, e.cfg.Duration("controller.quorum.request.timeout.ms"))
	if err := m.join(ctx, l, quorumConfig(e, f, l.controllers(), sender)); err != nil {
		m.peers.Close()
		return nil, err
	}
	m.view = metaview.New(metaview.Config{
		Quorum:     m.quorum,
		Publishers: m.audience.publishers(),
		Applied:    m.audience.applied,
		Leader:     m.audience.leader,
		Worked:     m.audience.worked,
		Fault: func(err error) {
			e.watched.changes.Errors.Add(1)
			e.failure.fail(fmt.Errorf("the metadata log cannot be applied: %w", err))
		},
		Snapshots: metaview.SnapshotPolicy{
			Bytes:    e.cfg.Int("metadata.log.max.record.bytes.between.snapshots"),
			Interval: e.cfg.Duration("metadata.log.max.snapshot.interval.ms"),
		},
		Log: e.part("metadata"),
	})
	m.neighbours = &neighbours{self: e.self.ID, voters: m.voters, image: m.view.Image, gone: m.goneBy(dialer)}
	return m, nil
}

func (m *metadata) join(ctx context.Context, l *listeners, rc raftnode.Config) (err error) {
	if rc.Controller {
		if m.bootstrap, err = bootstrapIn(rc); err != nil {
			return err
		}
	}
	q, err := raftnode.Start(context.WithoutCancel(ctx), rc)
	if errors.Is(err, raftnode.ErrGap) {
		if err = refill(ctx, m.env, l, rc); err == nil {
			q, err = raftnode.Start(context.WithoutCancel(ctx), rc)
		}
	}
	if err != nil {
		return err
	}
	m.quorum = quorum{q}
	return nil
}

// follow lets the view follow the quorum, and the audience the view.
func (m *metadata) follow(a audience) {
	m.audience = a
	m.quorum.Subscribe(listener{m.view})
}

// diskPatience is how long a stop waits for what is being written to the
// metadata directory, after the quorum has been left.
const diskPatience = 2 * stopGrace

// close leaves the quorum; a leader gets time to hand over. After that nothing
// of ours writes to the metadata directory: a snapshot that the view has begun
// is finished or dropped. Only where the disk hangs, so that this takes too
// long, it gives a channel that is closed when it is true at last.
func (m *metadata) close() (writing <-chan struct{}) {
	quiet, limit := make(chan struct{}), make(chan struct{})
	late := time.AfterFunc(stopGrace+diskPatience, func() { close(limit) })
	defer late.Stop()
	go func() { // nobody can stop it while the disk hangs
		defer close(quiet)
		m.leave()
		m.peers.Close()
	}()
	select {
	case <-quiet:
		return nil
	case <-limit:
		return quiet
	}
}

// handOver gives a leader time to hand over, while its peers can still reach it.
func (m *metadata) handOver() {
	ctx, end := m.neighbours.untilAlone(m.patience())
	defer end()
	m.quorum.HandOver(ctx)
	m.handedOver = true
}

// patience is how long a stop still waits for a successor.
func (m *metadata) patience() time.Duration {
	if m.handedOver {
		return 0
	}
	return m.company.handover()
}

// leave leaves the quorum and waits until nothing is being written.
func (m *metadata) leave() {
	ctx, end := m.neighbours.untilAlone(m.patience())
	defer end()
	if err := m.quorum.Stop(ctx); err != nil {
		m.log.Warn("quorum did not stop in good order", "err", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), diskPatience)
	defer cancel()
	if err := m.view.Wait(ctx); err != nil {
		m.log.Warn("metadata snapshot given up", "err", err)
		_ = m.view.Wait(context.Background()) // the write that is under way
	}
}

// kraftVersion is the level of kraft.version, which the quorum keeps itself.
func (m *metadata) kraftVersion() int16 { return m.quorum.View().Level }

// leaderID is the active controller, or kafka.NoNode.
func (m *metadata) leaderID() kafka.NodeID { return m.quorum.View().Leader }

// voters are the ids of the quorum's voters.
func (m *metadata) voters() (ids []kafka.NodeID) {
	for _, v := range m.quorum.View().Voters {
		ids = append(ids, v.Key.Node)
	}
	return ids
}

// processPatience bounds one look for a voter's process, refusalPause lies between the
// two refusals that show that it is gone.
const (
	processPatience = 200 * time.Millisecond
	refusalPause    = 20 * time.Millisecond
)

// goneBy looks for a voter's process at its address. One that nobody knows proves
// nothing.
func (m *metadata) goneBy(dialer *transport.Dialer) func(context.Context, kafka.NodeID) bool {
	return func(ctx context.Context, voter kafka.NodeID) bool {
		ctx, cancel := context.WithTimeout(ctx, processPatience)
		defer cancel()
		for _, v := range m.quorum.View().Voters {
			if v.Key.Node == voter && len(v.Endpoints) > 0 {
				at := v.Endpoints[0]
				return dialer.RefusedTwice(ctx, refusalPause, net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))))
			}
		}
		return false
	}
}

// bootstrapIn are the records of a new cluster, from the folder or by default.
func bootstrapIn(rc raftnode.Config) ([]controller.Versioned, error) {
	framed, err := raftnode.ReadBootstrap(rc.FS, rc.Dir)
	if err != nil {
		return nil, err
	}
	if len(framed) == 0 {
		return controller.Bootstrap(image.LatestLevel), nil
	}
	records := make([]controller.Versioned, len(framed))
	for i, raw := range framed {
		m, version, err := metarec.ReadMetadata(raw)
		if err != nil {
			return nil, fmt.Errorf("bootstrap record %d in %s: %w", i, rc.Dir, err)
		}
		records[i] = controller.Versioned{Message: m, Version: version}
	}
	return records, nil
}
