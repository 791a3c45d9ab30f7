package raft

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// follower copies the log of a leader whose address it knows. A voter stands
// for election when its fetch timer ends; an observer looks for the leader.
type follower struct {
	id kafka.NodeID
	at Endpoints
	// expires is the end of the fetch timer.
	expires kafka.Instant
	// fetched tells that a fetch from this leader has succeeded in this epoch:
	// from then on pre-votes are refused.
	fetched bool
	// farewell tells that this leader said it has resigned: pre-votes are
	// granted again (B5). chosen: it named us first to succeed it.
	farewell, chosen bool
	// gone tells that this leader's process is proven dead: pre-votes are granted
	// again (B3).
	gone     bool
	download *download // nil while the log is fetched
	// announceAt is when the leader is told next what we are, announced the last
	// such request, told that it has taken it (see announce).
	announceAt kafka.Instant
	announced  Call
	told       bool
}

// download is a snapshot on its way. It ends with the role.
type download struct {
	id       SnapshotID
	position int64 // bytes handed to the disk so far
}

func newFollower(c *Core, id kafka.NodeID, at Endpoints) *follower {
	return &follower{id: id, at: at, expires: fetchTimer(c, id), announceAt: c.now.Add(c.cfg.Timing.Fetch)}
}

func (f *follower) name() Role                        { return RoleFollower }
func (f *follower) leader() (kafka.NodeID, Endpoints) { return f.id, f.at }

func (f *follower) turn(c *Core) {
	if c.mourned.begins(c) || (!f.fetched || f.farewell) && c.longer.begins(c, f.id) {
		c.standOnceMore(f.expires)
		return
	}
	if c.now >= f.expires {
		if mayStand(c) {
			c.becomeProspective()
			return
		}
		if !c.quorum.electable(c.hw) {
			f.giveUp(c)
			return
		}
	}
	if _, busy := c.calls.fetching(c.now); busy || c.installing != 0 || f.rests(c) {
		return
	}
	at, reachable := addressOf(c, f.at)
	switch {
	case reachable && c.calls.ready(f.id, c.now):
		if !f.announce(c, at) {
			f.fetch(c, at)
		}
	case c.calls.troubled(f.id, c.now):
		fetchFromBootstrap(c)
	}
}

// fetch asks for more. The first fetch, and the one after a fetch that went
// unanswered, are not to be parked: a leader that stood still for 1.5 s would
// park them for half a second more when it goes on, and we would give it up
// meanwhile (B2).
func (f *follower) fetch(c *Core, at Endpoint) {
	if d := f.download; d != nil {
		sendFetch(c, f.id, at, c.cfg.Timing.Request, 0, SnapshotRequest{
			Replica: c.cfg.Self, Epoch: c.election.Epoch, ID: d.id, Position: d.position, MaxBytes: c.cfg.Timing.ChunkBytes,
		})
		return
	}
	r := fetchRequest(c)
	if !f.fetched || c.calls.unanswered(f.id) {
		r.MaxWait = 0
	}
	sendFetch(c, f.id, at, c.cfg.Timing.fetchLimit(), promised(c), r)
}

func (f *follower) next(c *Core) kafka.Instant {
	at := f.expires
	if c.quorum.electable(c.hw) && !mayStand(c) {
		at = kafka.Never
	}
	at = min(at, c.longer.next(c.now))
	if c.installing != 0 {
		return at
	}
	if until, busy := c.calls.fetching(c.now); busy {
		return min(at, until)
	}
	if f.rests(c) {
		return min(at, c.vain.until)
	}
	at = min(at, c.calls.readyAt(f.id))
	if c.calls.troubled(f.id, c.now) {
		at = min(at, nextBootstrap(c))
	}
	return at
}

// heard restarts the fetch timer after an answer that brought something or
// said that there is nothing.
func (f *follower) heard(c *Core) {
	f.expires = fetchTimer(c, f.id)
	f.fetched, f.farewell, f.chosen, f.gone = true, false, false, false
	c.longer.settled()
}

// leaderDied acts on proof of the leader's death, once in an epoch: a voter asks
// the others without waiting out its timer (B3). That all have the proof at the
// same time splits no votes (see rounds.go), and who has it first is refused by the
// others and grants the next one. An observer looks for the next leader. If the
// round is refused, the normal timers rule again, but for one more round (see
// mourning).
func leaderDied(c *Core, ev Dead) {
	f, follows := c.role.(*follower)
	if !follows || f.id != ev.Leader || ev.Epoch != c.election.Epoch || c.mourned.epoch == ev.Epoch {
		return
	}
	c.mourned, f.gone = mourning{epoch: ev.Epoch, from: c.now.Add(c.cfg.Timing.Fetch / 2)}, true
	f.expires = min(f.expires, c.now)
	c.trace("leader died", f.id)
}

// fetchRequest asks for what follows the end of our log.
func fetchRequest(c *Core) FetchRequest {
	p := c.log.position()
	return FetchRequest{
		Replica: c.cfg.Self, Epoch: c.election.Epoch, Offset: p.End, LastEpoch: p.Epoch,
		MaxWait: c.fetchWait(), MaxBytes: c.cfg.Timing.FetchBytes, HighWatermark: c.hw,
	}
}

// fetchAnswered acts on a fetch without error. What a leader says is checked:
// an answer that does not fit is dropped, one that would undo committed
// records stops the node.
func (f *follower) fetchAnswered(c *Core, call Call, a FetchAnswer) {
	switch {
	case a.Diverging != nil:
		f.truncate(c, *a.Diverging)
	case a.Snapshot != nil:
		f.load(c, *a.Snapshot)
	default:
		f.append(c, call, a)
	}
}

func (f *follower) truncate(c *Core, d EpochEnd) {
	if d.End < 0 || d.Epoch < 0 {
		return
	}
	end := c.log.truncationFor(d)
	if end < committed(c) || end < c.log.start {
		c.out.Fault = fmt.Errorf("leader %d of epoch %d wants the log cut at %d, below %d, which is committed",
			f.id, c.election.Epoch, end, max(committed(c), c.log.start))
		return
	}
	if end == c.log.end {
		f.inVain(c, "truncation refused")
		return
	}
	seq := c.log.truncate(end)
	c.pace.asked(c.now, seq)
	c.out.Truncate = &Truncate{Seq: seq, End: end}
	c.trace("truncated", f.id)
	f.heard(c)
}

// load starts to download a snapshot that we do not have. One that is not
// beyond what we know as committed brings nothing.
func (f *follower) load(c *Core, id SnapshotID) {
	if id.EndOffset < 0 || id.Epoch < 0 || id.Epoch > c.election.Epoch {
		return
	}
	if _, have := c.log.snapshot(id); have || id.EndOffset <= committed(c) {
		f.inVain(c, "snapshot refused")
		return
	}
	f.heard(c)
	f.download = &download{id: id}
	c.trace("downloading", f.id)
}

// append takes the batches up to the first one of an epoch above ours: they
// belong to a leader that we do not follow yet (KAFKA-18723). Records of which
// none can be used are no success.
func (f *follower) append(c *Core, call Call, a FetchAnswer) {
	span := a.Span.upTo(c.election.Epoch)
	fits := span.Base == c.log.end && span.End > span.Base && span.follows(c.log.lastEpoch())
	if !fits && (a.Damaged || a.Span.End > a.Span.Base) {
		f.inVain(c, "records refused")
	} else {
		f.heard(c)
		c.vain = vain{}
	}
	if fits {
		seq := c.log.next()
		for _, e := range span.Epochs {
			c.log.epochs.assign(e)
		}
		for _, v := range span.Voters {
			c.log.voters.add(v)
		}
		for _, v := range span.Levels {
			c.log.levels.add(v)
		}
		c.log.end = span.End
		c.pace.asked(c.now, seq)
		c.out.Append = append(c.out.Append, Append{
			Seq: seq, Base: span.Base, End: span.End, Epoch: c.log.lastEpoch(), From: call,
		})
	}
	if a.HighWatermark >= 0 {
		c.hw = max(c.hw, min(c.log.end, a.HighWatermark))
	}
}

// upTo cuts a span before the first batch of an epoch above the limit.
func (s Span) upTo(limit kafka.Epoch) Span {
	for i, e := range s.Epochs {
		if e.Epoch > limit {
			s.End, s.Epochs = e.Start, s.Epochs[:i]
			s.Voters = below(s.Voters, s.End)
			s.Levels = below(s.Levels, s.End)
			return s
		}
	}
	return s
}

func below[T any](all []At[T], end kafka.Offset) []At[T] {
	for i, e := range all {
		if e.Offset >= end {
			return all[:i]
		}
	}
	return all
}

// follows tells whether the epochs of a span are in order after the last one.
func (s Span) follows(last kafka.Epoch) bool {
	for _, e := range s.Epochs {
		if e.Epoch < last {
			return false
		}
		last = e.Epoch
	}
	return len(s.Epochs) > 0
}

// chunkAnswered acts on an answer to FetchSnapshot. When a snapshot cannot be
// had, the log is fetched again, which tells what to do instead.
func (f *follower) chunkAnswered(c *Core, from kafka.NodeID, call Call, a SnapshotAnswer) {
	d := f.download
	switch {
	case d == nil || c.installing != 0:
		return
	case a.Err == kerr.SnapshotNotFound:
		f.download = nil
		f.expires = fetchTimer(c, f.id)
		return
	case a.Err != kerr.None:
		f.download = nil
		pause(c, from)
		return
	case a.ID != d.id || a.Position != d.position || a.Bytes <= 0 || d.position+int64(a.Bytes) > a.Size:
		c.trace("chunk refused", f.id)
		f.download = nil // begins again with the next fetch
		pause(c, from)
		return
	}
	f.heard(c)
	chunk := Chunk{ID: d.id, Position: d.position, From: call}
	d.position += int64(a.Bytes)
	if d.position == a.Size {
		chunk.Last, chunk.Seq = true, c.log.next()
		c.installing = chunk.Seq
	}
	c.out.Chunk = &chunk
}

// spoiled begins the download again, after a pause.
func spoiled(c *Core, ev Spoiled) {
	if ev.Seq != c.installing {
		return
	}
	c.installing = 0
	c.log.reported(ev.Seq, c.log.written, true)
	if f, ok := c.role.(*follower); ok {
		f.download = nil
		f.inVain(c, "snapshot spoiled")
	}
}

// installed makes the log begin where the downloaded snapshot ends.
func installed(c *Core, ev Installed) {
	if ev.Seq != c.installing {
		return
	}
	c.installing, c.vain = 0, vain{}
	c.log.reported(ev.Seq, c.log.written, true)
	c.log.install(ev.Snapshot, ev.Voters, ev.Levels)
	c.hw = max(c.hw, ev.Snapshot.ID.EndOffset)
	c.trace("installed", kafka.NoNode)
	if f, ok := c.role.(*follower); ok {
		f.download = nil
		f.expires = fetchTimer(c, f.id)
	}
}
