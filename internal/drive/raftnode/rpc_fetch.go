package raftnode

import (
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetch (1) of the metadata topic: KIP-595, snapshots of KIP-630, directory ids
// of KIP-853, the replica's high watermark of KIP-1166.

// maxFetchBytes bounds what one answer carries, whatever was asked for.
const maxFetchBytes = 8 << 20

func (w translator) receiveFetch(r *kmsg.FetchRequest) (raft.Body, kmsg.Response) {
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	switch {
	case !w.sameCluster(r.ClusterID):
		resp.ErrorCode = int16(kerr.InconsistentClusterId)
		return nil, resp
	case len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || !isMetadataFetch(r):
		resp.ErrorCode = int16(kerr.InvalidRequest)
		return nil, resp
	}
	p := r.Topics[0].Partitions[0]
	f := raft.FetchRequest{
		Replica: kafka.ReplicaKey{Node: kafka.NodeID(r.ReplicaID)},
		Epoch:   kafka.Epoch(p.CurrentLeaderEpoch), Offset: kafka.Offset(p.FetchOffset),
		LastEpoch:     kafka.Epoch(p.LastFetchedEpoch),
		MaxWait:       time.Duration(r.MaxWaitMillis) * time.Millisecond,
		MaxBytes:      min(max(r.MaxBytes, 1), maxFetchBytes),
		HighWatermark: raft.HighWatermarkUnsupported,
	}
	if r.Version >= 15 {
		f.Replica.Node = kafka.NodeID(r.ReplicaState.ID)
	}
	if r.Version >= 17 {
		f.Replica.Dir = p.ReplicaDirectoryID
	}
	if r.Version >= 18 {
		f.HighWatermark = kafka.Offset(p.HighWatermark)
	}
	return f, nil
}

// isMetadataFetch tells whether the one partition is the metadata log: by topic
// id since version 13.
func isMetadataFetch(r *kmsg.FetchRequest) bool {
	t := r.Topics[0]
	if r.Version >= 13 {
		return kafka.UUID(t.TopicID) == kafka.MetadataTopicID && t.Partitions[0].Partition == 0
	}
	return isMetadata(t.Topic, t.Partitions[0].Partition)
}

func respondFetch(from RequestInfo, req *kmsg.FetchRequest, a raft.FetchAnswer, raw []byte) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.HighWatermark, p.LogStartOffset = int16(a.Err), int64(a.HighWatermark), int64(a.LogStart)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(a.Hint.Leader), int32(a.Hint.Epoch)
	if a.Diverging != nil {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(a.Diverging.Epoch), int64(a.Diverging.End)
	}
	if a.Snapshot != nil {
		p.SnapshotID.Epoch, p.SnapshotID.EndOffset = int32(a.Snapshot.Epoch), int64(a.Snapshot.EndOffset)
	}
	p.RecordBatches = raw
	if raw == nil {
		p.RecordBatches = []byte{} // never null
	}
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.TopicID, t.Partitions = kafka.MetadataTopic, kafka.MetadataTopicID, []kmsg.FetchResponseTopicPartition{p}
	resp.Topics = append(resp.Topics, t)
	if at, ok := leaderAt(from, a.Hint); ok && req.Version >= 16 {
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port = int32(a.Hint.Leader), at.Host, int32(at.Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	return resp
}

func (w translator) askFetch(f raft.FetchRequest) kmsg.Request {
	r := kmsg.NewPtrFetchRequest()
	r.ClusterID = &w.clusterID
	r.ReplicaID, r.ReplicaState.ID = int32(f.Replica.Node), int32(f.Replica.Node)
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes = int32(f.MaxWait.Milliseconds()), 0, f.MaxBytes
	r.SessionID, r.SessionEpoch = 0, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = int32(f.Epoch), int64(f.Offset), int32(f.LastEpoch)
	p.ReplicaDirectoryID, p.HighWatermark = f.Replica.Dir, int64(f.HighWatermark)
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = kafka.MetadataTopic, kafka.MetadataTopicID, []kmsg.FetchRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

// readFetch describes the records an answer brings. Damaged ones are left out,
// with all that follows.
func (w translator) readFetch(r *kmsg.FetchResponse) (raft.Body, []byte, kerr.Code) {
	if r.ErrorCode != 0 {
		return nil, nil, kerr.Code(r.ErrorCode)
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, nil, kerr.InvalidRequest
	}
	p := r.Topics[0].Partitions[0]
	hint := w.hint(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
	for _, b := range r.Brokers {
		hint.add(b.NodeID, b.Host, uint16(b.Port))
	}
	a := raft.FetchAnswer{
		Err: kerr.Code(p.ErrorCode), Hint: hint.Hint,
		HighWatermark: kafka.Offset(p.HighWatermark), LogStart: kafka.Offset(p.LogStartOffset),
	}
	if d := p.DivergingEpoch; d.Epoch >= 0 || d.EndOffset >= 0 {
		a.Diverging = &raft.EpochEnd{Epoch: kafka.Epoch(d.Epoch), End: kafka.Offset(d.EndOffset)}
	}
	if s := p.SnapshotID; s.Epoch >= 0 || s.EndOffset >= 0 {
		a.Snapshot = &raft.SnapshotID{EndOffset: kafka.Offset(s.EndOffset), Epoch: kafka.Epoch(s.Epoch)}
	}
	span, whole, err := spanOf(p.RecordBatches)
	if err == nil && len(whole) == 0 && len(p.RecordBatches) > 0 {
		err = batch.ErrShort // a leader sends one whole batch at least
	}
	if err != nil {
		w.log.warn(a.Hint.Leader, "leader sent damaged records", "leader", a.Hint.Leader, "epoch", a.Hint.Epoch, "err", err)
	}
	a.Span, a.Damaged = span, err != nil
	return a, whole, kerr.None
}
