package throttle

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/quota"
)

// The topic's keys that list throttled replicas.
const (
	leadersKey   = "leader.replication.throttled.replicas"
	followersKey = "follower.replication.throttled.replicas"
)

// Quotas are the replication quotas of a broker.
type Quotas struct {
	self             kafka.NodeID
	leader, follower *Quota
}

// New makes quotas without bounds, over so many samples of one span each
// (replication.quota.window.num and .size.seconds).
func New(self kafka.NodeID, samples int, span time.Duration) *Quotas {
	return &Quotas{self: self, leader: newQuota(samples, span), follower: newQuota(samples, span)}
}

// Leader is the quota of what leaders here send to their followers.
func (q *Quotas) Leader() *Quota { return q.leader }

// Follower is the quota of what followers here take from their leaders.
func (q *Quotas) Follower() *Quota { return q.follower }

// Rates are the bounds of both, in bytes a second: leader.replication.throttled.rate
// and follower.replication.throttled.rate.
type Rates struct{ Leader, Follower int64 }

// Bound has the bounds count from now on.
func (q *Quotas) Bound(r Rates) {
	q.leader.bound.Store(r.Leader)
	q.follower.bound.Store(r.Follower)
}

// Publish follows what topics list. It is called by one goroutine, for each image in
// order, before the replicas follow it.
func (q *Quotas) Publish(delta image.Delta, img *image.Image) {
	for _, r := range delta.Configs { // those of deleted topics are among them
		if r.Type != image.TopicResource {
			continue
		}
		stored := img.Config(r)
		leaders, _ := stored.Get(leadersKey)
		followers, _ := stored.Get(followersKey)
		q.leader.throttle(r.Name, quota.ParseReplicas(leaders, q.self))
		q.follower.throttle(r.Name, quota.ParseReplicas(followers, q.self))
	}
}

// Register shows the rates under the names of Kafka's LeaderReplication and
// FollowerReplication.
func (q *Quotas) Register(r *metrics.Registry) {
	metrics.Watch(r, func() *Quotas { return q },
		metrics.Reading[*Quotas]{
			Name: "kafka_server_leaderreplication_byte_rate",
			Help: "Bytes a second that leaders here sent to followers of throttled replicas, over the window of replication quotas.",
			One:  func(q *Quotas) float64 { return q.leader.Rate() },
		},
		metrics.Reading[*Quotas]{
			Name: "kafka_server_followerreplication_byte_rate",
			Help: "Bytes a second that throttled replicas here took from their leaders, over the window of replication quotas.",
			One:  func(q *Quotas) float64 { return q.follower.Rate() },
		},
	)
}
