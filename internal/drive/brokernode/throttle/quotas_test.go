package throttle

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

const self kafka.NodeID = 1

// followed are quotas and the metadata that they follow.
type followed struct {
	*Quotas
	t   *testing.T
	img *image.Image
}

func newFollowed(t *testing.T) *followed {
	f := &followed{New(self, 11, time.Second), t, image.Empty()}
	f.apply(&metarec.TopicRecord{Name: "t", TopicId: kafka.TopicID{1}})
	return f
}

func (f *followed) apply(records ...metarec.Message) {
	f.t.Helper()
	next, delta, err := image.Apply(f.img, records)
	if err != nil {
		f.t.Fatal(err)
	}
	f.img = next
	f.Publish(delta, next)
}

// set stores a setting of topic t; "-" takes it back.
func (f *followed) set(key, value string) {
	f.t.Helper()
	r := image.ConfigRecord(image.TopicOf("t"), key, &value)
	if value == "-" {
		r.Value = nil
	}
	f.apply(r)
}

func listed(q *Quota) string {
	var all []string
	for n, name := range []string{"t-0", "t-1"} {
		if q.Lists(kafka.TopicPartition{Topic: "t", Partition: kafka.PartitionID(n)}) {
			all = append(all, name)
		}
	}
	if (len(all) > 0) != q.Any() {
		return "not what Any says"
	}
	return strings.Join(all, " ")
}

// Rule: each quota follows the list of its own side, as it changes, is taken back, or
// goes with its topic.
func TestQuotasFollowTheListsOfTopics(t *testing.T) {
	q := newFollowed(t)
	f := func(what, leaders, followers string) {
		t.Helper()
		if l, f := listed(q.Leader()), listed(q.Follower()); l != leaders || f != followers {
			t.Errorf("%s: leaders %q, followers %q", what, l, f)
		}
	}
	f("nothing set", "", "")
	q.set(leadersKey, "0:1,1:2")
	f("leaders listed", "t-0", "")
	q.set(followersKey, "*")
	f("all followers", "t-0", "t-0 t-1")
	q.set("retention.ms", "5")
	f("another setting", "t-0", "t-0 t-1")
	q.set(leadersKey, "1:1")
	f("another list", "t-1", "t-0 t-1")
	q.set(leadersKey, "-")
	f("taken back", "", "t-0 t-1")
	q.set(leadersKey, "garbage")
	f("a list that cannot be read", "", "t-0 t-1")
	q.apply(&metarec.RemoveTopicRecord{TopicId: kafka.TopicID{1}})
	f("deleted", "", "")
}

// Rules of the bounds: there is none at first, a new one counts at once and on its
// own side, and time frees what was used up.
func TestRulesOfTheBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(self, 11, time.Second)
		f := func(rule string, leader, follower bool) {
			t.Helper()
			if l, f := q.Leader().Exceeded(), q.Follower().Exceeded(); l != leader || f != follower {
				t.Errorf("%s: leader %v, follower %v", rule, l, f)
			}
		}
		q.Leader().Record(1000)
		q.Follower().Record(1000)
		f("there is no bound at first", false, false)
		q.Bound(Rates{Leader: 999, Follower: Unlimited})
		f("a bound counts at once, on its side", true, false)
		q.Bound(Rates{Leader: 1000, Follower: 10})
		f("as much as the bound is not beyond it", false, true)
		q.Bound(Rates{Leader: 0, Follower: 0})
		f("nothing may come", true, true)
		q.Bound(Rates{Leader: 200, Follower: 50})
		time.Sleep(5 * time.Second)
		f("time frees a quota", false, true)
		time.Sleep(6 * time.Second)
		f("in the end in full", false, false)
	})
}
