package image

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
)

// Provenance tells up to which record an image was built.
type Provenance struct {
	Offset      kafka.Offset // of the last record contained; -1: none
	Epoch       kafka.Epoch  // of that record
	TimestampMs int64        // when that record was appended
}

// NoProvenance is that of the empty image.
var NoProvenance = Provenance{Offset: kafka.NoOffset, Epoch: kafka.NoEpoch, TimestampMs: -1}

// Image is the metadata of a cluster at one offset of the metadata log.
type Image struct {
	prov Provenance

	features    pmap.Map[string, int16] // finalized, above level 0
	brokers     pmap.Map[kafka.NodeID, *Broker]
	controllers pmap.Map[kafka.NodeID, *Controller]
	topics      pmap.Map[kafka.TopicID, *Topic]
	names       pmap.Map[string, kafka.TopicID]
	// dirs says which broker registered a directory.
	dirs    pmap.Map[kafka.DirID, kafka.NodeID]
	configs pmap.Map[Resource, pmap.Map[string, string]]
	quotas  pmap.Map[Entity, pmap.Map[string, float64]]
	acls    pmap.Map[kafka.UUID, *ACL]
	scram   pmap.Map[ScramKey, *Scram]
	tokens  pmap.Map[string, *Token]
	// nextProducerID is the first id of the next block; 0 before the first.
	nextProducerID kafka.ProducerID
	partitions     int // of all topics

	// open is set while a metadata transaction (KIP-868) is under way.
	open *transaction
}

// transaction remembers where an open metadata transaction began.
type transaction struct {
	name string
	// before is what the image was at the begin record.
	before *Image
	// changed gathers what the transaction has changed since.
	changed *changes
}

var empty = &Image{
	prov:        NoProvenance,
	features:    pmap.Ordered[string, int16](),
	brokers:     pmap.Ordered[kafka.NodeID, *Broker](),
	controllers: pmap.Ordered[kafka.NodeID, *Controller](),
	topics:      pmap.By[kafka.TopicID, *Topic](kafka.TopicID.Compare),
	names:       pmap.Ordered[string, kafka.TopicID](),
	dirs:        pmap.By[kafka.DirID, kafka.NodeID](kafka.DirID.Compare),
	configs:     pmap.By[Resource, pmap.Map[string, string]](compareResources),
	quotas:      pmap.By[Entity, pmap.Map[string, float64]](compareEntities),
	acls:        pmap.By[kafka.UUID, *ACL](kafka.UUID.Compare),
	scram:       pmap.By[ScramKey, *Scram](compareScram),
	tokens:      pmap.Ordered[string, *Token](),
}

// Empty is the image before the first record.
func Empty() *Image { return empty }

// Provenance tells up to which record the image was built.
func (i *Image) Provenance() Provenance { return i.prov }

// NextOffset is where the next record goes if nothing else is written before.
func (i *Image) NextOffset() kafka.Offset { return i.prov.Offset + 1 }

// At returns the same image with another provenance. Apply sets only the
// offset; whoever knows the batch sets epoch and time, and skips the offsets
// of control records.
func (i *Image) At(p Provenance) *Image {
	next := *i
	next.prov = p
	return &next
}

// InTransaction tells whether a metadata transaction is open. Its name is for
// people.
func (i *Image) InTransaction() (name string, open bool) {
	if i.open == nil {
		return "", false
	}
	return i.open.name, true
}

// Stable is what readers may see: the image itself, or what it was before the
// metadata transaction that is open.
func (i *Image) Stable() *Image {
	if i.open == nil {
		return i
	}
	return i.open.before
}

// Level is the finalized metadata.version; zero before the first record.
func (i *Image) Level() Level { return Level(i.Feature(MetadataVersion)) }

// Feature is the finalized level of a feature; zero when it is not finalized.
func (i *Image) Feature(name string) int16 {
	level, _ := i.features.Get(name)
	return level
}

// Features are all finalized levels above zero, by name.
func (i *Image) Features() pmap.Map[string, int16] { return i.features }

// Brokers are all registrations of brokers, by id.
func (i *Image) Brokers() pmap.Map[kafka.NodeID, *Broker] { return i.brokers }

// Controllers are all registrations of controllers, by id.
func (i *Image) Controllers() pmap.Map[kafka.NodeID, *Controller] { return i.controllers }

// Topics are all topics, by id.
func (i *Image) Topics() pmap.Map[kafka.TopicID, *Topic] { return i.topics }

// TopicNames are the ids of all topics, by name.
func (i *Image) TopicNames() pmap.Map[string, kafka.TopicID] { return i.names }

// PartitionCount is the number of partitions of all topics.
func (i *Image) PartitionCount() int { return i.partitions }

// Configs are all stored configurations.
func (i *Image) Configs() pmap.Map[Resource, pmap.Map[string, string]] { return i.configs }

// Quotas are all client quotas: values by key for each entity.
func (i *Image) Quotas() pmap.Map[Entity, pmap.Map[string, float64]] { return i.quotas }

// ACLs are all access control entries, by id.
func (i *Image) ACLs() pmap.Map[kafka.UUID, *ACL] { return i.acls }

// Scram are all SCRAM credentials.
func (i *Image) Scram() pmap.Map[ScramKey, *Scram] { return i.scram }

// Tokens are all delegation tokens, by id.
func (i *Image) Tokens() pmap.Map[string, *Token] { return i.tokens }

// NextProducerID is the first id of the next block to hand out.
func (i *Image) NextProducerID() kafka.ProducerID { return i.nextProducerID }
