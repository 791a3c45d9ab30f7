package group

import (
	"maps"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// expireOffsets removes the offsets whose time has come, and groups that have
// neither members nor offsets (KIP-211). It comes again while there are groups.
func (s *Shard) expireOffsets() {
	for _, id := range s.ids() {
		s.expireGroup(s.groups[id])
	}
	if len(s.groups) > 0 {
		s.timers.set(&s.scan, s.now.At.Add(s.cfg.CheckInterval))
	}
}

// ids are the ids of all classic groups, sorted.
func (s *Shard) ids() []string { return slices.Sorted(maps.Keys(s.groups)) }

func (s *Shard) expireGroup(g *classic) {
	if g.state == Dead || s.isForeign(g.id) {
		return // on its way out already, or not ours to judge
	}
	var gone []kafka.TopicPartition
	for _, tp := range g.partitions() {
		if s.expired(g, tp, g.offsets[tp]) {
			gone = append(gone, tp)
		}
	}
	over := g.state == Empty && len(gone) == len(g.offsets) && len(g.pending) == 0
	switch {
	case over && !g.persisted && len(gone) == 0:
		s.forget(g) // no record tells of it
	case over:
		s.erase(&erasure{g: g, whole: true}, gone)
	case len(gone) > 0:
		s.erase(&erasure{g: g}, gone)
	}
}

// expired tells whether an offset may go. From when retention counts depends on
// whether somebody could still come back for it.
func (s *Shard) expired(g *classic, tp kafka.TopicPartition, o *offset) bool {
	if !o.set || o.inflight > 0 || o.txns > 0 || g.listens(tp.Topic) {
		return false
	}
	since := o.committedAt
	switch {
	case g.protocolType == "": // a simple consumer: since it committed
	case g.state == Empty && g.changed >= 0:
		since = g.changed // since the last member left
	case g.state == Empty:
		// A record of before Kafka 2.1 does not say since when.
	case g.state == Stable && g.protocolType == consumerProtocolType && g.subscribed != nil:
		// Nobody consumes the topic any more.
	default:
		return false
	}
	if o.expiresAt != never {
		return s.now.UnixMilli >= o.expiresAt
	}
	return s.now.UnixMilli-since >= s.cfg.OffsetsRetention.Milliseconds()
}
