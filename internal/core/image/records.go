package image

import (
	"iter"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

// Records are the records that build this image from nothing, with the version
// to write each at, in the order of Kafka's snapshots: metadata.version first.
// State that records of the finalized metadata.version cannot express is left
// out and told to lost, which may be nil; in an image that came about by
// records there is none, unless metadata.version went down.
func (i *Image) Records(lost func(what string)) iter.Seq2[metarec.Message, int16] {
	if lost == nil {
		lost = func(string) {}
	}
	return func(yield func(metarec.Message, int16) bool) {
		w := writer{level: i.Level(), yield: yield, lost: lost}
		for _, part := range []func(*Image){
			w.features, w.brokers, w.controllers, w.topics, w.configs, w.quotas, w.producerIDs, w.acls, w.scram, w.tokens,
		} {
			if part(i); w.stopped {
				return
			}
		}
	}
}

// writer hands out the records of an image until nobody wants more.
type writer struct {
	level   Level
	yield   func(metarec.Message, int16) bool
	lost    func(string)
	stopped bool
}

func (w *writer) write(m metarec.Message, version int16) bool {
	w.stopped = w.stopped || !w.yield(m, version)
	return !w.stopped
}

func (w *writer) features(i *Image) {
	if w.level != 0 && !w.write(&metarec.FeatureLevelRecord{Name: MetadataVersion, FeatureLevel: int16(w.level)}, 0) {
		return
	}
	for name, level := range i.features.All() {
		if name != MetadataVersion && !w.write(&metarec.FeatureLevelRecord{Name: name, FeatureLevel: level}, 0) {
			return
		}
	}
}

func (w *writer) brokers(i *Image) {
	for _, b := range i.brokers.All() {
		r := b.Record()
		if len(b.Dirs) > 0 && !w.level.HasDirectories() {
			w.lost("the log directories of a broker")
		}
		if b.Cordoned != nil && w.level < LevelCordonedDirs {
			w.lost("the cordoned log directories of a broker")
		}
		if !w.write(r, w.level.trimBroker(r)) {
			return
		}
	}
}

// Record is the registration as a record of the newest version.
func (b *Broker) Record() *metarec.RegisterBrokerRecord {
	r := metarec.NewRegisterBrokerRecord()
	r.BrokerId, r.BrokerEpoch, r.IncarnationId = int32(b.ID), int64(b.Epoch), b.Incarnation
	r.Rack, r.Fenced, r.InControlledShutdown = b.Rack, b.Fenced, b.ShuttingDown
	r.LogDirs, r.CordonedLogDirs = b.Dirs, b.Cordoned
	for _, e := range b.Endpoints {
		r.EndPoints = append(r.EndPoints, metarec.RegisterBrokerRecordBrokerEndpoint{
			Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.Protocol,
		})
	}
	for _, f := range b.Features {
		r.Features = append(r.Features, metarec.RegisterBrokerRecordBrokerFeature{
			Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return r
}

// trimBroker takes out of a registration what the level's version cannot say,
// and returns that version.
func (l Level) trimBroker(r *metarec.RegisterBrokerRecord) int16 {
	if !l.HasDirectories() {
		r.LogDirs = nil
	}
	if l < LevelCordonedDirs {
		r.CordonedLogDirs = nil
	}
	return l.RegisterBroker()
}

func (w *writer) controllers(i *Image) {
	if i.controllers.Len() > 0 && w.level < LevelControllers {
		w.lost("the registrations of controllers")
		return
	}
	for _, c := range i.controllers.All() {
		if !w.write(c.Record(), 0) {
			return
		}
	}
}

// Record is the registration as a record.
func (c *Controller) Record() *metarec.RegisterControllerRecord {
	r := &metarec.RegisterControllerRecord{ControllerId: int32(c.ID), IncarnationId: c.Incarnation}
	for _, e := range c.Endpoints {
		r.EndPoints = append(r.EndPoints, metarec.RegisterControllerRecordControllerEndpoint{
			Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.Protocol,
		})
	}
	for _, f := range c.Features {
		r.Features = append(r.Features, metarec.RegisterControllerRecordControllerFeature{
			Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return r
}

func (w *writer) topics(i *Image) {
	for _, t := range i.topics.All() {
		if !w.write(&metarec.TopicRecord{Name: t.Name, TopicId: t.ID}, 0) {
			return
		}
		for n, p := range t.Partitions.All() {
			r := p.Record(t.ID, n)
			if !w.level.HasDirectories() && !allMigrating(p.Dirs) {
				w.lost("the directories of a partition")
			}
			if w.level < LevelElr && (len(p.ELR) > 0 || len(p.LastELR) > 0) {
				w.lost("the eligible leader replicas of a partition")
			}
			if !w.write(r, w.level.TrimPartition(r)) {
				return
			}
		}
	}
}

// Record is the partition as a record of the newest version.
func (p *Partition) Record(topic kafka.TopicID, id kafka.PartitionID) *metarec.PartitionRecord {
	r := metarec.NewPartitionRecord()
	r.TopicId, r.PartitionId = topic, int32(id)
	r.Replicas, r.Isr = Int32s(p.Replicas), Int32s(p.ISR)
	r.AddingReplicas, r.RemovingReplicas = Int32s(p.Adding), Int32s(p.Removing)
	r.Leader, r.LeaderEpoch, r.PartitionEpoch = int32(p.Leader), int32(p.LeaderEpoch), p.Epoch
	r.LeaderRecoveryState = int8(p.Recovery)
	r.Directories = p.Dirs
	r.EligibleLeaderReplicas, r.LastKnownElr = Int32s(p.ELR), Int32s(p.LastELR)
	return r
}

// TrimPartition takes out of a partition record what the level's version
// cannot say, and returns that version.
func (l Level) TrimPartition(r *metarec.PartitionRecord) int16 {
	if !l.HasDirectories() {
		r.Directories = nil
	}
	if l < LevelElr {
		r.EligibleLeaderReplicas, r.LastKnownElr = nil, nil
	}
	return l.Partition()
}

// Int32s writes node ids as records do; no ids are nil.
func Int32s(ids []kafka.NodeID) []int32 {
	if len(ids) == 0 {
		return nil
	}
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}
