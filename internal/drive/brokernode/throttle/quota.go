// Package throttle holds the two replication quotas of a broker (KIP-73): what it
// sends as a leader, and what it takes as a follower, of the replicas that topics
// list as throttled. It counts, and answers whether a quota is used up; who is then
// held back is decided where that is known: by the partition for a follower that
// fetches, by the fetcher for its own requests.
package throttle

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/pmap"
	"github.com/ottla/ottla/internal/core/quota"
)

// Unlimited is the bound of a quota that nobody has set.
const Unlimited int64 = math.MaxInt64

// Quota bounds how many bytes of throttled replicas move in a second. It is a mean
// over the window and nothing is delayed: who comes while the quota is used up is left
// out. All methods may be called by anybody at any time.
type Quota struct {
	began time.Time
	bound atomic.Int64 // bytes in a second

	// listed are the topics with throttled replicas here, replaced whole; nil
	// without any, which is so nearly always.
	listed atomic.Pointer[topics]

	mu     sync.Mutex
	window quota.Window
}

// topics are the throttled replicas of this broker by topic. None of them is empty.
type topics = pmap.Map[string, quota.Replicas]

func newQuota(samples int, span time.Duration) *Quota {
	q := &Quota{began: time.Now(), window: quota.NewWindow(samples, span)}
	q.bound.Store(Unlimited)
	return q
}

// Any tells whether any replica here is throttled.
func (q *Quota) Any() bool { return q.listed.Load() != nil }

// Lists tells whether the replica of a partition here is throttled.
func (q *Quota) Lists(tp kafka.TopicPartition) bool {
	all := q.listed.Load()
	if all == nil {
		return false
	}
	replicas, ok := all.Get(tp.Topic)
	return ok && replicas.Has(tp.Partition)
}

// Exceeded tells whether more came lately than may.
func (q *Quota) Exceeded() bool {
	bound := q.bound.Load()
	return bound != Unlimited && q.Rate() > float64(bound)
}

// Rate is how many bytes of throttled replicas came in a second, lately.
func (q *Quota) Rate() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.window.Rate(q.now())
}

// Record counts bytes that have moved.
func (q *Quota) Record(bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.window.Add(q.now(), bytes)
}

func (q *Quota) now() kafka.Instant { return kafka.Instant(time.Since(q.began)) }

// throttle says which replicas of a topic count. It is called by one goroutine.
func (q *Quota) throttle(topic string, replicas quota.Replicas) {
	before := q.listed.Load()
	switch {
	case replicas.None() && before == nil:
		return
	case before == nil:
		now := pmap.Ordered[string, quota.Replicas]().With(topic, replicas)
		q.listed.Store(&now)
	case !replicas.None():
		now := before.With(topic, replicas)
		q.listed.Store(&now)
	default:
		if now := before.Without(topic); now.Len() > 0 {
			q.listed.Store(&now)
		} else {
			q.listed.Store(nil)
		}
	}
}
