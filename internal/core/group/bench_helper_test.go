package group

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
)

// bench drives one shard: it keeps the log and the clock, and commits every
// record at once unless it is told to hold them.
type bench struct {
	t        testing.TB
	cfg      Config
	shard    *Shard
	now      Time
	deadline kafka.Instant
	holding  bool
	waiting  []logged // appended, not committed
	log      []logged // committed
	last     Seq      // of this shard
	appended []logged
	answered []Request
}

// logged is a record in the log.
type logged struct {
	seq        Seq
	key, value []byte
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, cfg: Defaults(), now: Time{UnixMilli: 1_700_000_000_000}}
	b.reload()
	return b
}

// seed makes the source of member ids.
func seed(n byte) rand.Source { return rand.NewChaCha8([32]byte{n}) }

func (b *bench) step(ev Event) {
	eff := b.shard.Step(b.now, ev)
	b.deadline = eff.Deadline
	for _, r := range eff.Append {
		rec := logged{seq: r.Seq, key: append([]byte(nil), r.Key...)}
		if r.Value != nil {
			rec.value = append([]byte{}, r.Value...)
		}
		b.appended = append(b.appended, rec)
		b.waiting = append(b.waiting, rec)
		b.last = r.Seq
	}
	b.answered = append(b.answered, eff.Answered...)
	if len(b.waiting) > 0 && !b.holding {
		b.commitUpTo(b.last)
	}
}

func (b *bench) commitAll() {
	b.holding = false
	b.commitUpTo(b.last)
}

func (b *bench) commitUpTo(seq Seq) {
	n := 0
	for n < len(b.waiting) && b.waiting[n].seq <= seq {
		n++
	}
	b.log = append(b.log, b.waiting[:n]...)
	b.waiting = b.waiting[n:]
	b.step(Committed{Through: seq})
}

func (b *bench) fail(code kerr.Code) {
	first, last := b.waiting[0].seq, b.waiting[len(b.waiting)-1].seq
	b.waiting = nil
	b.step(Failed{From: first, Through: last, Err: code})
}

// advance lets time pass.
func (b *bench) advance(d time.Duration) {
	end := b.now.At.Add(d)
	for b.deadline <= end {
		b.moveTo(max(b.deadline, b.now.At))
		b.step(Tick{})
	}
	b.moveTo(end)
}

func (b *bench) moveTo(at kafka.Instant) {
	b.now.UnixMilli += at.Sub(b.now.At).Milliseconds()
	b.now.At = at
}

// reload replaces the shard by one that has loaded the committed records.
func (b *bench) reload() {
	b.cfg.Random = seed(byte(len(b.log)))
	b.shard = New(b.cfg)
	b.waiting, b.last = nil, 0
	for _, r := range b.log {
		if err := b.shard.Replay(kafka.NoProducer, r.key, r.value); err != nil {
			b.t.Fatal(err)
		}
	}
	b.step(Loaded{})
}

func (r logged) String() string {
	key, err := metarec.ReadGroupKey(r.key)
	if err != nil {
		return err.Error()
	}
	value, version, err := metarec.ReadGroupValue(key, r.value)
	if err != nil {
		return err.Error()
	}
	text := ""
	switch k := key.(type) {
	case *metarec.OffsetCommitKey:
		text = fmt.Sprintf("offset %s %s/%d", k.Group, k.Topic, k.Partition)
	case *metarec.GroupMetadataKey:
		text = fmt.Sprintf("group %s", k.Group)
	}
	switch v := value.(type) {
	case nil:
		text += " tombstone"
	case *metarec.OffsetCommitValue:
		text += fmt.Sprintf(" v%d offset=%d epoch=%d metadata=%q", version, v.Offset, v.LeaderEpoch, v.Metadata)
		if !v.TopicId.IsZero() {
			text += fmt.Sprintf(" topic=%d", v.TopicId[15])
		}
	case *metarec.GroupMetadataValue:
		text += fmt.Sprintf(" v%d type=%s gen=%d protocol=%s leader=%s", version, v.ProtocolType, v.Generation, orEmpty(v.Protocol), orEmpty(v.Leader))
		for _, m := range v.Members {
			text += fmt.Sprintf(" [%s %s %s %s]", m.MemberId, orEmpty(m.GroupInstanceId), m.Subscription, m.Assignment)
		}
	}
	return text
}
