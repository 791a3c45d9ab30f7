package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// ledger takes commits of offsets, and reads them out.
type ledger struct {
	desk   *desk
	groups *directory
	spare  []*commitUnit // for the next commits
}

// How many commit units are kept for later, and of what size.
const (
	maxSpare       = 64
	maxSparePlaces = 128
)

// maxCommitBytes is how large the keys and values of one commit may become. A
// record names its group and its topic, so a request that says both once could
// otherwise make a thousand times its own size. Records of this size are far
// above what goes into one batch, too.
const maxCommitBytes = 16 << 20

// commit stores offsets: those of a member in its generation, or those of a
// consumer that is in no group.
func (l *ledger) commit(r *CommitOffsets) {
	g, err := l.committer(r)
	if err != kerr.None {
		l.desk.answer(r, err)
		return
	}
	valid, size := 0, 0
	for i := range r.Offsets {
		c := &r.Offsets[i]
		c.Err = l.check(c)
		if c.Err == kerr.None {
			valid++
			size += len(r.Group) + len(c.Topic) + len(c.Metadata)
		}
	}
	switch {
	case valid == 0:
		l.desk.answer(r, kerr.None)
		return
	case size > maxCommitBytes:
		l.desk.answer(r, kerr.InvalidCommitOffsetSize)
		return
	}
	if g == nil {
		g = l.groups.create(r.Group)
	}
	u := l.newUnit(g, r)
	l.desk.open(u)
	for i := range r.Offsets {
		if c := &r.Offsets[i]; c.Err == kerr.None {
			v := u.value(c)
			l.desk.journal.offset(r.Group, c.TopicPartition, &v)
			o := g.offsets.place(c.TopicPartition)
			o.inflight++
			u.places = append(u.places, o)
		}
	}
}

// committer tells whether the commit is allowed. The group is nil when the
// commit may make one.
func (l *ledger) committer(r *CommitOffsets) (*classic, kerr.Code) {
	if len(r.Group) > maxString {
		return nil, kerr.InvalidGroupId
	}
	g := l.groups.byID[r.Group]
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
	g.roster.byID[r.MemberID].heard(l.desk)
	return g, kerr.None
}

func (l *ledger) check(c *CommitOffset) kerr.Code {
	most := l.desk.cfg.OffsetMetadataMax
	switch {
	case c.Err != kerr.None: // refused before it came here
		return c.Err
	case len(c.Topic) > maxString:
		return kerr.UnknownTopicOrPartition
	case len(c.Metadata) > maxString:
		return kerr.OffsetMetadataTooLarge
	case len(c.Metadata) > most && utf16Len(c.Metadata) > most:
		return kerr.OffsetMetadataTooLarge
	}
	return kerr.None
}

// fetch reads committed offsets. A fetch that asks for stable offsets first
// waits for the commits that are on their way: their senders may be gone while
// their offsets stay.
func (l *ledger) fetch(r *FetchOffsets) {
	if r.Stable && len(l.desk.queue.units) > 0 {
		l.desk.follow(&fetchUnit{ledger: l, r: r})
		return
	}
	l.read(r)
}

func (l *ledger) read(r *FetchOffsets) {
	var held offsets // none, if there is no such group
	if g := l.groups.byID[r.Group]; g != nil {
		held = g.offsets
	}
	current := r.Current
	if current == nil {
		current = func(string) kafka.TopicID { return kafka.TopicID{} }
	}
	if r.All {
		r.Offsets = append(r.Offsets, held.all(r.Stable, current)...)
	}
	for i := range r.Offsets {
		f := &r.Offsets[i]
		held.read(f, r.Stable, current(f.Topic))
	}
	l.desk.answer(r, kerr.None)
}

// underway gives the topics of the last commits that are on their way, by the
// places that they will fill.
func (l *ledger) underway() map[*offset]kafka.TopicID {
	topics := make(map[*offset]kafka.TopicID)
	for _, q := range l.desk.queue.units {
		if u, ok := q.unit.(*commitUnit); ok {
			u.each(func(o *offset, c *CommitOffset) { topics[o] = c.TopicID })
		}
	}
	return topics
}

// newUnit makes a unit, or takes one that has been kept.
func (l *ledger) newUnit(g *classic, r *CommitOffsets) *commitUnit {
	var u *commitUnit
	if n := len(l.spare); n > 0 {
		u, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		u = &commitUnit{}
	}
	*u = commitUnit{ledger: l, g: g, r: r, places: u.places[:0], at: l.desk.now.UnixMilli, expires: never}
	if r.Retention >= 0 {
		u.expires = u.at + int64(r.Retention/time.Millisecond)
	}
	return u
}

// keep keeps a unit that has ended.
func (l *ledger) keep(u *commitUnit) {
	clear(u.places)
	u.g, u.r = nil, nil
	if len(l.spare) < maxSpare && cap(u.places) <= maxSparePlaces {
		l.spare = append(l.spare, u)
	}
}

// commitUnit is a commit on its way to the log. Units are used again.
type commitUnit struct {
	ledger  *ledger
	g       *classic
	r       *CommitOffsets
	places  []*offset // of the valid offsets, in their order
	at      int64
	expires int64
	done    bool // answered late
}

func (u *commitUnit) value(c *CommitOffset) committedOffset {
	return committedOffset{
		offset: c.Offset, leaderEpoch: c.LeaderEpoch, order: sinceLoad, metadata: c.Metadata,
		committedAt: u.at, expiresAt: u.expires, topic: c.TopicID,
	}
}

func (u *commitUnit) committed() {
	u.end(func(o *offset, c *CommitOffset) { o.committedOffset, o.set = u.value(c), true }, kerr.None)
}

func (u *commitUnit) failed(err kerr.Code) {
	u.end(func(*offset, *CommitOffset) {}, err)
}

func (u *commitUnit) end(apply func(*offset, *CommitOffset), err kerr.Code) {
	u.each(func(o *offset, c *CommitOffset) {
		o.inflight--
		apply(o, c)
		u.g.offsets.settle(c.TopicPartition, o)
	})
	if !u.done {
		u.ledger.desk.answer(u.r, err)
	}
	u.ledger.keep(u)
}

// each goes through the valid offsets and their places.
func (u *commitUnit) each(do func(*offset, *CommitOffset)) {
	next := 0
	for i := range u.r.Offsets {
		if c := &u.r.Offsets[i]; c.Err == kerr.None {
			do(u.places[next], c)
			next++
		}
	}
}

// late answers with the call's error, which goes for every partition; the
// offsets stay as they are, since committed will read them.
func (u *commitUnit) late(err kerr.Code) {
	u.done = true
	u.ledger.desk.answer(u.r, err)
}

// fetchUnit is a fetch that waits for commits.
type fetchUnit struct {
	ledger *ledger
	r      *FetchOffsets
	done   bool
}

func (u *fetchUnit) committed() { u.failed(kerr.None) }

// failed reads as well: what was lost is not to be seen.
func (u *fetchUnit) failed(kerr.Code) {
	if !u.done {
		u.ledger.read(u.r)
	}
}

func (u *fetchUnit) late(err kerr.Code) {
	u.done = true
	u.ledger.desk.answer(u.r, err)
}
