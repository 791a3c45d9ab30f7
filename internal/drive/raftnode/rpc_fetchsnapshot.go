package raftnode

import (
	"io"
	"os"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FetchSnapshot (59): KIP-630, directory ids of KIP-853.

func (w translator) receiveFetchSnapshot(r *kmsg.FetchSnapshotRequest) (raft.Body, kmsg.Response) {
	resp := r.ResponseKind().(*kmsg.FetchSnapshotResponse)
	switch {
	case !w.sameCluster(r.ClusterID):
		resp.ErrorCode = int16(kerr.InconsistentClusterId)
		return nil, resp
	case len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1:
		resp.ErrorCode = int16(kerr.InvalidRequest)
		return nil, resp
	}
	p := r.Topics[0].Partitions[0]
	id := raft.SnapshotID{EndOffset: kafka.Offset(p.SnapshotID.EndOffset), Epoch: kafka.Epoch(p.SnapshotID.Epoch)}
	if !isMetadata(r.Topics[0].Topic, p.Partition) {
		a := raft.SnapshotAnswer{Err: kerr.UnknownTopicOrPartition, ID: id, Hint: raft.Hint{Epoch: kafka.NoEpoch, Leader: kafka.NoNode}}
		return nil, respondFetchSnapshot(RequestInfo{}, r, a, nil)
	}
	s := raft.SnapshotRequest{
		Replica: kafka.ReplicaKey{Node: kafka.NodeID(r.ReplicaID)}, Epoch: kafka.Epoch(p.CurrentLeaderEpoch),
		ID: id, Position: p.Position, MaxBytes: min(r.MaxBytes, maxFetchBytes),
	}
	if r.Version >= 1 {
		s.Replica.Dir = p.ReplicaDirectoryID
	}
	return s, nil
}

func respondFetchSnapshot(from RequestInfo, req *kmsg.FetchSnapshotRequest, a raft.SnapshotAnswer, raw []byte) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchSnapshotResponse)
	t := kmsg.NewFetchSnapshotResponseTopic()
	t.Topic = kafka.MetadataTopic
	p := kmsg.NewFetchSnapshotResponseTopicPartition()
	if len(req.Topics) == 1 && len(req.Topics[0].Partitions) == 1 {
		t.Topic, p.Partition = req.Topics[0].Topic, req.Topics[0].Partitions[0].Partition
	}
	p.ErrorCode = int16(a.Err)
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(a.ID.EndOffset), int32(a.ID.Epoch)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(a.Hint.Leader), int32(a.Hint.Epoch)
	p.Size, p.Position, p.Bytes = a.Size, a.Position, raw
	if raw == nil {
		p.Bytes = []byte{} // never null
	}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	if at, ok := leaderAt(from, a.Hint); ok && req.Version >= 1 {
		e := kmsg.NewFetchSnapshotResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(a.Hint.Leader), at.Host, at.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp
}

func (w translator) askFetchSnapshot(s raft.SnapshotRequest) kmsg.Request {
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.ClusterID, r.ReplicaID, r.MaxBytes = &w.clusterID, int32(s.Replica.Node), s.MaxBytes
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.Position, p.ReplicaDirectoryID = int32(s.Epoch), s.Position, s.Replica.Dir
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(s.ID.EndOffset), int32(s.ID.Epoch)
	t := kmsg.NewFetchSnapshotRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, []kmsg.FetchSnapshotRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func (w translator) readFetchSnapshot(r *kmsg.FetchSnapshotResponse) (raft.Body, []byte, kerr.Code) {
	if r.ErrorCode != 0 {
		return nil, nil, kerr.Code(r.ErrorCode)
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, nil, kerr.InvalidRequest
	}
	p := r.Topics[0].Partitions[0]
	hint := w.hint(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		hint.add(e.NodeID, e.Host, e.Port)
	}
	return raft.SnapshotAnswer{
		Err: kerr.Code(p.ErrorCode), Hint: hint.Hint,
		ID:   raft.SnapshotID{EndOffset: kafka.Offset(p.SnapshotID.EndOffset), Epoch: kafka.Epoch(p.SnapshotID.Epoch)},
		Size: p.Size, Position: p.Position, Bytes: int32(len(p.Bytes)),
	}, p.Bytes, kerr.None
}

// readChunk adds the bytes an answer of ours stands for. A snapshot that was
// cleaned away since is not found.
func (d folder) readChunk(a raft.SnapshotAnswer) (raft.Body, []byte) {
	if a.Err != kerr.None {
		return a, nil
	}
	raw := make([]byte, a.Bytes)
	f, err := d.fs.OpenFile(d.path(a.ID), os.O_RDONLY, 0)
	if err == nil {
		defer f.Close()
		_, err = f.ReadAt(raw, a.Position)
	}
	if err != nil && err != io.EOF {
		return raft.SnapshotAnswer{Err: kerr.SnapshotNotFound, Hint: a.Hint, ID: a.ID}, nil
	}
	return a, raw
}
