package controller

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// parse reads what text writes, with replicas=, min= and the like beside.
func parse(t *testing.T, s string) *image.Partition {
	t.Helper()
	p := &image.Partition{Leader: kafka.NoNode}
	for _, word := range splitWords(s) {
		ids := nodeList(word.value)
		switch word.name {
		case "replicas":
			p.Replicas = ids
			p.Dirs = make([]kafka.DirID, len(ids))
		case "isr":
			p.ISR = ids
		case "elr":
			p.ELR = ids
		case "last":
			p.LastELR = ids
		case "adding":
			p.Adding = ids
		case "removing":
			p.Removing = ids
		case "leader":
			if len(ids) == 1 {
				p.Leader = ids[0]
			}
		case "recovering":
			p.Recovery = image.Recovering
		default:
			t.Fatalf("what is %q", word.name)
		}
	}
	return p
}

func TestPartitionChanges(t *testing.T) {
	type setup struct {
		level  image.Level
		active []kafka.NodeID
		how    election
		min    int
		elr    bool
		isr    []kafka.NodeID // target, if not nil
		lost   []kafka.NodeID
		to     []kafka.NodeID // target replicas, if not nil
	}
	f := func(from string, s setup, want string) {
		t.Helper()
		p := parse(t, from)
		if s.level == 0 {
			s.level = image.LatestLevel
		}
		c := &partitionChange{
			old: p, level: s.level, election: s.how, minISR: max(s.min, 1), elr: s.elr, lost: s.lost,
			acceptable: func(n kafka.NodeID) bool { return slices.Contains(s.active, n) },
			replicas:   p.Replicas, isr: p.ISR, adding: p.Adding, removing: p.Removing, eligible: p.ELR, recovery: p.Recovery,
			newDir: func(kafka.NodeID) kafka.DirID { return kafka.DirUnassigned },
		}
		if s.isr != nil {
			c.isr = s.isr
		}
		if s.to != nil {
			c.replicas, c.removing = slices.Concat(s.to, except(p.Replicas, s.to...)), except(p.Replicas, s.to...)
		}
		r := c.build()
		if r == nil {
			if want != "nothing" {
				t.Errorf("nothing changes, want %q", want)
			}
			return
		}
		next, err := p.With(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(next); got != want {
			t.Errorf("became %q, want %q", got, want)
		}
	}
	n := nodeList
	three := "replicas=1,2,3 isr=1,2,3 leader=1"

	f(three, setup{active: n("1,2,3"), how: online}, "nothing")
	f(three, setup{active: n("2,3"), how: online, isr: n("2,3")}, "leader=2@1 isr=2,3")
	f(three, setup{active: n("1,3"), how: online, isr: n("1,3")}, "leader=1@0 isr=1,3")
	// Before 3.6-IV0 a shrinking ISR raised the leader epoch (KAFKA-15021).
	f(three, setup{level: 11, active: n("1,3"), how: online, isr: n("1,3")}, "leader=1@1 isr=1,3")
	// The election takes the replicas' order, not the ISR's.
	f("replicas=3,2,1 isr=1,2,3 leader=9", setup{active: n("1,2,3"), how: online}, "leader=3@1 isr=1,2,3")
	// The last member stays in the ISR where no ELR is kept.
	f("replicas=1,2 isr=1 leader=1", setup{active: n("2"), how: online, isr: []kafka.NodeID{}}, "leader=-1@1 isr=1")
	// An unclean election makes the leader recover, alone.
	f("replicas=1,2 isr=1 leader=1", setup{active: n("2"), how: unclean, isr: []kafka.NodeID{}}, "leader=2@1 isr=2 recovering")

	f("replicas=1,2,3 isr=1,2,3 leader=2", setup{active: n("1,2,3"), how: preferred}, "leader=1@1 isr=1,2,3")
	f("replicas=1,2,3 isr=2,3 leader=2", setup{active: n("1,2,3"), how: preferred}, "nothing")
	f("replicas=1,2,3 isr=2,3 leader=-", setup{active: n("3"), how: preferred}, "leader=3@1 isr=2,3")

	// KIP-966. Who leaves an ISR that is too small still holds all.
	f(three, setup{active: n("1,2"), how: online, min: 3, elr: true, isr: n("1,2")}, "leader=1@0 isr=1,2 elr=3")
	f(three, setup{active: n("1,2"), how: online, min: 2, elr: true, isr: n("1,2")}, "leader=1@0 isr=1,2")
	f(three, setup{active: n("1,2"), how: online, min: 3, elr: true, isr: n("1,2"), lost: n("3")}, "leader=1@0 isr=1,2")
	// The ISR may become empty; the ELR then elects cleanly.
	f("replicas=1,2 isr=1 elr=2 leader=1", setup{how: online, min: 2, elr: true, isr: []kafka.NodeID{}},
		"leader=-1@1 isr= elr=1,2 last=1")
	f("replicas=1,2 isr=- elr=1,2 last=1 leader=-", setup{active: n("2"), how: online, min: 2, elr: true},
		"leader=2@1 isr=2 elr=1")
	f("replicas=1,2 isr=1 elr=2 leader=1", setup{active: n("1,2"), how: online, min: 2, elr: true, isr: n("1,2")},
		"leader=1@0 isr=1,2")
	// Without ISR and ELR the last leader may lead again, uncleanly, if it is
	// there (KAFKA-19522).
	f("replicas=1,2 isr=- last=1 leader=-", setup{active: n("1,2"), how: online, min: 2, elr: true},
		"leader=1@1 isr=1 recovering")
	f("replicas=1,2 isr=- last=1 leader=-", setup{active: n("2"), how: online, min: 2, elr: true}, "nothing")

	// Who is no replica any more holds nothing and cannot lead again.
	f(three, setup{active: n("1,2,3"), how: online, min: 3, elr: true, to: n("1")}, "leader=1@1 isr=1")
	f("replicas=1,2 isr=1 elr=2 leader=1", setup{active: n("1"), how: online, min: 2, elr: true, to: n("1")}, "leader=1@1 isr=1")
	f("replicas=1 isr=- last=2 leader=-", setup{active: n("1,2"), how: online, min: 2, elr: true}, "leader=-1@0 isr=")

	// Reassignments complete when what they wait for is in sync.
	moving := "replicas=4,2,3,1 isr=1,2,3 adding=4 removing=1 leader=1"
	f(moving, setup{active: n("1,2,3,4"), how: online}, "nothing")
	f(moving, setup{active: n("1,2,3,4"), how: online, isr: n("1,2,3,4")}, "leader=4@1 isr=2,3,4")
	// KAFKA-19975: a replica that is not part of the move does not block it.
	f("replicas=4,2,3,1 isr=1,2 adding=4 removing=1 leader=2", setup{active: n("1,2,4"), how: online, isr: n("1,2,4")},
		"leader=2@1 isr=2,4")
	// A set that shrinks waits for all that stay.
	f("replicas=2,3,1 isr=1,2 removing=1 leader=1", setup{active: n("1,2"), how: online, isr: n("1,2")}, "nothing")
	f("replicas=2,3,1 isr=1,2 removing=1 leader=1", setup{active: n("1,2,3"), how: online, isr: n("1,2,3")}, "leader=2@1 isr=2,3")
}

type word struct{ name, value string }

func splitWords(s string) []word {
	var out []word
	for len(s) > 0 {
		w := s
		if i := slices.Index([]byte(s), ' '); i >= 0 {
			w, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		name, value := w, ""
		if i := slices.Index([]byte(w), '='); i >= 0 {
			name, value = w[:i], w[i+1:]
		}
		out = append(out, word{name, value})
	}
	return out
}

func TestAlterPartition(t *testing.T) {
	type wish struct {
		topic                 string
		n                     int
		leaderEpoch, epoch    int
		isr                   string
		recovery              image.Recovery
		sender                int
		otherEpochOfTheMember bool
	}
	f := func(w wish, code kerr.Code, want string) {
		t.Helper()
		c := newCluster(t)
		c.brokers(1, 2, 3)
		c.topic("a", "1,2,3")
		c.beat(3, wantFence) // a-0: leader 1, ISR 1,2, partition epoch 1
		if w.sender == 0 {
			w.sender = 1
		}
		tp := kafka.TopicIDPartition{Topic: uid(404), Partition: kafka.PartitionID(w.n)}
		if w.topic == "" {
			tp.Topic = c.tp("a", 0).Topic
		}
		req := NewISR{Partition: tp, LeaderEpoch: kafka.Epoch(w.leaderEpoch), PartitionEpoch: int32(w.epoch), Recovery: w.recovery}
		for _, n := range nodeList(w.isr) {
			m := Member{n, kafka.NoBrokerEpoch}
			if b, ok := c.img.Broker(n); ok {
				m.Epoch = b.Epoch
			}
			if w.otherEpochOfTheMember {
				m.Epoch++
			}
			req.ISR = append(req.ISR, m)
		}
		d := AlterPartition(c.img, c.soft, ISRsToAlter{
			Broker: kafka.NodeID(w.sender), Epoch: c.broker(w.sender).Epoch, Partitions: []NewISR{req},
		})
		got := do(c, d)[0]
		refused(t, got.Err, code)
		if code == kerr.None && text(got.State) != want {
			t.Errorf("answered %q, want %q", text(got.State), want)
		}
		if code != kerr.None {
			wrote(t, d.Records)
		}
	}
	f(wish{topic: "none", isr: "1"}, kerr.UnknownTopicId, "")
	f(wish{n: 7, isr: "1"}, kerr.UnknownTopicOrPartition, "")
	f(wish{leaderEpoch: 1, epoch: 1, isr: "1"}, kerr.NotController, "") // KAFKA-14154
	f(wish{epoch: 2, isr: "1"}, kerr.NotController, "")
	f(wish{leaderEpoch: -1, epoch: 1, isr: "1"}, kerr.FencedLeaderEpoch, "")
	f(wish{epoch: 1, isr: "2", sender: 2}, kerr.InvalidRequest, "")
	f(wish{epoch: 0, isr: "1"}, kerr.InvalidUpdateVersion, "")
	f(wish{epoch: 1, isr: ""}, kerr.InvalidRequest, "")
	f(wish{epoch: 1, isr: "2"}, kerr.InvalidRequest, "")
	f(wish{epoch: 1, isr: "1,1"}, kerr.InvalidRequest, "")
	f(wish{epoch: 1, isr: "1,9"}, kerr.InvalidRequest, "")
	f(wish{epoch: 1, isr: "1", recovery: image.Recovering}, kerr.InvalidRequest, "")
	f(wish{epoch: 1, isr: "1,2", recovery: image.Recovering}, kerr.InvalidRequest, "")
	// KIP-841: a fenced broker does not rejoin; KIP-903: nor one that restarted.
	f(wish{epoch: 1, isr: "1,2,3"}, kerr.IneligibleReplica, "")
	f(wish{epoch: 1, isr: "1,2", otherEpochOfTheMember: true}, kerr.IneligibleReplica, "")
	f(wish{epoch: 1, isr: "1"}, kerr.None, "leader=1@0 isr=1")
	f(wish{epoch: 1, isr: "1,2"}, kerr.None, "leader=1@0 isr=1,2") // nothing changes

	c := newCluster(t)
	c.brokers(1)
	refused(t, AlterPartition(c.img, c.soft, ISRsToAlter{Broker: 1, Epoch: 999}).Err, kerr.StaleBrokerEpoch)
}

// A follower in a directory that has failed does not rejoin, though its broker lives and
// the leader has not heard of it yet; it does when the directory is back.
func TestAReplicaInALostDirectoryDoesNotJoinTheISR(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "1,2")
	c.assign(2, 0, 21)
	join := func(code kerr.Code) {
		t.Helper()
		p := c.partition("a", 0)
		got := do(c, AlterPartition(c.img, c.soft, ISRsToAlter{Broker: 1, Epoch: c.broker(1).Epoch, Partitions: []NewISR{{
			Partition: c.tp("a", 0), LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch,
			ISR: []Member{{1, c.broker(1).Epoch}, {2, c.broker(2).Epoch}},
		}}}))
		refused(t, got[0].Err, code)
	}
	c.beat(2, func(b *Beat) { b.OfflineDirs = dirs(21) })
	c.expect("a", 0, "leader=1@0 isr=1")
	join(kerr.IneligibleReplica)
	do(c, RegisterBroker(c.img, c.soft, c.now, registration(2, 2)))
	join(kerr.None)
	c.expect("a", 0, "leader=1@0 isr=1,2")
}

func TestALeaderThatIsMovedAwayLearnsSo(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1")
	move(c, "a", nodeList("2"), kerr.None)
	p := c.partition("a", 0)
	wish := NewISR{Partition: c.tp("a", 0), LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch,
		ISR: []Member{{1, kafka.NoBrokerEpoch}, {2, kafka.NoBrokerEpoch}}}
	got := do(c, AlterPartition(c.img, c.soft, ISRsToAlter{Broker: 1, Epoch: c.broker(1).Epoch, Partitions: []NewISR{wish}}))
	refused(t, got[0].Err, kerr.NewLeaderElected)
	c.expect("a", 0, "leader=2@1 isr=2")
}

func TestElectLeaders(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1,2 2,1")
	c.topic("b", "1")
	c.beat(1, wantFence)
	tp := func(topic string, n int) kafka.TopicPartition {
		return kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)}
	}
	f := func(p kafka.TopicPartition, isUnclean bool, code kerr.Code) {
		t.Helper()
		d := ElectLeaders(c.img, c.soft, LeadersToElect{Unclean: isUnclean, Partitions: []kafka.TopicPartition{p}})
		refused(t, d.Reply[0].Err, code)
		if code != kerr.None {
			wrote(t, d.Records)
		}
	}
	f(tp("x", 0), false, kerr.UnknownTopicOrPartition)
	f(tp("a", 9), false, kerr.UnknownTopicOrPartition)
	f(tp("a", 1), false, kerr.ElectionNotNeeded)
	f(tp("a", 0), false, kerr.PreferredLeaderNotAvailable)
	f(tp("a", 0), true, kerr.ElectionNotNeeded)
	f(tp("b", 0), true, kerr.EligibleLeadersNotAvailable)

	c.add(&metarec.BrokerRegistrationChangeRecord{BrokerId: 1, BrokerEpoch: int64(c.broker(1).Epoch), Fenced: -1})
	p := c.partition("a", 0)
	wish := NewISR{Partition: c.tp("a", 0), LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch,
		ISR: []Member{{2, kafka.NoBrokerEpoch}, {1, kafka.NoBrokerEpoch}}}
	do(c, AlterPartition(c.img, c.soft, ISRsToAlter{Broker: 2, Epoch: c.broker(2).Epoch, Partitions: []NewISR{wish}}))
	all := do(c, ElectLeaders(c.img, c.soft, LeadersToElect{}))
	if len(all) != 2 || all[0].Err != nil || all[1].Err != nil {
		t.Errorf("of all: %+v", all)
	}
	c.expect("a", 0, "leader=1@2 isr=2,1")
	c.expect("b", 0, "leader=1@2 isr=1")
}

func TestUncleanElectionsHappenWhereTheTopicAllowsThem(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("safe", "1,2")
	c.topic("loose", "1,2", uncleanElectionKey+"=true")
	c.beat(2, wantFence)
	c.beat(1, wantFence)
	c.expect("safe", 0, "leader=-1@1 isr=1")
	c.beat(2)
	c.expect("safe", 0, "leader=-1@1 isr=1")
	c.expect("loose", 0, "leader=2@2 isr=2 recovering")

	// The periodic run finds topics that were allowed to later on.
	value := "true"
	c.add(image.ConfigRecord(image.TopicOf("safe"), uncleanElectionKey, &value))
	if r := do(c, ElectUnclean(c.img, c.soft)); r.Elections != 1 || r.More {
		t.Errorf("elected %+v", r)
	}
	c.expect("safe", 0, "leader=2@2 isr=2 recovering")
}

func TestBalancingGivesLeadershipsBack(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1,2 1,2")
	c.beat(1, wantFence)
	c.beat(1)
	for n := range 2 {
		p := c.partition("a", n)
		wish := NewISR{Partition: c.tp("a", n), LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch,
			ISR: []Member{{2, kafka.NoBrokerEpoch}, {1, kafka.NoBrokerEpoch}}}
		do(c, AlterPartition(c.img, c.soft, ISRsToAlter{Broker: 2, Epoch: c.broker(2).Epoch, Partitions: []NewISR{wish}}))
	}
	if r := do(c, Balance(c.img, c.soft)); r.Elections != 2 || r.More {
		t.Errorf("balanced %+v", r)
	}
	c.expect("a", 0, "leader=1@2 isr=2,1")
}

func move(c *cluster, topic string, to []kafka.NodeID, code kerr.Code, words ...string) {
	c.t.Helper()
	want := Reassignment{kafka.TopicPartition{Topic: topic}, to}
	d := AlterReassignments(c.img, c.soft, ReassignmentsToAlter{Partitions: []Reassignment{want}})
	refused(c.t, d.Reply[0].Err, code, words...)
	do(c, d)
}

func TestReassignments(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2, 3)
	c.fenced(4)
	c.topic("a", "1,2,3")
	move(c, "x", nodeList("1"), kerr.UnknownTopicOrPartition, `"x"`)
	move(c, "a", nil, kerr.NoReassignmentInProgress)
	move(c, "a", []kafka.NodeID{}, kerr.InvalidReplicaAssignment, "empty")
	move(c, "a", nodeList("1,9"), kerr.InvalidReplicaAssignment, "broker 9")

	move(c, "a", nodeList("4,2,3"), kerr.None) // fenced brokers are allowed
	c.expect("a", 0, "leader=1@0 isr=1,2,3 adding=4 removing=1")
	if got := c.partition("a", 0).Replicas; !slices.Equal(got, nodeList("4,2,3,1")) {
		t.Errorf("replicas %v", got)
	}
	// Going back to the original set completes: both lists are always written.
	move(c, "a", nodeList("1,2,3"), kerr.None)
	c.expect("a", 0, "leader=1@1 isr=1,2,3")

	move(c, "a", nodeList("4,2,3"), kerr.None)
	move(c, "a", nil, kerr.None)
	c.expect("a", 0, "leader=1@2 isr=1,2,3")
	if got := c.partition("a", 0).Replicas; !slices.Equal(got, nodeList("2,3,1")) {
		t.Errorf("replicas after the cancel: %v", got)
	}
	// Only fewer, all in sync: done in one record.
	move(c, "a", nodeList("2,3"), kerr.None)
	c.expect("a", 0, "leader=2@3 isr=2,3")

	d := AlterReassignments(c.img, c.soft, ReassignmentsToAlter{
		KeepFactor: true, Partitions: []Reassignment{{kafka.TopicPartition{Topic: "a"}, nodeList("1")}},
	})
	refused(t, d.Reply[0].Err, kerr.InvalidReplicationFactor, "2", "1") // KIP-860
}

func TestAssignReplicasToDirs(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "2,1")
	c.topic("b", "1")
	assign := func(tp kafka.TopicIDPartition, dir kafka.DirID) Decision[[]error] {
		return AssignReplicasToDirs(c.img, c.soft, DirsToAssign{
			Broker: 2, Epoch: c.broker(2).Epoch, Assignments: []DirAssignment{{tp, dir}},
		})
	}
	f := func(tp kafka.TopicIDPartition, dir kafka.DirID, code kerr.Code, want ...string) {
		t.Helper()
		d := assign(tp, dir)
		refused(t, d.Reply[0], code)
		wrote(t, d.Records, want...)
		do(c, d)
	}
	f(kafka.TopicIDPartition{Topic: uid(404)}, uid(21), kerr.UnknownTopicId)
	f(c.tp("a", 7), uid(21), kerr.UnknownTopicOrPartition)
	f(c.tp("b", 0), uid(21), kerr.NotLeaderOrFollower)
	f(c.tp("a", 0), uid(21), kerr.None, "PartitionChange")
	f(c.tp("a", 0), uid(21), kerr.None) // known already
	c.expect("a", 0, "leader=2@0 isr=2,1")
	if p := c.partition("a", 0); p.Epoch != 1 || p.Dirs[0] != uid(21) || p.Dirs[1] != uid(11) {
		t.Errorf("epoch %d, directories %v", p.Epoch, p.Dirs)
	}
	// A directory nobody registered counts as offline: the replica leaves.
	f(c.tp("a", 0), uid(99), kerr.None, "PartitionChange", "PartitionChange")
	c.expect("a", 0, "leader=1@1 isr=1")
	f(c.tp("a", 0), kafka.DirLost, kerr.None, "PartitionChange")

	stale := AssignReplicasToDirs(c.img, c.soft, DirsToAssign{Broker: 2, Epoch: 999})
	refused(t, stale.Err, kerr.StaleBrokerEpoch, "999")
}

func TestAPartitionNamedTwiceTakesTheLastDirectory(t *testing.T) {
	c := newCluster(t)
	c.twoDirs(2)
	c.beat(2)
	c.topic("a", "2")
	d := AssignReplicasToDirs(c.img, c.soft, DirsToAssign{
		Broker: 2, Epoch: c.broker(2).Epoch, Assignments: []DirAssignment{{c.tp("a", 0), uid(21)}, {c.tp("a", 0), uid(22)}},
	})
	do(c, d)
	if dir, _ := c.partition("a", 0).DirOf(2); dir != uid(22) {
		t.Errorf("in %v", dir)
	}
}
