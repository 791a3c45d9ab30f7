package image

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
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
	r := NewReplay(prev)
	if err := r.Add(base, recs); err != nil {
		return nil, Delta{}, err
	}
	next, delta := r.Done()
	return next, delta, nil
}

// Replay is ApplyAt for records of several batches, which cost hardly more than
// one: they become one image and one delta.
type Replay struct {
	a    applier
	prev *Image
}

// Stride is what records made of an image: where they lead, and what they
// touched. Work it out once, and a Replay can take it instead of the records.
type Stride struct {
	after   *Image
	changed *changes
}

// Step gives the stride of recs, which directly follow prev in the log. Errors
// are those of Apply.
func Step(prev *Image, recs []metarec.Message) (Stride, error) {
	var r Replay // made once a change, so it is not to be garbage
	r.begin(prev)
	if err := r.Add(prev.NextOffset(), recs); err != nil {
		return Stride{}, err
	}
	return Stride{r.after(), r.a.readable}, nil
}

// Image is the image after the records.
func (s Stride) Image() *Image { return s.after }

// NewReplay begins with the image that the records follow.
func NewReplay(prev *Image) *Replay {
	r := &Replay{}
	r.begin(prev)
	return r
}

func (r *Replay) begin(prev *Image) {
	r.prev = prev
	r.a.start(prev)
}

// Add applies the records of one batch, whose first one has offset base. Errors
// are those of Apply; nothing may be done with the replay after one.
func (r *Replay) Add(base kafka.Offset, recs []metarec.Message) error {
	for n, rec := range recs {
		r.a.offset = base + kafka.Offset(n)
		if err := r.a.apply(rec); err != nil {
			return fmt.Errorf("%s at offset %d: %w", rec.MessageName(), r.a.offset, err)
		}
	}
	return nil
}

// Take applies records that end at an offset by their strides, one after the
// other. The first one must begin where the replay is by now: at an image that
// holds the same. It tells whether it did; strides in and out of a metadata
// transaction are not taken, only their records are.
func (r *Replay) Take(end kafka.Offset, strides ...Stride) bool {
	open := r.a.next.open != nil
	for _, s := range strides {
		open = open || s.after.open != nil
	}
	if open || len(strides) == 0 {
		return false
	}
	for _, s := range strides {
		r.a.changed.merge(s.changed)
	}
	r.a.reset(strides[len(strides)-1].after)
	r.a.offset = end - 1
	return true
}

// Done gives the image after all records, and what they changed for readers.
func (r *Replay) Done() (*Image, Delta) {
	next := r.after()
	return next, r.a.readable.delta(r.prev.Stable(), next.Stable())
}

func (r *Replay) after() *Image {
	next := r.a.image()
	next.prov.Offset = r.a.offset
	return next
}

// applier is an image under change.
type applier struct {
	next Image // all but the maps, which are below

	nodes    nodesEdit
	topics   *topicsEdit
	settings settingsEdit
	security securityEdit

	offset   kafka.Offset // of the record at hand
	snapshot bool         // the records are a snapshot's
	// changed gathers changes. Outside a transaction it is the same as
	// readable, which is what readers may learn of.
	changed, readable *changes
}

// start makes an applier of the zero value.
func (a *applier) start(img *Image) {
	a.readable, a.offset = &changes{}, img.prov.Offset
	a.changed = a.readable
	if img.open != nil {
		a.changed = img.open.changed.clone()
	}
	a.reset(img)
}

// reset makes img what the applier works on.
func (a *applier) reset(img *Image) {
	a.next = *img
	a.nodes = editNodes(img)
	a.topics = editTopics(img)
	a.settings = editSettings(img)
	a.security = editSecurity(img)
}

// image freezes what the applier has so far.
func (a *applier) image() *Image {
	img := a.next
	img.nodeSet = a.nodes.done()
	img.topicSet = a.topics.done()
	img.settingSet = a.settings.done()
	img.securitySet = a.security.done()
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
		return a.nodes.unregister(r, a.changed)
	case *metarec.BrokerRegistrationChangeRecord:
		return a.nodes.change(r, a.changed)
	case *metarec.FenceBrokerRecord:
		return a.nodes.fence(r.Id, r.Epoch, true, a.changed)
	case *metarec.UnfenceBrokerRecord:
		return a.nodes.fence(r.Id, r.Epoch, false, a.changed)
	case *metarec.RegisterControllerRecord:
		return a.nodes.registerController(r, a.changed)
	case *metarec.UnregisterControllerRecord:
		return a.nodes.unregisterController(r, a.changed)
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
		return a.settings.setConfig(r, a.changed)
	case *metarec.ClientQuotaRecord:
		return a.security.setQuota(r, a.changed)
	case *metarec.FeatureLevelRecord:
		return a.settings.finalize(r, a.changed)
	case *metarec.ProducerIdsRecord:
		return a.settings.nextProducerIDs(r, a.changed)
	case *metarec.AccessControlEntryRecord:
		return a.security.addACL(r, a.changed)
	case *metarec.RemoveAccessControlEntryRecord:
		return a.security.removeACL(r, a.changed)
	case *metarec.UserScramCredentialRecord:
		return a.security.setScram(r, a.changed)
	case *metarec.RemoveUserScramCredentialRecord:
		return a.security.removeScram(r, a.changed)
	case *metarec.DelegationTokenRecord:
		return a.security.setToken(r, a.changed)
	case *metarec.RemoveDelegationTokenRecord:
		return a.security.removeToken(r, a.changed)
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
