package image

import (
	"cmp"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
)

// Hosted counts what a broker has of all partitions, so that nobody has to walk
// over them to find out that it has nothing.
type Hosted struct {
	Replicas   int
	Leads      int // partitions that it leads
	InSync     int // memberships in ISRs
	Eligible   int // memberships in ELRs
	Unplaced   int // replicas whose directory is not known
	Leaderless int // replicas of partitions without a leader
}

func (h *Hosted) add(o Hosted) {
	h.Replicas += o.Replicas
	h.Leads += o.Leads
	h.InSync += o.InSync
	h.Eligible += o.Eligible
	h.Unplaced += o.Unplaced
	h.Leaderless += o.Leaderless
}

// hostedEdit gathers how the counts change.
type hostedEdit map[kafka.NodeID]*Hosted

func (e hostedEdit) of(broker kafka.NodeID) *Hosted {
	h := e[broker]
	if h == nil {
		h = new(Hosted)
		e[broker] = h
	}
	return h
}

// count adds what brokers have of a partition, or with sign -1 takes it away.
func (e hostedEdit) count(p *Partition, sign int) {
	for n, id := range p.Replicas {
		h := e.of(id)
		h.Replicas += sign
		if p.Leader == kafka.NoNode {
			h.Leaderless += sign
		}
		if Unplaced(p.Dirs[n]) {
			h.Unplaced += sign
		}
	}
	for _, id := range p.ISR {
		e.of(id).InSync += sign
	}
	for _, id := range p.ELR {
		e.of(id).Eligible += sign
	}
	if p.Leader != kafka.NoNode {
		e.of(p.Leader).Leads += sign
	}
}

// done gives the counts after the changes.
func (e hostedEdit) done(before pmap.Map[kafka.NodeID, Hosted]) pmap.Map[kafka.NodeID, Hosted] {
	after := before.Edit()
	for id, change := range e { // in any order: each is for another broker
		h, _ := after.Get(id)
		h.add(*change)
		if h == (Hosted{}) {
			after.Delete(id)
		} else if *change != (Hosted{}) {
			after.Set(id, h)
		}
	}
	return after.Done()
}

// likeness is a topic behind the name that metrics give it.
type likeness struct{ metric, topic string }

func compareLikeness(a, b likeness) int {
	return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.topic, b.topic))
}

// metricName is a topic's name in metrics, and whether it has a character that
// they change, or one that they change others to.
func metricName(topic string) (name string, changes bool) {
	if !strings.ContainsAny(topic, "._") {
		return topic, false
	}
	return strings.ReplaceAll(topic, ".", "_"), true
}
