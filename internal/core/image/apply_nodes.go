package image

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
)

// nodesEdit is the nodes of an image under change.
type nodesEdit struct {
	brokers     pmap.Edit[kafka.NodeID, *Broker]
	controllers pmap.Edit[kafka.NodeID, *Controller]
	dirs        pmap.Edit[kafka.DirID, kafka.NodeID]
}

func editNodes(img *Image) nodesEdit {
	return nodesEdit{*img.brokers.Edit(), *img.controllers.Edit(), *img.dirs.Edit()}
}

func (e *nodesEdit) done() nodeSet {
	return nodeSet{e.brokers.Done(), e.controllers.Done(), e.dirs.Done()}
}

func (a *applier) registerBroker(r *metarec.RegisterBrokerRecord) error {
	b := &Broker{
		ID:           nodeID(r.BrokerId),
		Epoch:        kafka.BrokerEpoch(r.BrokerEpoch),
		Incarnation:  r.IncarnationId,
		Rack:         r.Rack,
		Fenced:       r.Fenced,
		ShuttingDown: r.InControlledShutdown,
		Dirs:         sortedDirs(r.LogDirs),
		Cordoned:     cordonedDirs(r.CordonedLogDirs),
		RecordOffset: a.offset,
	}
	for _, e := range r.EndPoints {
		b.Endpoints = append(b.Endpoints, Endpoint{e.Name, e.Host, e.Port, e.SecurityProtocol})
	}
	for _, f := range r.Features {
		b.Features = append(b.Features, VersionRange{f.Name, f.MinSupportedVersion, f.MaxSupportedVersion})
	}
	old, _ := a.nodes.brokers.Get(b.ID)
	if err := a.nodes.set(old, b, a.changed); err != nil {
		return err
	}
	if old != nil && BecomesSeveral(old.Dirs, b.Dirs) && a.dirsByRule() {
		a.placeByRule(b.ID, old.Dirs[0])
	}
	return nil
}

// BecomesSeveral tells whether a broker that had exactly one directory comes
// back with that one and others (KIP-858).
func BecomesSeveral(old, now []kafka.DirID) bool {
	return len(old) == 1 && len(now) > 1 && slices.Contains(now, old[0])
}

// dirsByRule is Image.DirsByRule in the midst of records.
func (a *applier) dirsByRule() bool {
	now := nodeSet{controllers: a.nodes.controllers.Done()}
	return now.DirsByRule()
}

// placeByRule records, without a record, that the broker's replicas of unknown
// place are in the only directory it had before. All nodes do so at the same
// record, and the next snapshot names the directory. Explicit ids stay: a list
// of one may also mean that a second directory was offline.
func (a *applier) placeByRule(broker kafka.NodeID, dir kafka.DirID) {
	if h, _ := a.topics.hostedNow().Get(broker); h.Unplaced == 0 {
		return
	}
	a.topics.settle()
	for id, t := range a.topics.byID.Done().All() {
		for n, p := range t.Partitions.All() {
			if at := slices.Index(p.Replicas, broker); at >= 0 && Unplaced(p.Dirs[at]) {
				open, _ := a.topics.topic(id)
				a.setPartition(open, n, p.placed(at, dir))
			}
		}
	}
}

// Unplaced tells whether a recorded directory says nothing about where the
// replica is.
func Unplaced(dir kafka.DirID) bool { return dir == kafka.DirMigrating || dir == kafka.DirUnassigned }

func (p *Partition) placed(at int, dir kafka.DirID) *Partition {
	next := *p
	next.Dirs = slices.Clone(p.Dirs)
	next.Dirs[at] = dir
	next.byRule = true
	return &next
}

// set puts a registration in the place of another, which may be nil, and keeps
// the index of directories.
func (e *nodesEdit) set(old, b *Broker, changed *changes) error {
	if old != nil {
		e.freeDirs(old)
	}
	for _, d := range b.Dirs {
		if owner, taken := e.dirs.Get(d); taken {
			return fmt.Errorf("directory %v of broker %d belongs to broker %d", d, b.ID, owner)
		}
		e.dirs.Set(d, b.ID)
	}
	e.brokers.Set(b.ID, b)
	changed.brokers.add(b.ID)
	return nil
}

func (e *nodesEdit) freeDirs(b *Broker) {
	for _, d := range b.Dirs {
		e.dirs.Delete(d)
	}
}

// broker finds a registration that a record changes.
func (e *nodesEdit) broker(id int32, epoch int64) (*Broker, error) {
	b, ok := e.brokers.Get(nodeID(id))
	switch {
	case !ok:
		return nil, fmt.Errorf("broker %d is not registered", id)
	case b.Epoch != kafka.BrokerEpoch(epoch):
		return nil, fmt.Errorf("broker %d has epoch %d, not %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (e *nodesEdit) unregister(r *metarec.UnregisterBrokerRecord, changed *changes) error {
	b, err := e.broker(r.BrokerId, r.BrokerEpoch)
	if err != nil {
		return err
	}
	e.freeDirs(b)
	e.brokers.Delete(b.ID)
	changed.brokers.add(b.ID)
	return nil
}

func (e *nodesEdit) fence(id int32, epoch int64, fenced bool, changed *changes) error {
	old, err := e.broker(id, epoch)
	if err != nil {
		return err
	}
	b := *old
	b.Fenced = fenced
	return e.set(old, &b, changed)
}

func (e *nodesEdit) change(r *metarec.BrokerRegistrationChangeRecord, changed *changes) error {
	old, err := e.broker(r.BrokerId, r.BrokerEpoch)
	if err != nil {
		return err
	}
	b := *old
	switch r.Fenced {
	case 0:
	case 1:
		b.Fenced = true
	case -1:
		b.Fenced = false
	default:
		return fmt.Errorf("fencing change %d does not exist", r.Fenced)
	}
	switch r.InControlledShutdown {
	case 0:
	case 1:
		b.ShuttingDown = true
	default:
		return fmt.Errorf("controlled shutdown change %d does not exist", r.InControlledShutdown)
	}
	if len(r.LogDirs) > 0 {
		b.Dirs = sortedDirs(r.LogDirs)
	}
	if r.CordonedLogDirs != nil {
		b.Cordoned = cordonedDirs(r.CordonedLogDirs)
	}
	return e.set(old, &b, changed)
}

// cordonedDirs keeps nil apart from a list that says "none".
func cordonedDirs(dirs []kafka.DirID) []kafka.DirID {
	if dirs == nil {
		return nil
	}
	return append([]kafka.DirID{}, sortedDirs(dirs)...)
}

func (e *nodesEdit) registerController(r *metarec.RegisterControllerRecord, changed *changes) error {
	c := &Controller{ID: nodeID(r.ControllerId), Incarnation: r.IncarnationId}
	for _, e := range r.EndPoints {
		c.Endpoints = append(c.Endpoints, Endpoint{e.Name, e.Host, e.Port, e.SecurityProtocol})
	}
	for _, f := range r.Features {
		c.Features = append(c.Features, VersionRange{f.Name, f.MinSupportedVersion, f.MaxSupportedVersion})
	}
	e.controllers.Set(c.ID, c)
	changed.controllers.add(c.ID)
	return nil
}

func (e *nodesEdit) unregisterController(r *metarec.UnregisterControllerRecord, changed *changes) error {
	id := nodeID(r.ControllerId)
	if !e.controllers.Delete(id) {
		return fmt.Errorf("controller %d is not registered", id)
	}
	changed.controllers.add(id)
	return nil
}
