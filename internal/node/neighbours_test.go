package node

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// seen is node 1 of a cluster, which sees the brokers of others as a text says it:
// "2=active 3=leaving 4=fenced". A "leading" one is active and leads a partition, a
// "lost" one was fenced without having asked for it.
type seen struct {
	t *testing.T
	neighbours
	img  *image.Image
	dead []kafka.NodeID // whose processes are gone
}

func newSeen(t *testing.T, voters []kafka.NodeID, brokers string) *seen {
	t.Helper()
	s := &seen{t: t}
	s.neighbours = neighbours{self: 1, voters: func() []kafka.NodeID { return voters }, image: func() *image.Image { return s.img },
		gone: func(_ context.Context, id kafka.NodeID) bool { return slices.Contains(s.dead, id) }}
	s.becomes(brokers)
	s.remember()
	return s
}

// becomes changes what is seen.
func (s *seen) becomes(brokers string) {
	s.t.Helper()
	s.img = image.Empty()
	for _, b := range strings.Fields("1=active " + brokers) {
		r := metarec.NewRegisterBrokerRecord()
		r.BrokerId, r.BrokerEpoch = int32(b[0]-'0'), int64(b[0])
		state := b[2:]
		r.Fenced, r.InControlledShutdown = state == "fenced" || state == "lost", state == "fenced" || state == "leaving"
		s.img = imageOf(s.t, s.img, r)
		if state == "leading" {
			id := kafka.UUID{byte(r.BrokerId), 15: 200}
			p := metarec.NewPartitionRecord()
			p.TopicId, p.Replicas, p.Isr, p.Leader = id, []int32{r.BrokerId}, []int32{r.BrokerId}, r.BrokerId
			s.img = imageOf(s.t, s.img, &metarec.TopicRecord{Name: b, TopicId: id}, p)
		}
	}
}

func (s *seen) waits() time.Duration {
	began := time.Now()
	s.await()
	return time.Since(began).Truncate(neighboursPause)
}

// stays checks for how long a voter stays when brokers have become what they are now.
func stays(t *testing.T, voters []kafka.NodeID, before, now string, want time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSeen(t, voters, before)
		s.becomes(now)
		if got := s.waits(); got != want {
			t.Errorf("of voters %v with brokers %q, which were %q, it stays %v, want %v", voters, now, before, got, want)
		}
	})
}

// Rule: a voter that stops stays for a broker that is leaving. It stays for one that
// may be about to only if others stop together with it, and with it goes the majority.
func TestAVoterStaysForBrokersThatLeave(t *testing.T) {
	three := []kafka.NodeID{1, 2, 3}
	stays(t, three, "2=active 3=active", "2=active 3=leaving", brokersPatience)
	stays(t, three, "2=active 3=active", "2=fenced 3=leaving", brokersPatience)
	stays(t, three, "2=active 3=active", "2=fenced 3=fenced", 0)
	stays(t, three, "2=active 3=active", "2=active 3=active", lookAround) // alone, as it seems
	stays(t, three, "2=active 3=active", "2=fenced 3=active", stopGrace)
	stays(t, three, "2=fenced 3=active", "2=fenced 3=active", lookAround) // one after the other
	stays(t, []kafka.NodeID{1, 2, 3, 4, 5}, "2=active 3=active 4=active 5=active", "2=fenced 3=active 4=active 5=active", lookAround)
	stays(t, three, "4=active 5=active", "4=fenced 5=active", 0)          // brokers that are no voters
	stays(t, []kafka.NodeID{1}, "4=active", "4=leaving", brokersPatience) // nor here
	stays(t, []kafka.NodeID{2, 3}, "2=active 3=active", "2=fenced 3=leaving", 0)
	stays(t, []kafka.NodeID{1}, "", "", 0)
}

// Rule: a broker whose session ends within our stop crashed before it, and does not
// stop together with us. Who led nothing leaves as silently; there a vote decides.
func TestABrokerWhoseSessionEndsDoesNotStopTogetherWithUs(t *testing.T) {
	two, three := []kafka.NodeID{1, 2}, []kafka.NodeID{1, 2, 3}
	stays(t, two, "2=active 3=leading", "2=active 3=lost", lookAround)
	stays(t, two, "2=active 3=active", "2=active 3=lost", lookAround)
	stays(t, two, "2=active 3=leading", "2=active 3=fenced", stopGrace) // it asked to leave
	stays(t, three, "2=active 3=leading", "2=active 3=lost", lookAround)
	stays(t, three, "2=active 3=active", "2=active 3=lost", stopGrace) // led nothing: it may have asked
}

// Rule: that another voter stops at the same time shows a moment later than our own
// stop begins, and the voter is still there then.
func TestAVoterSeesOthersStopTogetherWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeen(t, []kafka.NodeID{1, 2, 3}, "2=active 3=active")
		began := time.Now()
		s.image = func() *image.Image {
			switch since := time.Since(began); {
			case since > time.Second:
				s.becomes("2=fenced 3=fenced")
			case since > lookAround/2:
				s.becomes("2=fenced 3=active")
			}
			return s.img
		}
		if got := s.waits(); got < time.Second || got > time.Second+2*neighboursPause {
			t.Errorf("it stays %v for a broker that leaves within a second", got)
		}
	})
}

// Rule: it stays only as long as there is reason to.
func TestAVoterLeavesWhenBrokersHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeen(t, []kafka.NodeID{1, 2, 3}, "2=active 3=active")
		s.becomes("2=fenced 3=active") // told to stop, too, but slow to say so
		images := make(chan string)
		go func() {
			for _, step := range []string{"2=fenced 3=leaving", "2=fenced 3=fenced"} {
				time.Sleep(time.Second)
				images <- step
			}
		}()
		s.image = func() *image.Image {
			select {
			case step := <-images:
				s.becomes(step)
			default:
			}
			return s.img
		}
		if got := s.waits(); got < 2*time.Second || got > 2*time.Second+2*neighboursPause {
			t.Errorf("it stays %v for a broker that leaves in two seconds", got)
		}
	})
}

// Rule: nobody is waited for as successor when all other voters have stopped or are
// about to, and no broker needs one.
func TestNoSuccessorIsWaitedForAlone(t *testing.T) {
	const limit = time.Minute
	f := func(voters []kafka.NodeID, before, now string, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := newSeen(t, voters, before)
			s.becomes(now)
			began := time.Now()
			ctx, end := s.untilAlone(limit)
			<-ctx.Done()
			if got := time.Since(began); got != want {
				t.Errorf("of voters %v with brokers %q, which were %q, it waits %v, want %v", voters, now, before, got, want)
			}
			end()
		})
	}
	three, active := []kafka.NodeID{1, 2, 3}, "2=active 3=active"
	f(three, active, "2=fenced 3=fenced", 0)
	f(three, active, "2=fenced 3=active", limit)
	f(three, active, "2=fenced 3=leaving", limit)
	f(three, "2=fenced 3=fenced", "2=fenced 3=fenced", limit) // all are starting
	f(three, "2=fenced 3=active", "2=fenced 3=fenced", limit)
	f(three, "2=active", "2=fenced", limit)                           // 3 is a controller only
	f(three, active+" 4=active", "2=fenced 3=fenced 4=active", limit) // who is to let 4 go?
	f(slices.Concat(three, []kafka.NodeID{4}), active, "2=fenced 3=fenced", limit)
	f([]kafka.NodeID{1}, "", "", limit)
}

// Rule: when the processes of so many voters are gone that nothing is committed any
// more, there is nothing to wait for: the metadata may not show that they have left.
func TestNothingIsWaitedForWithoutAMajority(t *testing.T) {
	f := func(dead []kafka.NodeID, stays, succeeds time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := newSeen(t, []kafka.NodeID{1, 2, 3}, "2=active 3=active")
			s.becomes("2=fenced 3=leaving")
			s.dead = dead
			if got := s.waits(); got != stays {
				t.Errorf("without processes of %v it stays %v, want %v", dead, got, stays)
			}
			began := time.Now()
			ctx, end := s.untilAlone(stopGrace)
			<-ctx.Done()
			if got := time.Since(began); got != succeeds {
				t.Errorf("without processes of %v it waits %v for a successor, want %v", dead, got, succeeds)
			}
			end()
		})
	}
	f(nil, brokersPatience, stopGrace)
	f([]kafka.NodeID{2}, brokersPatience, stopGrace)
	f([]kafka.NodeID{2, 3}, looksAtProcesses*neighboursPause, 0)
}
