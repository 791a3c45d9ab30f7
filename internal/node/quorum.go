package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// metadataFolder is the folder of the metadata log in its directory.
const metadataFolder = kafka.MetadataTopic + "-0"

// quorumConfig translates a node's settings for its member of the quorum.
func (n *node) quorumConfig() raftnode.Config {
	cfg, self := n.cfg, n.cfg.Node()
	rc := raftnode.Config{
		FS:         n.fs,
		Dir:        filepath.Join(self.MetadataDir, metadataFolder),
		ClusterID:  n.clusterID,
		Self:       kafka.ReplicaKey{Node: self.ID, Dir: n.metadataDirID},
		Controller: self.Controller,
		Listener:   self.ControllerNames[0],
		AutoJoin:   cfg.Bool("controller.quorum.auto.join.enable"),
		Timing: raft.Timing{
			Election:     cfg.Duration("controller.quorum.election.timeout.ms"),
			Fetch:        cfg.Duration("controller.quorum.fetch.timeout.ms"),
			Request:      cfg.Duration("controller.quorum.request.timeout.ms"),
			RetryBackoff: cfg.Duration("controller.quorum.retry.backoff.ms"),
			BackoffMax:   cfg.Duration("controller.quorum.election.backoff.max.ms"),
			FetchBytes:   int32(cfg.Int("controller.quorum.fetch.max.bytes")),
			ChunkBytes:   int32(cfg.Int("controller.quorum.fetch.snapshot.max.bytes")),
		},
		SegmentBytes: int(cfg.Int("metadata.log.segment.bytes")),
		SegmentAge:   cfg.Duration("metadata.log.segment.ms"),
		Retention: raftnode.Retention{
			Bytes: cfg.Int("metadata.max.retention.bytes"),
			Age:   cfg.Duration("metadata.max.retention.ms"),
		},
		Sender: n.newQuorumSender(cfg.Duration("controller.quorum.request.timeout.ms")),
		Log:    n.log.With("part", "quorum"),
		Fatal:  n.fail,
	}
	for _, l := range self.AdvertisedControllers {
		rc.Endpoints = append(rc.Endpoints, raft.Endpoint{Name: l.Name, Host: advertisedHost(l), Port: uint16(n.boundPort(l))})
	}
	for _, v := range self.Voters {
		rc.Voters = rc.Voters.With(raft.Voter{
			Key:       kafka.ReplicaKey{Node: v.ID},
			Endpoints: raft.Endpoints{{Name: rc.Listener, Host: v.Host, Port: uint16(v.Port)}},
		})
	}
	for _, b := range self.Bootstrap {
		rc.Bootstrap = append(rc.Bootstrap, raft.Endpoint{Name: rc.Listener, Host: b.Host, Port: uint16(b.Port)})
	}
	if len(self.Bootstrap) == 0 {
		// A node that finds no leader asks the static voters, as in Kafka.
		for _, v := range self.Voters {
			rc.Bootstrap = append(rc.Bootstrap, raft.Endpoint{Name: rc.Listener, Host: v.Host, Port: uint16(v.Port)})
		}
	}
	return rc
}

// newQuorumSender makes the connections to other members of the quorum. They
// are apart from those to the controller: a parked Fetch would hold up what comes
// after it on the same connection.
func (n *node) newQuorumSender(timeout time.Duration) raftnode.Sender {
	dialer, cfg := &raftnode.Dialer{}, n.clientConfig()
	cfg.Dial = dialer.Dial
	pool := transport.NewPool(cfg)
	n.onStop(pool.Close)
	return raftnode.OverTransport(pool, dialer, timeout)
}

// quorum shows a raftnode to the view and the controller as they want it.
type quorum struct {
	*raftnode.Node
	self kafka.NodeID
}

func (q quorum) HighWatermark() kafka.Offset { return q.View().HighWatermark }

// Append maps what the quorum refuses to what a client of the controller is
// told.
func (q quorum) Append(epoch kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	end, err := q.Node.Append(epoch, framed)
	switch {
	case err == nil:
		return end, nil
	case errors.Is(err, raftnode.ErrNotLeader), errors.Is(err, raftnode.ErrStopped):
		return 0, kerr.Errorf(kerr.NotController, "this controller does not lead epoch %d any more", epoch)
	case errors.Is(err, raftnode.ErrTooBusy):
		return 0, kerr.Errorf(kerr.RequestTimedOut, "the metadata log takes no more for the moment")
	}
	return 0, err
}

func (q quorum) LogEnd() kafka.Offset { return q.View().LogEnd }

func (q quorum) CreateSnapshot(end kafka.Offset, epoch kafka.Epoch, lastMs int64) (metaview.SnapshotWriter, error) {
	w, err := q.Node.CreateSnapshot(raftnode.SnapshotID{EndOffset: end, Epoch: epoch}, lastMs)
	if w == nil || err != nil {
		return nil, err
	}
	return w, nil
}

// leaderIn is the leader that a view of the quorum names. While one is known by
// its id only, as after it has stopped, nobody but itself can reach it.
func leaderIn(v raftnode.View, self kafka.NodeID) toctrl.Leader {
	l := toctrl.Leader{Node: v.Leader, Epoch: v.Epoch}
	if len(v.LeaderEndpoints) > 0 && v.LeaderEndpoints[0].Host != "" && v.LeaderEndpoints[0].Port != 0 {
		at := v.LeaderEndpoints[0]
		l.Addr = net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	}
	if l.Addr == "" && l.Node != self {
		return toctrl.Leader{Node: kafka.NoNode, Epoch: v.Epoch}
	}
	return l
}

// listener hands what the quorum tells to the view.
type listener struct{ view *metaview.View }

func (l listener) Snapshot(r *raftnode.SnapshotReader) {
	id := r.ID()
	l.view.Load(image.Provenance{Offset: id.EndOffset - 1, Epoch: id.Epoch, TimestampMs: r.LastContainedTimestamp()}, r.Batches())
}

func (l listener) Commit(batches []raftnode.Batch) {
	all := make([]metaview.Batch, len(batches))
	for i, b := range batches {
		all[i] = metaview.Batch{Base: b.Base, End: b.End, Epoch: b.Epoch, TimestampMs: b.AppendTimestamp, Records: b.Records}
	}
	l.view.Commit(all...)
}

func (l listener) Leader(at raftnode.LeaderAndEpoch) { l.view.Leader(at.Leader, at.Epoch) }

// newView makes the view of committed metadata.
func (n *node) newView(publishers []metaview.Publisher) *metaview.View {
	return metaview.New(metaview.Config{
		Quorum:     n.quorum,
		Publishers: publishers,
		Applied:    n.applied,
		Leader:     n.leads,
		Fault: func(err error) {
			n.watched.changes.Errors.Add(1)
			n.fail(fmt.Errorf("the metadata log cannot be applied: %w", err))
		},
		Snapshots: metaview.SnapshotPolicy{
			Bytes:    n.cfg.Int("metadata.log.max.record.bytes.between.snapshots"),
			Interval: n.cfg.Duration("metadata.log.max.snapshot.interval.ms"),
		},
		Log: n.log.With("part", "metadata"),
	})
}

// applied is called when everything below end has been seen by the publishers.
func (n *node) applied(end kafka.Offset) {
	if n.controller != nil {
		n.controller.Applied(end)
	}
	if n.life != nil {
		n.life.Published(end - 1)
	}
}

func (n *node) leads(leader kafka.NodeID, epoch kafka.Epoch, latest *image.Image) {
	if leader != kafka.NoNode {
		n.watched.changes.Claims.Add(1)
	}
	if n.controller != nil {
		n.controller.Leader(leader, epoch, latest)
	}
}

// advertisedHost is the host others reach a listener by: this machine's name
// where the settings leave it open, as in Kafka.
func advertisedHost(l config.Listener) string {
	if l.Host == "" {
		return hostname()
	}
	return l.Host
}

// leaveQuorum leaves the quorum; a leader gets time to hand over. After that
// nothing of ours writes to the metadata directory: a snapshot that the view has
// begun is finished or dropped before the directories are given up.
func (n *node) leaveQuorum() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := n.quorum.Stop(ctx); err != nil {
		n.log.Warn("quorum did not stop in good order", "err", err)
	}
	if n.view != nil {
		n.view.Wait()
	}
}
