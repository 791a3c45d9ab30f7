package image

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
)

// topicsEdit is the topics of an image under change.
type topicsEdit struct {
	byID       pmap.Edit[kafka.TopicID, *Topic]
	byName     pmap.Edit[string, kafka.TopicID]
	alike      pmap.Edit[likeness, struct{}]
	touched    map[kafka.TopicID]*topicEdit
	last       *topicEdit // of touched, the one asked for last; may be nil
	partitions int
	hosted     hostedEdit // changes of counted, nil for none
	counted    pmap.Map[kafka.NodeID, Hosted]
}

// topicEdit is one topic whose partitions change.
type topicEdit struct {
	id         kafka.TopicID
	name       string
	partitions pmap.Edit[kafka.PartitionID, *Partition]
}

func editTopics(img *Image) *topicsEdit {
	return &topicsEdit{
		byID: *img.topics.Edit(), byName: *img.names.Edit(), alike: *img.alike.Edit(),
		partitions: img.partitions, counted: img.hosted,
	}
}

// topic opens a topic for change.
func (e *topicsEdit) topic(id kafka.TopicID) (*topicEdit, bool) {
	if e.last != nil && e.last.id == id {
		return e.last, true
	}
	open, ok := e.touched[id]
	if !ok {
		t, exists := e.byID.Get(id)
		if !exists {
			return nil, false
		}
		open = e.touch(t)
	}
	e.last = open
	return open, true
}

func (e *topicsEdit) touch(t *Topic) *topicEdit {
	if e.touched == nil {
		e.touched = map[kafka.TopicID]*topicEdit{}
	}
	open := &topicEdit{t.ID, t.Name, *t.Partitions.Edit()}
	e.touched[t.ID] = open
	return open
}

func (e *topicsEdit) add(id kafka.TopicID, name string) {
	t := &Topic{ID: id, Name: name, Partitions: noPartitions}
	e.byID.Set(id, t)
	e.byName.Set(name, id)
	if metric, changes := metricName(name); changes {
		e.alike.Set(likeness{metric, name}, struct{}{})
	}
}

var noPartitions = pmap.Ordered[kafka.PartitionID, *Partition]()

func (e *topicsEdit) remove(id kafka.TopicID) {
	t, _ := e.topic(id)
	e.partitions -= t.partitions.Len()
	for _, p := range t.partitions.Done().All() {
		e.count(p, -1)
	}
	e.byID.Delete(id)
	e.byName.Delete(t.name)
	if metric, changes := metricName(t.name); changes {
		e.alike.Delete(likeness{metric, t.name})
	}
	delete(e.touched, id)
	e.last = nil
}

// set puts a partition into an open topic.
func (e *topicsEdit) set(t *topicEdit, id kafka.PartitionID, p *Partition) {
	if old, had := t.partitions.Get(id); had {
		e.count(old, -1)
	} else {
		e.partitions++
	}
	e.count(p, +1)
	t.partitions.Set(id, p)
}

func (e *topicsEdit) count(p *Partition, sign int) {
	if e.hosted == nil {
		e.hosted = hostedEdit{}
	}
	e.hosted.count(p, sign)
}

// settle writes the open topics back, so that byID has them all.
func (e *topicsEdit) settle() {
	for _, id := range slices.SortedFunc(maps.Keys(e.touched), kafka.TopicID.Compare) {
		t := e.touched[id]
		e.byID.Set(id, &Topic{ID: id, Name: t.name, Partitions: t.partitions.Done()})
	}
	e.touched, e.last = nil, nil
}

func (e *topicsEdit) done() topicSet {
	e.settle()
	return topicSet{e.byID.Done(), e.byName.Done(), e.partitions, e.alike.Done(), e.hostedNow()}
}

// hostedNow is the counts with all changes so far.
func (e *topicsEdit) hostedNow() pmap.Map[kafka.NodeID, Hosted] {
	if e.hosted != nil {
		e.counted, e.hosted = e.hosted.done(e.counted), nil
	}
	return e.counted
}

func (a *applier) addTopic(r *metarec.TopicRecord) error {
	if old, ok := a.topics.byName.Get(r.Name); ok {
		return fmt.Errorf("topic %q exists already, with id %v", r.Name, old)
	}
	if a.topics.byID.Has(r.TopicId) {
		return fmt.Errorf("topic id %v is taken", r.TopicId)
	}
	a.topics.add(r.TopicId, r.Name)
	a.changed.topics.add(r.TopicId)
	return nil
}

func (a *applier) removeTopic(r *metarec.RemoveTopicRecord) error {
	t, ok := a.topics.topic(r.TopicId)
	if !ok {
		return fmt.Errorf("no topic has id %v", r.TopicId)
	}
	if resource := TopicOf(t.name); a.settings.configs.Delete(resource) {
		a.changed.configs.add(resource)
	}
	a.topics.remove(r.TopicId)
	a.changed.topics.add(r.TopicId)
	return nil
}

func (a *applier) addPartition(r *metarec.PartitionRecord) error {
	t, ok := a.topics.topic(r.TopicId)
	if !ok {
		return fmt.Errorf("partition %d of topic id %v, which does not exist", r.PartitionId, r.TopicId)
	}
	p, err := partitionOf(r)
	if err != nil {
		return fmt.Errorf("partition %q-%d: %w", t.name, r.PartitionId, err)
	}
	a.setPartition(t, kafka.PartitionID(r.PartitionId), p)
	return nil
}

func (a *applier) changePartition(r *metarec.PartitionChangeRecord) error {
	t, ok := a.topics.topic(r.TopicId)
	if !ok {
		return fmt.Errorf("partition %d of topic id %v, which does not exist", r.PartitionId, r.TopicId)
	}
	old, ok := t.partitions.Get(kafka.PartitionID(r.PartitionId))
	if !ok {
		return fmt.Errorf("partition %q-%d does not exist", t.name, r.PartitionId)
	}
	p, err := old.With(r)
	if err != nil {
		return fmt.Errorf("partition %q-%d: %w", t.name, r.PartitionId, err)
	}
	a.setPartition(t, kafka.PartitionID(r.PartitionId), p)
	return nil
}

func (a *applier) setPartition(t *topicEdit, id kafka.PartitionID, p *Partition) {
	a.topics.set(t, id, p)
	a.changed.partitions.add(t.id, id)
}

// clearElr forgets the eligible leader replicas of one topic or, without a
// name, of all.
func (a *applier) clearElr(r *metarec.ClearElrRecord) error {
	if r.TopicName != "" {
		id, ok := a.topics.byName.Get(r.TopicName)
		if !ok {
			return fmt.Errorf("topic %q does not exist", r.TopicName)
		}
		a.clearElrOf(id)
		return nil
	}
	a.topics.settle()
	for id, t := range a.topics.byID.Done().All() {
		if hasElr(t) {
			a.clearElrOf(id)
		}
	}
	return nil
}

func hasElr(t *Topic) bool {
	for _, p := range t.Partitions.All() {
		if len(p.ELR) > 0 || len(p.LastELR) > 0 {
			return true
		}
	}
	return false
}

func (a *applier) clearElrOf(id kafka.TopicID) {
	t, _ := a.topics.topic(id)
	for n, p := range t.partitions.Done().All() {
		if len(p.ELR) == 0 && len(p.LastELR) == 0 {
			continue
		}
		next := *p
		next.ELR, next.LastELR = nil, nil
		next.Epoch++
		a.setPartition(t, n, &next)
	}
}
