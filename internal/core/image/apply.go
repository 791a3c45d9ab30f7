package image

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
)

// Apply gives the image after recs, which directly follow prev in the log, and
// what they changed for readers. An error means that the log holds what no
// controller writes: the image cannot be trusted from there on, and no record
// may be skipped (KAFKA-14275).
func Apply(prev *Image, recs []metarec.Message) (*Image, Delta, error) {
	return ApplyAt(prev, prev.NextOffset(), recs)
}

// ApplyAt is Apply for records whose first one has offset base.
//
// While a metadata transaction is open (KIP-868), its changes are in the image
// but not in Stable, and the delta leaves them out; the delta of the records
// that end it has them all, that of an abort none.
func ApplyAt(prev *Image, base kafka.Offset, recs []metarec.Message) (*Image, Delta, error) {
	a := applierOf(prev)
	for n, rec := range recs {
		a.offset = base + kafka.Offset(n)
		if err := a.apply(rec); err != nil {
			return nil, Delta{}, fmt.Errorf("%s at offset %d: %w", rec.MessageName(), a.offset, err)
		}
	}
	next := a.image()
	if len(recs) > 0 {
		next.prov.Offset = a.offset
	}
	return next, a.readable.delta(prev.Stable(), next.Stable()), nil
}

// applier is an image under change.
type applier struct {
	next Image // all but the maps, which are below

	features    *pmap.Edit[string, int16]
	brokers     *pmap.Edit[kafka.NodeID, *Broker]
	controllers *pmap.Edit[kafka.NodeID, *Controller]
	topics      *topicsEdit
	dirs        *pmap.Edit[kafka.DirID, kafka.NodeID]
	configs     *pmap.Edit[Resource, pmap.Map[string, string]]
	quotas      *pmap.Edit[Entity, pmap.Map[string, float64]]
	acls        *pmap.Edit[kafka.UUID, *ACL]
	scram       *pmap.Edit[ScramKey, *Scram]
	tokens      *pmap.Edit[string, *Token]

	offset   kafka.Offset // of the record at hand
	snapshot bool         // the records are a snapshot's
	// changed gathers changes. Outside a transaction it is the same as
	// readable, which is what readers may learn of.
	changed, readable *changes
}

func applierOf(img *Image) *applier {
	a := &applier{readable: newChanges(), offset: img.prov.Offset}
	a.changed = a.readable
	if img.open != nil {
		a.changed = img.open.changed.clone()
	}
	a.reset(img)
	return a
}

// reset makes img what the applier works on.
func (a *applier) reset(img *Image) {
	a.next = *img
	a.features = img.features.Edit()
	a.brokers = img.brokers.Edit()
	a.controllers = img.controllers.Edit()
	a.topics = editTopics(img)
	a.dirs = img.dirs.Edit()
	a.configs = img.configs.Edit()
	a.quotas = img.quotas.Edit()
	a.acls = img.acls.Edit()
	a.scram = img.scram.Edit()
	a.tokens = img.tokens.Edit()
}

// image freezes what the applier has so far.
func (a *applier) image() *Image {
	img := a.next
	img.features = a.features.Done()
	img.brokers = a.brokers.Done()
	img.controllers = a.controllers.Done()
	img.topics, img.names, img.partitions = a.topics.done()
	img.dirs = a.dirs.Done()
	img.configs = a.configs.Done()
	img.quotas = a.quotas.Done()
	img.acls = a.acls.Done()
	img.scram = a.scram.Done()
	img.tokens = a.tokens.Done()
	if a.next.open != nil {
		open := *a.next.open
		open.changed = a.changed
		img.open = &open
	}
	return &img
}

// apply replays one record. All record types of Kafka 4.4 stand here.
func (a *applier) apply(rec metarec.Message) error {
	switch r := rec.(type) {
	case *metarec.RegisterBrokerRecord:
		return a.registerBroker(r)
	case *metarec.UnregisterBrokerRecord:
		return a.unregisterBroker(r)
	case *metarec.BrokerRegistrationChangeRecord:
		return a.changeRegistration(r)
	case *metarec.FenceBrokerRecord:
		return a.fence(r.Id, r.Epoch, true)
	case *metarec.UnfenceBrokerRecord:
		return a.fence(r.Id, r.Epoch, false)
	case *metarec.RegisterControllerRecord:
		return a.registerController(r)
	case *metarec.UnregisterControllerRecord:
		return a.unregisterController(r)
	case *metarec.TopicRecord:
		return a.addTopic(r)
	case *metarec.RemoveTopicRecord:
		return a.removeTopic(r)
	case *metarec.PartitionRecord:
		return a.addPartition(r)
	case *metarec.PartitionChangeRecord:
		return a.changePartition(r)
	case *metarec.ClearElrRecord:
		return a.clearElr(r)
	case *metarec.ConfigRecord:
		return a.setConfig(r)
	case *metarec.ClientQuotaRecord:
		return a.setQuota(r)
	case *metarec.FeatureLevelRecord:
		return a.finalizeFeature(r)
	case *metarec.ProducerIdsRecord:
		return a.nextProducerIDs(r)
	case *metarec.AccessControlEntryRecord:
		return a.addACL(r)
	case *metarec.RemoveAccessControlEntryRecord:
		return a.removeACL(r)
	case *metarec.UserScramCredentialRecord:
		return a.setScram(r)
	case *metarec.RemoveUserScramCredentialRecord:
		return a.removeScram(r)
	case *metarec.DelegationTokenRecord:
		return a.setToken(r)
	case *metarec.RemoveDelegationTokenRecord:
		return a.removeToken(r)
	case *metarec.BeginTransactionRecord:
		return a.begin(r)
	case *metarec.EndTransactionRecord:
		return a.end()
	case *metarec.AbortTransactionRecord:
		return a.abort()
	case *metarec.NoOpRecord, *metarec.ZkMigrationStateRecord:
		return nil // kept so that logs of upgraded clusters replay
	}
	return fmt.Errorf("is not a record of the metadata log")
}
