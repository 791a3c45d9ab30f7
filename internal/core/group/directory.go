package group

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// directory holds the groups of a shard by their ids.
type directory struct {
	desk *desk
	byID map[string]*classic
	// foreign are ids of groups of other kinds, from records that another
	// node wrote. Kafka's replay refuses a log that has two kinds of group
	// under one id, so these ids are not given away.
	foreign map[string]Type
	scan    timer // looks for what has expired; set while there are groups
}

// create makes an empty group.
func (d *directory) create(id string) *classic {
	g := newClassic(d.desk, id)
	if d.byID == nil {
		d.byID = make(map[string]*classic)
	}
	d.byID[id] = g
	if d.scan.pos == 0 {
		d.scanAgain()
	}
	return g
}

// forget drops a group that nothing in the log speaks of any more.
func (d *directory) forget(g *classic) {
	g.stopTimers()
	delete(d.byID, g.id)
}

// scanAgain has the next look for what has expired, if there may be something.
func (d *directory) scanAgain() {
	if len(d.byID) > 0 {
		d.desk.after(d.desk.cfg.CheckInterval, &d.scan)
	}
}

// ids are the ids of all classic groups, sorted.
func (d *directory) ids() []string { return slices.Sorted(maps.Keys(d.byID)) }

// shown is the group of that id as those see it who look from outside; nil for
// one that is on its way out or of another kind.
func (d *directory) shown(id string) *classic {
	if g := d.byID[id]; g != nil && g.state != Dead && !d.isForeign(id) {
		return g
	}
	return nil
}

// note notes a group of another kind, or that it is gone.
func (d *directory) note(id string, kind Type, there bool) {
	if !there {
		delete(d.foreign, id)
		return
	}
	if d.foreign == nil {
		d.foreign = make(map[string]Type)
	}
	d.foreign[id] = kind
}

func (d *directory) isForeign(id string) bool {
	_, yes := d.foreign[id]
	return yes
}

// list shows all groups, those of other kinds too, sorted by id.
func (d *directory) list() []Listed {
	all := make([]Listed, 0, len(d.byID)+len(d.foreign))
	for id := range d.byID { // any order: sorted below
		if g := d.shown(id); g != nil {
			all = append(all, Listed{ID: id, ProtocolType: g.protocolType, State: g.state})
		}
	}
	for id, kind := range d.foreign { // any order: sorted below
		all = append(all, Listed{ID: id, ProtocolType: kind.String(), State: Empty, Type: kind})
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// topics are all topics that a group has a committed offset of, sorted.
func (d *directory) topics() []Topic {
	seen := map[Topic]struct{}{}
	for _, g := range d.byID { // any order: sorted below
		for tp, o := range g.offsets {
			if o.set {
				seen[Topic{tp.Topic, o.topic}] = struct{}{}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b Topic) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// census counts the groups of the classic protocol.
func (d *directory) census() Census {
	var c Census
	for _, g := range d.byID { // counting: any order will do
		c.States[g.state]++
		c.Offsets += len(g.offsets)
	}
	return c
}
