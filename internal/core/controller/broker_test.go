package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

func TestRegistrationRefusals(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.add(&metarec.FeatureLevelRecord{Name: image.GroupVersion, FeatureLevel: 1})
	f := func(code kerr.Code, word string, change func(*Registration)) {
		t.Helper()
		want := registration(3, 2)
		want.Features = append(want.Features, image.VersionRange{Name: image.GroupVersion, Max: 1})
		change(&want)
		d := RegisterBroker(c.img, c.soft, c.now, want)
		refused(t, d.Err, code, word)
	}
	f(kerr.None, "", func(*Registration) {})
	f(kerr.InconsistentClusterId, `"D"`, func(r *Registration) { r.ClusterID = "D" })
	f(kerr.DuplicateBrokerRegistration, "1", func(r *Registration) { r.Broker = 1 })
	f(kerr.BrokerIdNotRegistered, "ZooKeeper", func(r *Registration) { r.Migrating = true })
	// KIP-858: no online log directory makes the request invalid.
	f(kerr.InvalidRequest, "no online log directory", func(r *Registration) { r.Dirs = nil })
	f(kerr.InvalidRegistration, "reserved", func(r *Registration) { r.Dirs[0] = kafka.DirUnassigned })
	f(kerr.InvalidRegistration, "two log directories", func(r *Registration) { r.Dirs[1] = r.Dirs[0] })
	f(kerr.InvalidRegistration, "registered by broker 2", func(r *Registration) { r.Dirs[0] = uid(21) })
	f(kerr.InvalidRegistration, "protocol 7", func(r *Registration) { r.Endpoints[0].Protocol = 7 })
	f(kerr.InvalidRegistration, "port 0", func(r *Registration) { r.Endpoints[0].Port = 0 })
	f(kerr.InvalidRegistration, "no host", func(r *Registration) { r.Endpoints[0].Host = "" })
	f(kerr.InvalidRegistration, "two listeners", func(r *Registration) { r.Endpoints = append(r.Endpoints, r.Endpoints[0]) })
	f(kerr.InvalidRegistration, "range 2 to 1", func(r *Registration) { r.Features[0].Min, r.Features[0].Max = 2, 1 })
	f(kerr.InvalidRegistration, "does not name metadata.version", func(r *Registration) { r.Features[0] = image.VersionRange{Name: "other", Max: 1} })
	f(kerr.UnsupportedVersion, "7 to 32, the cluster is at 33", func(r *Registration) { r.Features[0].Max = 32 })
	f(kerr.UnsupportedVersion, "group.version, which the cluster has at 1", func(r *Registration) { r.Features = r.Features[:3] })
}

func TestANewIncarnationIsFencedWithTheNextOffsetAsItsEpoch(t *testing.T) {
	c := newCluster(t)
	next := c.img.NextOffset()
	d := RegisterBroker(c.img, c.soft, c.now, registration(1, 2))
	wrote(t, d.Records, "RegisterBroker")
	if do(c, d).Epoch != kafka.BrokerEpoch(next) {
		t.Errorf("epoch %d, want %d", d.Reply.Epoch, next)
	}
	b := c.broker(1)
	if !b.Fenced || b.ShuttingDown || !slices.Equal(b.Dirs, dirs(11, 12)) || d.Records[0].Version != 4 {
		t.Errorf("registered %+v", b)
	}
}

func TestTheSameIncarnationKeepsEpochAndState(t *testing.T) {
	// KAFKA-16757, KAFKA-16952.
	c := newCluster(t)
	c.brokers(1)
	before := c.broker(1)
	again := registration(1, 1)
	again.Endpoints[0].Port = 9999
	do(c, RegisterBroker(c.img, c.soft, c.now, again))
	after := c.broker(1)
	if after.Epoch != before.Epoch || after.Fenced || after.Endpoints[0].Port != 9999 {
		t.Errorf("became %+v", after)
	}
}

// Rule: another incarnation waits for the session of the registered one to end;
// for half of it, if it comes with the same directories.
func TestARestartedBrokerWaitsForItsFormerSession(t *testing.T) {
	f := func(dirs []kafka.DirID, wait time.Duration) {
		t.Helper()
		c := newCluster(t)
		c.brokers(1)
		again := registration(1, 1)
		again.Incarnation, again.Dirs = uid(77), append(again.Dirs[:0:0], dirs...)
		c.now += kafka.Instant(wait - 1)
		refused(t, RegisterBroker(c.img, c.soft, c.now, again).Err, kerr.DuplicateBrokerRegistration)
		c.now++
		do(c, RegisterBroker(c.img, c.soft, c.now, again))
	}
	same := registration(1, 1).Dirs
	other := kafka.DirID(uid(78))
	f(same, 9*time.Second/2)
	f([]kafka.DirID{other}, 9*time.Second)
	f(append([]kafka.DirID{other}, same...), 9*time.Second)
}

// Rule: a broker that was let go may come back at once, with any directories; one that
// has thought better of it since is waited for as ever.
func TestABrokerThatWasLetGoIsNotWaitedFor(t *testing.T) {
	f := func(refusal kerr.Code, beats ...bool) {
		t.Helper()
		c := newCluster(t)
		c.brokers(1)
		for _, leaving := range beats {
			b := c.broker(1)
			got := do(c, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 1, Epoch: b.Epoch, MetadataOffset: 1 << 40, WantShutDown: leaving}))
			if got.ShutDown != leaving {
				t.Fatalf("a heartbeat is answered with %+v", got)
			}
		}
		again := registration(1, 1)
		again.Incarnation, again.Dirs = uid(77), []kafka.DirID{kafka.DirID(uid(78))}
		got := RegisterBroker(c.img, c.soft, c.now, again)
		if refusal != kerr.None {
			refused(t, got.Err, refusal)
			return
		}
		do(c, got)
	}
	f(kerr.DuplicateBrokerRegistration)
	f(kerr.None, true)
	f(kerr.None, false, true)
	f(kerr.DuplicateBrokerRegistration, true, false)
}

// Rule: a copy of a broker's directories never takes the place of a broker that
// beats.
func TestACopyOfABrokersDirectoriesWaitsWhileTheBrokerBeats(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	again := registration(1, 1)
	again.Incarnation = uid(77)
	for range 20 {
		c.now += kafka.Instant(2 * time.Second)
		refused(t, RegisterBroker(c.img, c.soft, c.now, again).Err, kerr.DuplicateBrokerRegistration)
		do(c, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 1, Epoch: c.broker(1).Epoch, MetadataOffset: 1 << 40}))
	}
}

func TestABrokerOfTheControllersOwnProcessNeedNotWait(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	again := registration(1, 1)
	again.Incarnation, again.SameProcess = uid(77), true
	do(c, RegisterBroker(c.img, c.soft, c.now, again))
	if b := c.broker(1); b.Incarnation != uid(77) || !b.Fenced {
		t.Errorf("became %+v", b)
	}
}

func TestANewIncarnationLeavesItsISRs(t *testing.T) {
	f := func(elr bool, previous func(*image.Broker) kafka.BrokerEpoch, want string) {
		t.Helper()
		c := newCluster(t)
		if elr {
			c.elr()
		}
		c.brokers(1, 2)
		c.topic("a", "1,2", minInsyncKey+"=2")
		again := registration(1, 1)
		again.Incarnation, again.PreviousEpoch = uid(77), previous(c.broker(1))
		c.now += kafka.Instant(time.Hour)
		d := RegisterBroker(c.img, c.soft, c.now, again)
		wrote(t, d.Records, "PartitionChange", "RegisterBroker")
		do(c, d)
		c.expect("a", 0, want)
	}
	clean := func(b *image.Broker) kafka.BrokerEpoch { return b.Epoch }
	unclean := func(*image.Broker) kafka.BrokerEpoch { return kafka.NoBrokerEpoch }
	f(false, unclean, "leader=2@1 isr=2")
	f(true, clean, "leader=2@1 isr=2 elr=1")
	// KIP-966: a broker that lost its disk cache holds nothing it promised.
	f(true, unclean, "leader=2@1 isr=2")
}

func TestPlacementsAreWrittenWhereNotAllControllersKnowTheRule(t *testing.T) {
	// KIP-858: one directory becomes several.
	f := func(controllers []bool, want ...string) {
		t.Helper()
		c := newCluster(t)
		for n, knows := range controllers {
			r := &metarec.RegisterControllerRecord{ControllerId: int32(n)}
			if knows {
				r.Features = []metarec.RegisterControllerRecordControllerFeature{{Name: image.DirsFeature, MaxSupportedVersion: 1}}
			}
			c.add(r)
		}
		c.fenced(1)
		id := uid(500)
		p := metarec.NewPartitionRecord()
		p.TopicId, p.PartitionId, p.Replicas, p.LeaderEpoch, p.PartitionEpoch = id, 0, []int32{1}, 0, 0
		c.add(&metarec.TopicRecord{Name: "a", TopicId: id}, p)
		again := registration(1, 2)
		again.Incarnation = uid(78)
		d := RegisterBroker(c.img, c.soft, c.now, again)
		wrote(t, d.Records, want...)
		do(c, d)
		if dir, _ := c.partition("a", 0).DirOf(1); dir != uid(11) {
			t.Errorf("the replica is in %v", dir)
		}
	}
	f(nil, "PartitionChange", "RegisterBroker")
	f([]bool{true, false}, "PartitionChange", "RegisterBroker")
	f([]bool{true, true}, "RegisterBroker")
}

func TestHeartbeatsOfStrangersAreStale(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	refused(t, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 2}).Err, kerr.StaleBrokerEpoch, "2")
	refused(t, Heartbeat(c.img, c.soft, c.now, Beat{Broker: 1, Epoch: 999}).Err, kerr.StaleBrokerEpoch, "999")
}

func TestABrokerIsUnfencedOnceItHasSeenItsRegistration(t *testing.T) {
	// KAFKA-13959: the registration's own offset, not the log's end.
	c := newCluster(t)
	c.fenced(1)
	c.add(&metarec.NoOpRecord{}, &metarec.NoOpRecord{})
	behind := func(b *Beat) { b.MetadataOffset = c.broker(1).RecordOffset - 1 }
	if r := c.beat(1, behind); r.CaughtUp || !r.Fenced {
		t.Errorf("behind: %+v", r)
	}
	at := func(b *Beat) { b.MetadataOffset = c.broker(1).RecordOffset }
	if r := c.beat(1, at, wantFence); !r.CaughtUp || !r.Fenced || !c.broker(1).Fenced {
		t.Errorf("wants to be fenced: %+v", r)
	}
	if r := c.beat(1, at); !r.CaughtUp || r.Fenced || c.broker(1).Fenced {
		t.Errorf("caught up: %+v", r)
	}
	if r := c.beat(1, at, wantFence); !r.Fenced || !c.broker(1).Fenced {
		t.Errorf("wants to be fenced again: %+v", r)
	}
	if r := c.beat(1, at, wantShutDown); !r.Fenced || !r.ShutDown {
		t.Errorf("fenced and leaving: %+v", r)
	}
}

func TestFencingMovesLeadersAndUnfencingBringsThemBack(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1,2")
	c.topic("b", "1")
	c.beat(1, wantFence)
	c.expect("a", 0, "leader=2@1 isr=2")
	c.expect("b", 0, "leader=-1@1 isr=1") // the last one stays in the ISR
	c.beat(1)
	c.expect("a", 0, "leader=2@1 isr=2")
	c.expect("b", 0, "leader=1@2 isr=1")
}

func TestControlledShutdownWaitsUntilTheOthersKnow(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1,2")
	seen := c.img.NextOffset() - 1
	if r := c.beat(1, wantShutDown); r.ShutDown || r.Fenced || !c.broker(1).ShuttingDown {
		t.Errorf("first: %+v", r)
	}
	c.expect("a", 0, "leader=2@1 isr=2")
	at := c.soft.Live.beats[1].shutdownAt
	if at != c.img.NextOffset()-1 {
		t.Errorf("waits for offset %d, the last record is at %d", at, c.img.NextOffset()-1)
	}
	c.beat(2, func(b *Beat) { b.MetadataOffset = seen })
	if r := c.beat(1, wantShutDown); r.ShutDown || c.soft.Live.beats[1].shutdownAt != at {
		t.Errorf("before broker 2 knows: %+v, waits for %d", r, c.soft.Live.beats[1].shutdownAt) // KAFKA-14292
	}
	c.beat(2, func(b *Beat) { b.MetadataOffset = at })
	if r := c.beat(1, wantShutDown); !r.ShutDown || !r.Fenced || !c.broker(1).Fenced {
		t.Errorf("after broker 2 knows: %+v", r)
	}
}

func TestABrokerThatLeadsNothingMayEndAtOnce(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	if r := c.beat(1, wantShutDown); !r.ShutDown || !c.broker(1).Fenced {
		t.Errorf("got %+v", r)
	}
}

func TestTheLastBrokerMayEndWithLeaderlessPartitions(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("a", "1")
	if r := c.beat(1, wantShutDown); r.ShutDown {
		t.Errorf("first: %+v", r)
	}
	c.expect("a", 0, "leader=-1@1 isr=1")
	if r := c.beat(1, wantShutDown); !r.ShutDown {
		t.Errorf("second: %+v", r)
	}
}

// twoDirs registers broker n with two directories.
func (c *cluster) twoDirs(n int, features ...image.VersionRange) {
	c.t.Helper()
	r := registration(n, 2)
	r.Features = append(r.Features[:2:2], features...)
	do(c, RegisterBroker(c.img, c.soft, c.now, r))
}

func (c *cluster) assign(broker, partition, dir int) error {
	c.t.Helper()
	return do(c, AssignReplicasToDirs(c.img, c.soft, DirsToAssign{
		Broker: kafka.NodeID(broker), Epoch: c.broker(broker).Epoch,
		Assignments: []DirAssignment{{c.tp("a", partition), uid(dir)}},
	}))[0]
}

func TestABrokerWithSeveralDirectoriesIsFencedUntilAllReplicasArePlaced(t *testing.T) {
	// KIP-858: fenced until the controller knows and has persisted every place.
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2, image.VersionRange{Name: image.DirsFeature, Max: 1})
	c.topic("a", "1,2 1,2")
	c.now += kafka.Instant(time.Hour) // ours is held without limit
	if r := c.beat(2); !r.Fenced || r.Unplaced != 2 {
		t.Errorf("two unplaced: %+v", r)
	}
	c.assign(2, 0, 21)
	if r := c.beat(2); !r.Fenced || r.Unplaced != 1 {
		t.Errorf("one unplaced: %+v", r)
	}
	c.assign(2, 1, 22)
	if r := c.beat(2); r.Fenced || r.Unplaced != 0 {
		t.Errorf("all placed: %+v", r)
	}
}

func TestABrokerOfOtherSoftwareIsHeldForAWhileOnly(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.topic("a", "1,2")
	if r := c.beat(2); !r.Fenced {
		t.Errorf("at first: %+v", r)
	}
	c.now += kafka.Instant(30*time.Second - 1)
	if r := c.beat(2); !r.Fenced {
		t.Errorf("just before the end: %+v", r)
	}
	c.now++
	if r := c.beat(2); r.Fenced || r.Unplaced != 1 {
		t.Errorf("at the end: %+v", r)
	}
}

func TestPartitionsOfALostDirectoryGetAnotherLeader(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "2,1 2,1")
	c.assign(2, 0, 21)
	c.assign(2, 1, 22)
	c.beat(2, func(b *Beat) { b.OfflineDirs = dirs(21) })
	c.expect("a", 0, "leader=1@1 isr=1")
	c.expect("a", 1, "leader=2@0 isr=2,1")
}

func TestALostDirectoryCostsItsPartitionsAndNoOthers(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "2,1 2,1 2,1")
	c.assign(2, 0, 21)
	c.assign(2, 1, 22)
	c.assign(2, 2, 21)
	c.beat(1, wantFence) // broker 2 is the last one in sync
	c.beat(1)
	lost := func(b *Beat) { b.OfflineDirs = dirs(21) }
	c.beat(2, lost)
	c.expect("a", 0, "leader=-1@1 isr=2")
	c.expect("a", 1, "leader=2@0 isr=2")
	c.expect("a", 2, "leader=-1@1 isr=2")
	if !slices.Equal(c.broker(2).Dirs, dirs(22)) {
		t.Errorf("registered are %v", c.broker(2).Dirs)
	}
	end := c.img.NextOffset()
	if c.beat(2, lost); c.img.NextOffset() != end {
		t.Error("the same heartbeat again wrote something")
	}
}

// A directory that comes back without a restart is in an amended registration. What
// waited for it is led again; who has another leader is not touched.
func TestADirectoryThatReturnsBringsItsLastReplicasBack(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "2,1 2,1")
	c.assign(2, 0, 21)
	c.assign(2, 1, 21)
	c.beat(1, wantFence)
	c.beat(2, func(b *Beat) { b.OfflineDirs = dirs(21) })
	c.expect("a", 0, "leader=-1@1 isr=2")
	epoch := c.broker(2).Epoch
	do(c, RegisterBroker(c.img, c.soft, c.now, registration(2, 2)))
	if b := c.broker(2); b.Epoch != epoch || b.Fenced || !slices.Equal(b.Dirs, dirs(21, 22)) {
		t.Errorf("%+v", b)
	}
	c.expect("a", 0, "leader=2@2 isr=2")
}

// A registration that is amended may be the first to lack a directory: then no heartbeat
// tells of it any more, as it is not registered.
func TestADirectoryLostWithAnAmendedRegistrationIsNotLedFrom(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "2,1 2,1 1,2")
	c.assign(2, 0, 21)
	c.assign(2, 1, 22)
	c.assign(2, 2, 21)
	amended := registration(2, 2)
	amended.Dirs = dirs(22)
	do(c, RegisterBroker(c.img, c.soft, c.now, amended))
	c.expect("a", 0, "leader=1@1 isr=1")
	c.expect("a", 1, "leader=2@0 isr=2,1")
	c.expect("a", 2, "leader=1@0 isr=1")
}

func TestADirectoryLostWithTheUnfencingHeartbeatIsNotLedFrom(t *testing.T) {
	// The order trap: unfencing first would elect a leader on a dead disk.
	c := newCluster(t)
	c.twoDirs(1)
	c.beat(1)
	c.topic("a", "1")
	c.assign(1, 0, 11)
	c.beat(1, wantFence)
	c.expect("a", 0, "leader=-1@1 isr=1")
	c.beat(1, func(b *Beat) { b.OfflineDirs = dirs(11) })
	if c.broker(1).Fenced {
		t.Error("still fenced")
	}
	c.expect("a", 0, "leader=-1@1 isr=1")
}

func TestCordonedDirectoriesAreRecordedWhenTheyDiffer(t *testing.T) {
	c := newCluster(t)
	c.twoDirs(1)
	c.beat(1)
	f := func(cordoned []kafka.DirID, want ...string) {
		t.Helper()
		b := Beat{Broker: 1, Epoch: c.broker(1).Epoch, MetadataOffset: 1 << 40, Cordoned: cordoned}
		d := Heartbeat(c.img, c.soft, c.now, b)
		wrote(t, d.Records, want...)
		do(c, d)
	}
	f(nil)
	f([]kafka.DirID{}, "BrokerRegistrationChange")
	f([]kafka.DirID{})
	f(dirs(12, 11), "BrokerRegistrationChange")
	f(dirs(11, 12))
	if !c.broker(1).AllCordoned() {
		t.Error("not all are cordoned")
	}
}

func TestASilentBrokerIsFencedAtItsSessionsEnd(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2, 3)
	c.topic("a", "1,2,3")
	c.now += kafka.Instant(5 * time.Second)
	c.beat(2)
	if at := c.soft.Live.Deadline(9 * time.Second); at != kafka.Instant(9*time.Second) {
		t.Errorf("deadline %d", at)
	}
	c.now = kafka.Instant(9*time.Second - 1)
	if r := do(c, Expire(c.img, c.soft, c.now)); r.Broker != kafka.NoNode || r.More {
		t.Errorf("too early: %+v", r)
	}
	c.now++
	first := do(c, Expire(c.img, c.soft, c.now))
	second := do(c, Expire(c.img, c.soft, c.now))
	third := do(c, Expire(c.img, c.soft, c.now))
	if first.Broker != 1 || second.Broker != 3 || third.Broker != kafka.NoNode || !second.More || third.More {
		t.Errorf("fenced %+v, %+v, %+v", first, second, third)
	}
	c.expect("a", 0, "leader=2@1 isr=2")
}

func TestAfterAFailoverUnfencedBrokersGetANewSession(t *testing.T) {
	// KAFKA-18138 and KAFKA-19130: unfenced ones are watched, fenced ones not.
	c := newCluster(t)
	c.brokers(1)
	c.fenced(2)
	c.soft = NewSoft(settings(), c.soft.Rand)
	c.now = kafka.Instant(time.Hour)
	d := Activate(c.img, c.soft, c.now, nil)
	wrote(t, d.Records)
	do(c, d)
	again := registration(2, 1)
	again.Incarnation = uid(99)
	do(c, RegisterBroker(c.img, c.soft, c.now, again))
	c.now += kafka.Instant(9 * time.Second)
	if r := do(c, Expire(c.img, c.soft, c.now)); r.Broker != 1 {
		t.Errorf("fenced %+v", r)
	}
}

func TestUnregisteringLeavesNothingBehind(t *testing.T) {
	c := newCluster(t)
	c.elr()
	c.brokers(1, 2)
	c.topic("a", "1,2", minInsyncKey+"=2")
	refused(t, UnregisterBroker(c.img, c.soft, 3).Err, kerr.BrokerIdNotRegistered, "3")
	do(c, UnregisterBroker(c.img, c.soft, 1))
	c.expect("a", 0, "leader=2@1 isr=2")
	if _, ok := c.img.Broker(1); ok {
		t.Error("broker 1 is still registered")
	}
}
