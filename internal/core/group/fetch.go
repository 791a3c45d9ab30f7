package group

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// fetchOffsets reads committed offsets. A fetch that asks for stable offsets
// first waits for the commits that are on their way: their senders may be gone
// while their offsets stay.
func (s *Shard) fetchOffsets(r *FetchOffsets) {
	if r.Stable && len(s.queue.units) > 0 {
		s.follow(&fetchUnit{r: r})
		return
	}
	s.readOffsets(r)
}

func (s *Shard) readOffsets(r *FetchOffsets) {
	g := s.groups[r.Group]
	if r.All && g != nil {
		for _, tp := range g.partitions() {
			if o := g.offsets[tp]; o.set || o.txns > 0 && r.Stable {
				r.Offsets = append(r.Offsets, FetchOffset{TopicPartition: tp})
			}
		}
	}
	for i := range r.Offsets {
		g.read(&r.Offsets[i], r.Stable)
	}
	s.answer(r, kerr.None)
}

// read fills in one partition. An offset that is not there is no error, and
// neither is a group that is not there (g is nil).
func (g *classic) read(f *FetchOffset, stable bool) {
	f.Offset, f.LeaderEpoch, f.Metadata = kafka.NoOffset, kafka.NoEpoch, ""
	if f.Err != kerr.None || g == nil {
		return
	}
	switch o := g.offsets[f.TopicPartition]; {
	case o == nil:
	case stable && o.txns > 0:
		f.Err = kerr.UnstableOffsetCommit
	case o.set:
		f.Offset, f.LeaderEpoch, f.Metadata = o.offset, o.leaderEpoch, o.metadata
	}
}

// fetchUnit is a fetch that waits for commits.
type fetchUnit struct {
	r    *FetchOffsets
	done bool
}

func (u *fetchUnit) committed(s *Shard) { u.failed(s, kerr.None) }

// failed reads as well: what was lost is not to be seen.
func (u *fetchUnit) failed(s *Shard, _ kerr.Code) {
	if !u.done {
		s.readOffsets(u.r)
	}
}

func (u *fetchUnit) late(s *Shard, err kerr.Code) {
	u.done = true
	s.answer(u.r, err)
}
