package image

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"pgregory.net/rapid"
)

// world draws records that a controller could have written after an image.
type world struct {
	t   *rapid.T
	img *Image
}

func id(n int) kafka.UUID { return kafka.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

func ids(ns ...int) []kafka.UUID {
	var out []kafka.UUID
	for _, n := range ns {
		out = append(out, id(n))
	}
	return out
}

func (w world) int(low, high int, what string) int { return rapid.IntRange(low, high).Draw(w.t, what) }

func (w world) nodes(what string) []int32 {
	return rapid.SliceOfNDistinct(rapid.Int32Range(1, 5), 1, 4, rapid.ID).Draw(w.t, what)
}

func (w world) text(what string) string { return fmt.Sprintf("%s-%d", what, w.int(1, 6, what)) }

// record draws one record that applies; nil if the draw does not fit.
func (w world) record() metarec.Message {
	switch w.int(0, 15, "kind") {
	case 0, 1:
		return w.registerBroker()
	case 2, 3:
		return w.changeBroker()
	case 4, 5:
		return w.addTopic()
	case 6, 7, 8:
		return w.addPartition()
	case 9, 10:
		return w.changePartition()
	case 11:
		return w.removeTopic()
	case 12:
		return w.config()
	case 13:
		return &metarec.RegisterControllerRecord{
			ControllerId: int32(w.int(1, 3, "controller")), IncarnationId: id(w.int(1, 99, "incarnation")),
			Features: []metarec.RegisterControllerRecordControllerFeature{{Name: w.controllerFeature(), MaxSupportedVersion: 1}},
		}
	case 14:
		return w.security()
	}
	return w.setting()
}

func (w world) controllerFeature() string {
	return rapid.SampledFrom([]string{DirsFeature, KRaftVersion}).Draw(w.t, "feature")
}

func (w world) registerBroker() metarec.Message {
	b := w.int(1, 5, "broker")
	r := metarec.NewRegisterBrokerRecord()
	r.BrokerId, r.BrokerEpoch, r.IncarnationId = int32(b), int64(w.img.NextOffset()), id(w.int(1, 999, "incarnation"))
	r.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "h", Port: uint16(w.int(1, 9, "port"))}}
	r.Fenced = rapid.Bool().Draw(w.t, "fenced")
	for n := range w.int(0, 3, "dirs") {
		r.LogDirs = append(r.LogDirs, id(1000+10*b+n))
	}
	return r
}

func (w world) anyBroker() *Broker {
	for _, b := range w.img.Brokers().From(kafka.NodeID(w.int(1, 5, "broker"))) {
		return b
	}
	return nil
}

func (w world) changeBroker() metarec.Message {
	b := w.anyBroker()
	if b == nil {
		return nil
	}
	r := metarec.NewBrokerRegistrationChangeRecord()
	r.BrokerId, r.BrokerEpoch = int32(b.ID), int64(b.Epoch)
	switch w.int(0, 6, "change") {
	case 0:
		r.Fenced = 1
	case 1:
		r.Fenced = -1
	case 2:
		r.InControlledShutdown = 1
	case 3:
		r.CordonedLogDirs = append([]kafka.DirID{}, b.Dirs...)
	case 4:
		return &metarec.FenceBrokerRecord{Id: int32(b.ID), Epoch: int64(b.Epoch)}
	case 5:
		return &metarec.UnfenceBrokerRecord{Id: int32(b.ID), Epoch: int64(b.Epoch)}
	case 6:
		return &metarec.UnregisterBrokerRecord{BrokerId: int32(b.ID), BrokerEpoch: int64(b.Epoch)}
	}
	return r
}

func (w world) addTopic() metarec.Message {
	r := &metarec.TopicRecord{Name: w.text("topic"), TopicId: id(w.int(1, 500, "topic id"))}
	if _, ok := w.img.TopicNamed(r.Name); ok || w.img.Topics().Has(r.TopicId) {
		return nil
	}
	return r
}

func (w world) anyTopic() *Topic {
	for _, t := range w.img.Topics().From(id(w.int(1, 500, "topic id"))) {
		return t
	}
	return nil
}

func (w world) removeTopic() metarec.Message {
	t := w.anyTopic()
	if t == nil {
		return nil
	}
	return &metarec.RemoveTopicRecord{TopicId: t.ID}
}

func (w world) addPartition() metarec.Message {
	t := w.anyTopic()
	if t == nil {
		return nil
	}
	r := metarec.NewPartitionRecord()
	r.TopicId, r.PartitionId = t.ID, int32(t.Partitions.Len())
	r.Replicas = w.nodes("replicas")
	r.Isr, r.Leader, r.LeaderEpoch, r.PartitionEpoch = r.Replicas, r.Replicas[0], 0, 0
	for range r.Replicas {
		r.Directories = append(r.Directories, rapid.SampledFrom([]kafka.DirID{
			kafka.DirMigrating, kafka.DirUnassigned, kafka.DirLost, id(1010), id(1020),
		}).Draw(w.t, "dir"))
	}
	return r
}

func (w world) changePartition() metarec.Message {
	t := w.anyTopic()
	if t == nil {
		return nil
	}
	for n, p := range t.Partitions.All() {
		if w.int(0, 1, "this one") == 0 {
			continue
		}
		r := metarec.NewPartitionChangeRecord()
		r.TopicId, r.PartitionId = t.ID, int32(n)
		switch w.int(0, 5, "change") {
		case 0:
			r.Leader = int32(p.Replicas[0])
		case 1:
			r.Isr = []int32{int32(p.Replicas[0])}
			r.EligibleLeaderReplicas = w.nodes("elr")
		case 2:
			r.Leader, r.Isr, r.LastKnownElr = -1, []int32{}, []int32{int32(p.Replicas[0])}
		case 3:
			r.Replicas = w.nodes("replicas")
			r.Directories = make([]kafka.DirID, len(r.Replicas))
			r.AddingReplicas, r.RemovingReplicas = w.nodes("adding"), []int32{}
		case 4:
			r.LeaderRecoveryState = int8(w.int(0, 1, "recovery"))
		case 5:
			return &metarec.ClearElrRecord{TopicName: rapid.SampledFrom([]string{"", t.Name}).Draw(w.t, "topic")}
		}
		return r
	}
	return nil
}

func (w world) config() metarec.Message {
	r := ConfigRecord(Resource{BrokerResource, w.text("")}, w.text("key"), nil)
	if t := w.anyTopic(); t != nil && w.int(0, 1, "topic") == 1 {
		r.ResourceType, r.ResourceName = int8(TopicResource), t.Name
	}
	if w.int(0, 3, "set") > 0 {
		value := w.text("value")
		r.Value = &value
	}
	return r
}

func (w world) security() metarec.Message {
	switch w.int(0, 4, "what") {
	case 0:
		return &metarec.AccessControlEntryRecord{Id: id(w.int(1, 20, "acl")), ResourceName: w.text("r"), Principal: "User:a", Host: "*"}
	case 1:
		for acl := range w.img.ACLs().All() {
			return &metarec.RemoveAccessControlEntryRecord{Id: acl}
		}
	case 2:
		return &metarec.UserScramCredentialRecord{Name: w.text("user"), Mechanism: 1, Salt: []byte{1}, Iterations: int32(w.int(4096, 4100, "n"))}
	case 3:
		for key := range w.img.Scram().All() {
			return &metarec.RemoveUserScramCredentialRecord{Name: key.User, Mechanism: key.Mechanism}
		}
	}
	if w.int(0, 2, "token") == 0 {
		return &metarec.RemoveDelegationTokenRecord{TokenId: w.text("token")}
	}
	return &metarec.DelegationTokenRecord{TokenId: w.text("token"), Owner: "User:a", ExpirationTimestamp: int64(w.int(1, 9, "t"))}
}

func (w world) setting() metarec.Message {
	switch w.int(0, 3, "what") {
	case 0:
		return &metarec.FeatureLevelRecord{Name: ShareVersion, FeatureLevel: int16(w.int(0, 2, "level"))}
	case 1:
		return &metarec.ProducerIdsRecord{NextProducerId: int64(w.img.NextProducerID()) + 1000}
	case 2:
		name := w.text("client")
		return &metarec.ClientQuotaRecord{
			Entity: []metarec.ClientQuotaRecordEntityData{{EntityType: "user"}, {EntityType: "client-id", EntityName: &name}},
			Key:    w.text("key"), Value: float64(w.int(1, 9, "value")), Remove: rapid.Bool().Draw(w.t, "remove"),
		}
	}
	return &metarec.NoOpRecord{}
}

// drawImage draws an image and the records that led to it.
func drawImage(t *rapid.T) (*Image, []metarec.Message) {
	records := []metarec.Message{&metarec.FeatureLevelRecord{Name: MetadataVersion, FeatureLevel: int16(LatestLevel)}}
	img, _, err := Apply(Empty(), records)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 60).Draw(t, "records") {
		rec := world{t, img}.record()
		if rec == nil {
			continue
		}
		if img, _, err = Apply(img, []metarec.Message{rec}); err != nil {
			t.Fatalf("%+v: %v", rec, err)
		}
		records = append(records, rec)
	}
	return img, records
}
