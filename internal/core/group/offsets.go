package group

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// never is the time at which an offset without expiry of its own expires.
const never = -1

// committedOffset is what a commit says about one partition.
type committedOffset struct {
	offset      kafka.Offset
	leaderEpoch kafka.Epoch // -1: not known
	metadata    string
	committedAt int64 // ms
	expiresAt   int64 // ms, or never: by retention
}

// offset is a partition's place in a group.
// Invariant: set, inflight > 0 or txns > 0; otherwise it is taken out.
type offset struct {
	committedOffset
	set      bool  // there is a committed offset
	inflight int32 // records about this partition that are not committed yet
	txns     int32 // open transactions that have an offset for it
}

// place gives the partition's entry, making one.
func (g *classic) place(tp kafka.TopicPartition) *offset {
	o := g.offsets[tp]
	if o == nil {
		o = &offset{}
		if g.offsets == nil {
			g.offsets = make(map[kafka.TopicPartition]*offset)
		}
		g.offsets[tp] = o
	}
	return o
}

// settle takes the entry out when nothing is left of it.
func (g *classic) settle(tp kafka.TopicPartition, o *offset) {
	if !o.set && o.inflight == 0 && o.txns == 0 && g.offsets[tp] == o {
		delete(g.offsets, tp)
	}
}

// partitions are the partitions the group has entries for, sorted.
func (g *classic) partitions() []kafka.TopicPartition {
	list := make([]kafka.TopicPartition, 0, len(g.offsets))
	for tp := range g.offsets { // any order: sorted below
		list = append(list, tp)
	}
	slices.SortFunc(list, byTopic)
	return list
}

func byTopic(a, b kafka.TopicPartition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return cmp.Compare(a.Partition, b.Partition)
}

// commitOffsets stores offsets: those of a member in its generation, or those
// of a consumer that is in no group.
func (s *Shard) commitOffsets(r *CommitOffsets) {
	g, err := s.committer(r)
	if err != kerr.None {
		s.answer(r, err)
		return
	}
	valid := 0
	for i := range r.Offsets {
		c := &r.Offsets[i]
		c.Err = s.checkCommit(c)
		if c.Err == kerr.None {
			valid++
		}
	}
	if valid == 0 {
		s.answer(r, kerr.None)
		return
	}
	if g == nil {
		g = s.newClassic(r.Group)
	}
	u := s.newCommitUnit(g, r)
	s.open(u)
	for i := range r.Offsets {
		if c := &r.Offsets[i]; c.Err == kerr.None {
			v := u.value(c)
			s.putOffset(r.Group, c.TopicPartition, &v)
			o := g.place(c.TopicPartition)
			o.inflight++
			u.places = append(u.places, o)
		}
	}
}

// committer tells whether the commit is allowed. The group is nil when the
// commit may make one.
func (s *Shard) committer(r *CommitOffsets) (*classic, kerr.Code) {
	if len(r.Group) > maxString {
		return nil, kerr.InvalidGroupId
	}
	g := s.groups[r.Group]
	member := r.Generation >= 0 || r.MemberID != "" || r.InstanceID != ""
	switch {
	case g == nil && r.Generation >= 0:
		return nil, r.UnknownGroup
	case g == nil:
		return nil, kerr.None
	case g.state == Dead:
		return nil, kerr.CoordinatorNotAvailable
	case r.Generation < 0 && g.state == Empty:
		return g, kerr.None
	case !member:
		return nil, kerr.UnknownMemberId
	}
	if err := g.checkGeneration(&r.Member); err != kerr.None {
		return nil, err
	}
	if g.state == CompletingRebalance {
		// It knows of the new generation but has no assignment in it.
		return nil, kerr.RebalanceInProgress
	}
	m := g.byID[r.MemberID]
	s.expect(m, m.sessionTimeout)
	return g, kerr.None
}

func (s *Shard) checkCommit(c *CommitOffset) kerr.Code {
	switch {
	case c.Err != kerr.None: // refused before it came here
		return c.Err
	case len(c.Topic) > maxString:
		return kerr.UnknownTopicOrPartition
	case len(c.Metadata) > maxString:
		return kerr.OffsetMetadataTooLarge
	case len(c.Metadata) > s.cfg.OffsetMetadataMax && utf16Len(c.Metadata) > s.cfg.OffsetMetadataMax:
		return kerr.OffsetMetadataTooLarge
	}
	return kerr.None
}

// commitUnit is a commit on its way to the log. Units are used again.
type commitUnit struct {
	g       *classic
	r       *CommitOffsets
	places  []*offset // of the valid offsets, in their order
	at      int64
	expires int64
	done    bool // answered late
}

func (s *Shard) newCommitUnit(g *classic, r *CommitOffsets) *commitUnit {
	u := &commitUnit{}
	if n := len(s.spare); n > 0 {
		u, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	*u = commitUnit{g: g, r: r, places: u.places[:0], at: s.now.UnixMilli, expires: never}
	if r.Retention >= 0 {
		u.expires = u.at + int64(r.Retention/time.Millisecond)
	}
	return u
}

func (u *commitUnit) value(c *CommitOffset) committedOffset {
	return committedOffset{
		offset: c.Offset, leaderEpoch: c.LeaderEpoch, metadata: c.Metadata,
		committedAt: u.at, expiresAt: u.expires,
	}
}

func (u *commitUnit) committed(s *Shard) {
	u.end(s, func(o *offset, c *CommitOffset) { o.committedOffset, o.set = u.value(c), true }, kerr.None)
}

func (u *commitUnit) failed(s *Shard, err kerr.Code) {
	u.end(s, func(*offset, *CommitOffset) {}, err)
}

func (u *commitUnit) end(s *Shard, apply func(*offset, *CommitOffset), err kerr.Code) {
	next := 0
	for i := range u.r.Offsets {
		c := &u.r.Offsets[i]
		if c.Err != kerr.None {
			continue
		}
		o := u.places[next]
		next++
		o.inflight--
		apply(o, c)
		u.g.settle(c.TopicPartition, o)
	}
	if !u.done {
		s.answer(u.r, err)
	}
	clear(u.places)
	u.g, u.r = nil, nil
	if len(s.spare) < maxSpare && cap(u.places) <= maxSparePlaces {
		s.spare = append(s.spare, u)
	}
}

// How many commit units a shard keeps for later, and of what size.
const (
	maxSpare       = 64
	maxSparePlaces = 128
)

// late answers with the call's error, which goes for every partition; the
// offsets stay as they are, since committed will read them.
func (u *commitUnit) late(s *Shard, err kerr.Code) {
	u.done = true
	s.answer(u.r, err)
}
