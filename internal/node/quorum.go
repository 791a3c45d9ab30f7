package node

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/drive/raftnode"
)

// quorum shows a raftnode to the view and the controller as they want it.
type quorum struct{ *raftnode.Node }

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

func (q quorum) Heir() bool {
	role := q.View().Role
	return role == raft.RoleCandidate || role == raft.RoleLeader
}

func (q quorum) CreateSnapshot(end kafka.Offset, epoch kafka.Epoch, lastMs int64) (metaview.SnapshotWriter, error) {
	w, err := q.Node.CreateSnapshot(raftnode.SnapshotID{EndOffset: end, Epoch: epoch}, lastMs)
	if w == nil || err != nil {
		return nil, unlessStopped(err)
	}
	return snapshotWriter{w}, nil
}

// snapshotWriter tells the view in its terms that the node has left the quorum.
type snapshotWriter struct{ *raftnode.SnapshotWriter }

func (w snapshotWriter) Freeze() error { return unlessStopped(w.SnapshotWriter.Freeze()) }

func unlessStopped(err error) error {
	if errors.Is(err, raftnode.ErrStopped) {
		return fmt.Errorf("%w: %w", metaview.ErrQuorumStopped, err)
	}
	return err
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
		all[i] = metaview.Batch{Base: b.Base, End: b.End, Epoch: b.Epoch, TimestampMs: b.AppendTimestamp, Records: b.Records, Size: b.Size}
	}
	l.view.Commit(all...)
}

func (l listener) Leader(at raftnode.LeaderAndEpoch) { l.view.Leader(at.Leader, at.Epoch) }
