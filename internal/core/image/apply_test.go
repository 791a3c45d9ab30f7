package image

import (
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
)

func after(t testing.TB, img *Image, recs ...metarec.Message) *Image {
	t.Helper()
	next, _, err := Apply(img, recs)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func level(l Level) *metarec.FeatureLevelRecord {
	return &metarec.FeatureLevelRecord{Name: MetadataVersion, FeatureLevel: int16(l)}
}

func topic(name string, n int) *metarec.TopicRecord {
	return &metarec.TopicRecord{Name: name, TopicId: id(n)}
}

func partition(topic, n int, replicas ...int32) *metarec.PartitionRecord {
	r := metarec.NewPartitionRecord()
	r.TopicId, r.PartitionId = id(topic), int32(n)
	r.Replicas, r.Isr, r.Leader, r.LeaderEpoch, r.PartitionEpoch = replicas, replicas, replicas[0], 0, 0
	return r
}

func broker(n int32, epoch int64, dirs ...int) *metarec.RegisterBrokerRecord {
	r := metarec.NewRegisterBrokerRecord()
	r.BrokerId, r.BrokerEpoch, r.LogDirs = n, epoch, ids(dirs...)
	return r
}

func change(topic, n int) *metarec.PartitionChangeRecord {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId = id(topic), int32(n)
	return r
}

func TestWhatNoControllerWritesIsAnError(t *testing.T) {
	base := []metarec.Message{
		level(LatestLevel), broker(1, 5, 11), broker(2, 6, 21), topic("a", 1), partition(1, 0, 1),
		&metarec.ProducerIdsRecord{NextProducerId: 1000},
	}
	f := func(want string, recs ...metarec.Message) {
		t.Helper()
		_, _, err := Apply(after(t, Empty(), base...), recs)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	f(`topic "a" exists already`, topic("a", 2))
	f("topic id AQAAAAAAAAAAAAAAAAAAAQ is taken", topic("b", 1))
	f("which does not exist", partition(9, 0, 1))
	f("which does not exist", change(9, 0))
	f(`partition "a"-7 does not exist`, change(1, 7))
	f("no topic has id", &metarec.RemoveTopicRecord{TopicId: id(9)})
	f("broker 3 is not registered", &metarec.BrokerRegistrationChangeRecord{BrokerId: 3})
	f("broker 1 has epoch 5, not 4", &metarec.BrokerRegistrationChangeRecord{BrokerId: 1, BrokerEpoch: 4})
	f("broker 1 has epoch 5, not 4", &metarec.FenceBrokerRecord{Id: 1, Epoch: 4})
	f("broker 1 has epoch 5, not 4", &metarec.UnfenceBrokerRecord{Id: 1, Epoch: 4})
	f("broker 1 has epoch 5, not 4", &metarec.UnregisterBrokerRecord{BrokerId: 1, BrokerEpoch: 4})
	f("fencing change 2 does not exist", &metarec.BrokerRegistrationChangeRecord{BrokerId: 1, BrokerEpoch: 5, Fenced: 2})
	f("controlled shutdown change -1", &metarec.BrokerRegistrationChangeRecord{BrokerId: 1, BrokerEpoch: 5, InControlledShutdown: -1})
	f("belongs to broker 2", broker(1, 9, 11, 21))
	f("belongs to broker 1", &metarec.BrokerRegistrationChangeRecord{BrokerId: 2, BrokerEpoch: 6, LogDirs: ids(11)})
	f("has no credential", &metarec.RemoveUserScramCredentialRecord{Name: "u", Mechanism: 1})
	f("no access control entry", &metarec.RemoveAccessControlEntryRecord{Id: id(1)})
	f("controller 4 is not registered", &metarec.UnregisterControllerRecord{ControllerId: 4})
	f("does not follow 1000", &metarec.ProducerIdsRecord{NextProducerId: 1000})
	f("level 34 of metadata.version is not supported, only 7 to 33", level(34))
	f("level 0 of metadata.version", level(0))
	f("level 1 of x is not supported", &metarec.FeatureLevelRecord{Name: "x", FeatureLevel: 1})
	f("is open already", metarec.NewBeginTransactionRecord(), metarec.NewBeginTransactionRecord())
	f("no metadata transaction", &metarec.EndTransactionRecord{})
	f("no metadata transaction", metarec.NewAbortTransactionRecord())
	f(`topic "b" does not exist`, &metarec.ClearElrRecord{TopicName: "b"})
	f("is not a record of the metadata log", &metarec.SnapshotHeaderRecord{})

	short := partition(1, 1, 1, 2)
	short.Directories = ids(11)
	f("1 directories for 2 replicas", short)
	grown := change(1, 0)
	grown.Directories = ids(11, 12)
	f("2 directories for 1 replicas", grown)
	odd := partition(1, 1, 1)
	odd.LeaderRecoveryState = 2
	f("leader recovery state 2", odd)
	f("TopicRecord at offset 7", &metarec.NoOpRecord{}, topic("a", 2))
}

func TestASnapshotHoldsNoTransactions(t *testing.T) {
	for _, rec := range []metarec.Message{
		metarec.NewBeginTransactionRecord(), &metarec.EndTransactionRecord{}, metarec.NewAbortTransactionRecord(),
	} {
		if err := NewLoader(NoProvenance).Add(rec); err == nil {
			t.Errorf("%s was taken", rec.MessageName())
		}
	}
}

func TestRecordsOfUpgradedClustersReplay(t *testing.T) {
	img := after(t, Empty(), level(LatestLevel), &metarec.ZkMigrationStateRecord{}, &metarec.NoOpRecord{},
		&metarec.FeatureLevelRecord{Name: KRaftVersion, FeatureLevel: 1}) // KAFKA-18979
	if img.Feature(KRaftVersion) != 0 || img.NextOffset() != 4 {
		t.Errorf("kraft.version %d, next offset %d", img.Feature(KRaftVersion), img.NextOffset())
	}
}

func TestAPartitionChangeReplacesWhatItNames(t *testing.T) {
	base := after(t, Empty(), level(LatestLevel), topic("a", 1), partition(1, 0, 1, 2, 3))
	f := func(c *metarec.PartitionChangeRecord, check func(p *Partition) bool) {
		t.Helper()
		c.TopicId = id(1)
		p, _ := after(t, base, c).Partition(kafka.TopicPartition{Topic: "a"})
		if p.Epoch != 1 || !check(p) {
			t.Errorf("became %+v", p)
		}
	}
	c := change(1, 0)
	f(c, func(p *Partition) bool { return p.LeaderEpoch == 0 && p.Leader == 1 && len(p.ISR) == 3 })
	c = change(1, 0)
	c.Leader = 1 // the same leader, and yet a new term
	f(c, func(p *Partition) bool { return p.LeaderEpoch == 1 && p.Leader == 1 })
	c = change(1, 0)
	c.Isr, c.Leader = []int32{}, -1
	f(c, func(p *Partition) bool { return p.LeaderEpoch == 1 && p.Leader == kafka.NoNode && len(p.ISR) == 0 })
	c = change(1, 0)
	c.Replicas = []int32{1, 2}
	// KAFKA-16583: no directory is invented where none is known.
	f(c, func(p *Partition) bool { return len(p.Replicas) == 2 && slices.Equal(p.Dirs, []kafka.DirID{{}, {}}) })
	c = change(1, 0)
	c.Directories = ids(1, 2, 3)
	f(c, func(p *Partition) bool { return slices.Equal(p.Dirs, ids(1, 2, 3)) && p.LeaderEpoch == 0 })
}

func TestDeletingATopicTakesItsConfigurationAlong(t *testing.T) {
	value := "1"
	img := after(t, Empty(), topic("a", 1), ConfigRecord(TopicOf("a"), "k", &value))
	next, delta, err := Apply(img, []metarec.Message{&metarec.RemoveTopicRecord{TopicId: id(1)}})
	if err != nil || next.Config(TopicOf("a")).Len() != 0 || !slices.Equal(delta.Configs, []Resource{TopicOf("a")}) {
		t.Errorf("left %v, delta %v: %v", next.Config(TopicOf("a")).Len(), delta.Configs, err)
	}
}

func TestClearingTheELRRaisesOnlyTheEpochsOfThoseThatHadOne(t *testing.T) {
	with := partition(1, 1, 1, 2)
	with.EligibleLeaderReplicas = []int32{2}
	img := after(t, Empty(), level(LatestLevel), topic("a", 1), partition(1, 0, 1), with, &metarec.ClearElrRecord{})
	a, _ := img.TopicNamed("a")
	p0, _ := a.Partitions.Get(0)
	p1, _ := a.Partitions.Get(1)
	if p0.Epoch != 0 || p1.Epoch != 1 || len(p1.ELR) != 0 {
		t.Errorf("epochs %d and %d, ELR %v", p0.Epoch, p1.Epoch, p1.ELR)
	}
}

func TestDirectoriesOfAnUnregisteredBrokerAreFree(t *testing.T) {
	img := after(t, Empty(), level(LatestLevel), broker(1, 5, 11),
		&metarec.UnregisterBrokerRecord{BrokerId: 1, BrokerEpoch: 5}, broker(2, 6, 11))
	if owner, _ := img.DirOwner(id(11)); owner != 2 {
		t.Errorf("owner %d", owner)
	}
}

func TestWhichDirectoriesAreOnline(t *testing.T) {
	f := func(registered []int, dir kafka.DirID, want bool) {
		t.Helper()
		img := after(t, Empty(), level(LatestLevel), broker(1, 5, registered...))
		if got := img.OnlineDir(1, dir); got != want {
			t.Errorf("with %v registered, %v online is %v", registered, dir, got)
		}
	}
	f([]int{11, 12}, id(12), true)
	f([]int{11, 12}, id(13), false)
	f([]int{11}, kafka.DirUnassigned, true)
	f([]int{11}, kafka.DirMigrating, true)
	f([]int{11}, kafka.DirLost, false)
	f(nil, id(13), true) // KAFKA-16162
	f(nil, kafka.DirLost, false)
}

func TestOfflineReplicasAreThoseThatClientsCannotUse(t *testing.T) {
	unfenced := func(n int32, epoch int64, dir int, listener string) metarec.Message {
		r := broker(n, epoch, dir)
		r.Fenced = false
		r.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: listener, Host: "h", Port: 1}}
		return r
	}
	p := partition(1, 0, 1, 2, 3, 4, 5)
	p.Directories = ids(11, 99, 31, 41, 51)
	img := after(t, Empty(), level(LatestLevel), unfenced(1, 1, 11, "L"), unfenced(2, 2, 21, "L"), unfenced(3, 3, 31, "other"),
		broker(4, 4, 41), topic("a", 1), p)
	got, _ := img.Partition(kafka.TopicPartition{Topic: "a"})
	if off := slices.Collect(img.Offline(got, "L")); !slices.Equal(off, []kafka.NodeID{2, 3, 4, 5}) {
		t.Errorf("offline for L: %v", off)
	}
	if off := slices.Collect(img.Offline(got, "")); !slices.Equal(off, []kafka.NodeID{2, 4, 5}) {
		t.Errorf("offline for any listener: %v", off)
	}
}

func BenchmarkApply10000Partitions(b *testing.B) {
	recs := []metarec.Message{level(LatestLevel)}
	for n := range 1000 {
		recs = append(recs, &metarec.TopicRecord{Name: id(n).String(), TopicId: id(n)})
		for p := range 10 {
			recs = append(recs, partition(n, p, 1, 2, 3))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Apply(Empty(), recs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyOneChangeTo20000Partitions(b *testing.B) {
	recs := []metarec.Message{level(LatestLevel)}
	for n := range 2000 {
		recs = append(recs, &metarec.TopicRecord{Name: id(n).String(), TopicId: id(n)})
		for p := range 10 {
			recs = append(recs, partition(n, p, 1, 2, 3))
		}
	}
	img := after(b, Empty(), recs...)
	one := change(77, 3)
	one.Isr = []int32{1, 2}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Apply(img, []metarec.Message{one}); err != nil {
			b.Fatal(err)
		}
	}
}
