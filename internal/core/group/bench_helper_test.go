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
	producer   kafka.ProducerID // of a transactional batch
	key, value []byte
	marker     *EndTransaction
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
		rec := logged{seq: r.Seq, producer: kafka.NoProducer, key: append([]byte(nil), r.Key...), marker: r.Marker}
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
		if m := r.marker; m != nil {
			b.shard.ReplayMarker(m.Producer, m.Commit)
			continue
		}
		if err := b.shard.Replay(r.producer, r.key, r.value); err != nil {
			b.t.Fatal(err)
		}
	}
	b.step(Loaded{})
}

// transactional puts an offset into the log that another broker has committed in a
// transaction; a shard knows of it once it is loaded.
func (b *bench) transactional(producer kafka.ProducerID, group string, tp kafka.TopicPartition, at kafka.Offset) {
	key := &metarec.OffsetCommitKey{Group: group, Topic: tp.Topic, Partition: int32(tp.Partition)}
	value := &metarec.OffsetCommitValue{Offset: int64(at), LeaderEpoch: -1, ExpireTimestamp: never}
	r := logged{producer: producer}
	var err error
	if r.key, err = metarec.AppendCoordinatorKey(nil, key); err == nil {
		r.value, err = metarec.AppendCoordinatorValue(nil, value, offsetVersion)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.log = append(b.log, r)
}

func (r logged) String() string {
	if m := r.marker; m != nil {
		return fmt.Sprintf("marker producer=%d epoch=%d coordinator=%d version=%d commit=%v", m.Producer, m.Epoch, m.Coordinator, m.Version, m.Commit)
	}
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
